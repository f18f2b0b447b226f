import * as z from 'zod/mini';

/** What both dialects ask about a tool (qwen.md §3.3, §4.8); the message dialect's own members, which the other one fills in. */

const id = z.string().check(z.maxLength(1024));
const word = z.string().check(z.maxLength(4096));
const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));

const suggestion = z.looseObject({ type: word });
const MOST_SUGGESTIONS = 50;

/** What an agent asks to be allowed. */
export const canUseTool = z.object({
  subtype: z.literal('can_use_tool'),
  tool_name: word,
  tool_use_id: maybe(id),
  input: z.optional(z.unknown()),
  // They are hints: what cannot be read of them is passed over, and the question is asked all the same.
  permission_suggestions: z.optional(
    z.pipe(
      z.unknown(),
      z.transform((all) =>
        (Array.isArray(all) ? all.slice(0, MOST_SUGGESTIONS) : []).flatMap((one) => {
          const read = suggestion.safeParse(one);
          return read.success ? [read.data] : [];
        }),
      ),
    ),
  ),
  blocked_path: maybe(word),
  decision_reason: maybe(z.string()),
  agent_id: maybe(id),
  agent_name: maybe(word),
});
export type CanUseTool = z.infer<typeof canUseTool>;
export type Suggestion = z.infer<typeof suggestion>;

export const questionInput = z.object({
  questions: z
    .array(
      z.object({
        question: z.string(),
        header: maybe(z.string()),
        multiSelect: maybe(z.boolean()),
        options: maybe(z.array(z.object({ label: z.string(), description: maybe(z.string()) })).check(z.maxLength(100))),
      }),
    )
    .check(z.minLength(1), z.maxLength(50)),
});
