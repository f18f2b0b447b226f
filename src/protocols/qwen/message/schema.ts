import * as z from 'zod/mini';

/** Lines of the message dialect (qwen.md §3, §12). Members nobody reads are left out; unknown ones are ignored. */

const id = z.string().check(z.maxLength(1024));
const word = z.string().check(z.maxLength(4096));
const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));
const count = maybe(z.number());

export const block = z.object({
  type: z.string(),
  text: maybe(z.string()),
  thinking: maybe(z.string()),
  id: maybe(id),
  name: maybe(word),
  input: z.optional(z.unknown()),
  tool_use_id: maybe(id),
  content: z.optional(z.unknown()),
  is_error: maybe(z.boolean()),
  source: maybe(z.object({ type: word, media_type: maybe(word), data: maybe(z.string()) })),
});
export type Block = z.infer<typeof block>;

const usage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  total_tokens: count,
});
export type TokenUsage = z.infer<typeof usage>;

const blocks = z.array(block).check(z.maxLength(10_000));
const lane = { session_id: maybe(id), uuid: maybe(id), parent_tool_use_id: maybe(id) };

export const systemLine = z.object({
  ...lane,
  type: z.literal('system'),
  subtype: word,
  cwd: maybe(word),
  model: maybe(word),
  permission_mode: maybe(word),
  permissionMode: maybe(word),
  slash_commands: maybe(z.array(word).check(z.maxLength(5000))),
  qwen_code_version: maybe(word),
  claude_code_version: maybe(word),
  status: maybe(word),
  message: z.optional(z.unknown()),
  description: maybe(z.string()),
  summary: maybe(z.string()),
  tool_use_id: maybe(id),
  tool_name: maybe(word),
  task_id: maybe(id),
  data: z.optional(z.unknown()),
});
export type SystemLine = z.infer<typeof systemLine>;

export const assistantLine = z.object({
  ...lane,
  type: z.literal('assistant'),
  message: z.object({ id: maybe(id), model: maybe(word), content: blocks, stop_reason: maybe(word), usage: maybe(usage) }),
});
export type AssistantLine = z.infer<typeof assistantLine>;

export const userLine = z.object({
  ...lane,
  type: z.literal('user'),
  message: z.object({ content: z.union([z.string(), blocks]) }),
  tool_use_result: z.optional(z.unknown()),
  tool_result_meta: z.optional(z.unknown()),
});
export type UserLine = z.infer<typeof userLine>;

export const streamLine = z.object({
  ...lane,
  type: z.literal('stream_event'),
  event: z.object({
    type: word,
    index: maybe(z.number()),
    content_block: maybe(block),
    delta: maybe(z.object({ type: maybe(word), text: maybe(z.string()), thinking: maybe(z.string()), partial_json: maybe(z.string()) })),
    tool_use_id: maybe(id),
    content: z.optional(z.unknown()),
    usage: maybe(usage),
  }),
});
export type StreamLine = z.infer<typeof streamLine>;

/** Claude Code's, twice a minute while a call runs; its own id is not the call's. */
export const toolProgress = z.object({ tool_use_id: id, parent_tool_use_id: maybe(id) });

export const resultLine = z.object({
  ...lane,
  type: z.literal('result'),
  subtype: maybe(word),
  is_error: maybe(z.boolean()),
  duration_ms: count,
  num_turns: count,
  result: maybe(z.string()),
  error: maybe(z.object({ message: z.string(), type: maybe(word) })),
  errors: maybe(z.array(z.string())),
  terminal_reason: maybe(word),
  total_cost_usd: count,
  usage: maybe(usage),
  modelUsage: maybe(
    z.record(z.string(), z.object({ inputTokens: count, outputTokens: count, cacheReadInputTokens: count, contextWindow: count })),
  ),
  permission_denials: maybe(z.array(z.object({ tool_name: maybe(word), tool_use_id: maybe(id) }))),
});
export type ResultLine = z.infer<typeof resultLine>;

/** The richer reply to `initialize` (Claude Code) and the plain one (Qwen Code). */
export const initialized = z.object({
  session_id: maybe(id),
  commands: maybe(
    z.array(z.object({ name: word, description: maybe(z.string()), argumentHint: maybe(z.string()) })).check(z.maxLength(5000)),
  ),
  models: maybe(z.array(z.object({ value: word, displayName: maybe(word), description: maybe(z.string()) })).check(z.maxLength(500))),
  current_permission_mode: maybe(word),
  claude_code_version: maybe(word),
});
export type Initialized = z.infer<typeof initialized>;
export const capabilities = z.object({
  capabilities: maybe(
    z.object({
      can_get_available_models: maybe(z.boolean()),
      can_set_effort: maybe(z.boolean()),
      can_set_permission_mode: maybe(z.boolean()),
      can_get_context_usage: maybe(z.boolean()),
      can_get_usage_info: maybe(z.boolean()),
    }),
  ),
});
export const commandNames = z.object({ commands: z.array(word).check(z.maxLength(5000)) });
export const contextUsage = z.object({ totalTokens: count, contextWindowSize: count, rawMaxTokens: count, maxTokens: count });
export const modelList = z.object({
  models: z.array(z.object({ id: word, label: maybe(word), contextWindowSize: count })).check(z.maxLength(500)),
});
export const modeReply = z.object({ mode: word });
