import * as z from 'zod/mini';
import type { Turn } from '../../session/model.ts';

// What a turn leaves behind for a later window (a2a.md §11): what the agent calls the things that were shown. What they say is in the session.

const statuses = ['pending', 'waiting', 'running', 'done', 'failed', 'cancelled'] as const;
const known = z.object({
  /** The ids of what the user said. */
  prompts: z.array(z.string()),
  prompt: z.string(),
  /** Kind and id of a message, how much of it was shown, and where the last of that stands among all words of the kind; UTF-16 units. */
  names: z.array(z.tuple([z.string(), z.number(), z.number()])),
  /** Where pieces began. */
  starts: z.object({ text: z.array(z.number()), thought: z.array(z.number()) }),
  /** Parts that show a work and no message, with its id; '' when it was replaced since. */
  apart: z.array(z.tuple([z.string(), z.string()])),
  /** Messages whose files and data were shown. */
  attached: z.array(z.string()),
  /** The task holds nothing but this turn. */
  own: z.boolean(),
});
const shape = z.object({
  /** False once the turn has come to its own end. */
  running: z.boolean(),
  taskId: z.optional(z.string()),
  contextId: z.optional(z.string()),
  known,
  /** The agent's id of a call, its part, and how it stood. */
  calls: z.array(z.tuple([z.string(), z.string(), z.enum(statuses)])),
});
export type KeptKnown = z.infer<typeof known>;
export type Kept = z.infer<typeof shape>;

/** A turn an earlier window showed, and what that window knew of it. */
export interface LeftTurn {
  readonly turn: Turn;
  readonly kept: Kept;
}

/** undefined when the journal holds nothing usable for that turn. */
export function leftTurn(turn: Turn): LeftTurn | undefined {
  const parsed = shape.safeParse(turn.adapterState);
  return parsed.success ? { turn, kept: parsed.data } : undefined;
}
