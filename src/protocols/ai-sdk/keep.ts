import * as z from 'zod/mini';
import type { Post } from './post.ts';
import type { UiMessage } from './schema.ts';

// What a turn leaves behind for the next window (ai-sdk.md §12): its messages as they are posted, which is more than a session shows. Models
// that sign their thoughts, and servers that sign their approvals, refuse a history without them.

export interface Kept {
  /** The id of the user's message; what they said is in the session. */
  readonly user?: string;
  /** The messages behind it. */
  readonly messages: UiMessage[];
  /** The request that was to tell results or answers and did not get through: trying again makes it again, so that nothing runs twice. */
  readonly unsent?: Post;
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
  unsent: z.optional(
    z.object({
      trigger: z.enum(['submit-message', 'regenerate-message']),
      messageId: z.optional(z.string()),
      tells: z.optional(z.array(z.string())),
      extra: z.optional(z.record(z.string(), z.unknown())),
      continues: z.boolean(),
    }),
  ),
});

/** A copy that later changes of the messages do not reach; null when there is nothing to keep, or too much. */
export function toKeep(user: string | undefined, messages: readonly UiMessage[], unsent?: Post): Kept | null {
  if (messages.length === 0) return null;
  const text = JSON.stringify({ ...(user === undefined ? {} : { user }), messages, unsent });
  return text.length > LIMIT ? null : (JSON.parse(text) as Kept);
}

/** undefined when the journal holds nothing usable. */
export function kept(value: unknown): Kept | undefined {
  const parsed = shape.safeParse(value);
  return parsed.success ? structuredClone(parsed.data as Kept) : undefined;
}
