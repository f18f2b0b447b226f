import * as z from 'zod/mini';
import type { SessionEvent } from '../../session/events.ts';
import type { Plan } from '../../session/model.ts';

const todos = z.object({
  todos: z.array(z.object({ content: z.string(), status: z.optional(z.nullable(z.string())) })).check(z.maxLength(500)),
});

/** A list of things to do, as the agent keeps it. */
export function planEvents(input: unknown): readonly SessionEvent[] {
  const parsed = todos.safeParse(input);
  if (!parsed.success) return [];
  const entries: Plan['entries'] = parsed.data.todos.map(({ content, status }) => ({
    text: content,
    status: status === 'completed' || status === 'in_progress' ? status : 'pending',
  }));
  return [{ type: 'plan.set', plan: entries.length === 0 ? null : { entries } }];
}
