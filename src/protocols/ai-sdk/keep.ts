import * as z from 'zod/mini';
import type { UiMessage } from './schema.ts';

// What a turn leaves behind for the next window (ai-sdk.md §12): its messages as they are posted, which is more than a session shows. Models
// that sign their thoughts, and servers that sign their approvals, refuse a history without them.

export interface Kept {
  /** The id of the person's message; what they said is in the session. */
  readonly user?: string;
  /** The messages behind it. */
  readonly messages: UiMessage[];
}

/** Turns beyond this are remembered by what the session shows, in UTF-16 units of JSON. */
const LIMIT = 4 * 1024 * 1024;

const shape = z.object({
  user: z.optional(z.string()),
  messages: z.array(
    z.looseObject({
      id: z.string(),
      role: z.enum(['user', 'assistant']),
      parts: z.array(z.looseObject({ type: z.string() })),
    }),
  ),
});

/** A copy that later changes of the messages do not reach; null when there is nothing to keep, or too much. */
export function toKeep(user: string | undefined, messages: readonly UiMessage[]): Kept | null {
  if (messages.length === 0) return null;
  const text = JSON.stringify({ ...(user === undefined ? {} : { user }), messages });
  return text.length > LIMIT ? null : (JSON.parse(text) as Kept);
}

/** undefined when the journal holds nothing usable. */
export function kept(value: unknown): Kept | undefined {
  const parsed = shape.safeParse(value);
  return parsed.success ? structuredClone(parsed.data as Kept) : undefined;
}
