import * as z from 'zod/mini';

/* Lines of agents (docs/protocols/qwen.md). Unused members are left out; unknown ones are ignored. */

const id = z.string().check(z.maxLength(1024));
const word = z.string().check(z.maxLength(4096));
const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));
const count = maybe(z.number());

// --- both dialects: requests to use a tool

/** A permission request of either dialect (docs/protocols/qwen.md §3.3, §4.8), in the members of the message dialect; the other one is converted. */

const suggestion = z.looseObject({ type: word });
const MOST_SUGGESTIONS = 50;

/** The permission that an agent asks for. */
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

// --- the message dialect

/** Lines of the message dialect (docs/protocols/qwen.md §3, §12). Unused members are left out; unknown ones are ignored. */

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
  /** Claude Code, where the message is its own and names the failure. */
  error: z.optional(z.unknown()),
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

// --- the envelope dialect

/** Lines of the envelope dialect (docs/protocols/qwen.md §4). Unused members are left out; unknown ones are ignored. */

const annotations = maybe(z.array(z.looseObject({ type: word })).check(z.maxLength(10_000)));

const callPiece = z.object({
  id: maybe(id),
  index: count,
  function: maybe(z.object({ name: maybe(word), arguments: maybe(z.string()) })),
});
export type CallPiece = z.infer<typeof callPiece>;

const body = z.object({
  content: maybe(z.string()),
  tool_calls: maybe(z.array(callPiece).check(z.maxLength(1000))),
  annotations,
});

const fault = z.union([
  z.string(),
  z.object({ message: maybe(z.string()), type: maybe(word), code: maybe(word), retryable: maybe(z.boolean()) }),
]);
export type FaultIn = z.infer<typeof fault>;

export const meta = z.object({
  protocol_version: maybe(z.union([z.number(), word])),
  session_id: maybe(id),
  prompt_id: maybe(id),
  error: maybe(fault),
  control_errors: maybe(z.array(z.unknown()).check(z.maxLength(100))),
});
export type Meta = z.infer<typeof meta>;

export const completion = z.object({
  object: z.enum(['chat.completion', 'chat.completion.chunk']),
  model: maybe(word),
  system_fingerprint: maybe(z.string()),
  metadata: maybe(meta),
  choices: maybe(
    z.array(z.object({ message: maybe(body), delta: maybe(body), finish_reason: maybe(word), annotations })).check(z.maxLength(100)),
  ),
  usage: maybe(z.object({ prompt_tokens: count, completion_tokens: count, total_tokens: count })),
});
export type Completion = z.infer<typeof completion>;

export const fatal = z.object({ error: fault });

const span = z.object({
  start: count,
  end: count,
  start_index: count,
  end_index: count,
  style: maybe(z.object({ theme_token: maybe(word), bold: maybe(z.boolean()) })),
});
export const terminal = z.object({
  channel: maybe(word),
  source: maybe(word),
  text: maybe(z.string()),
  spans: maybe(z.array(span).check(z.maxLength(10_000))),
  ansi: maybe(z.array(z.object({ offset: z.number(), code: maybe(word), sequence: maybe(word) })).check(z.maxLength(10_000))),
  console_level: maybe(word),
  exit_code: count,
  log_scope: maybe(word),
  /** The call that prints it, where the agent names it. */
  tool_call_id: maybe(id),
});
/** Terminal output, including colors. */
export const ansi = z.object({ value: z.string() });
export type TerminalNote = z.infer<typeof terminal>;

export const toolDisplay = z.object({
  tool_call_id: id,
  status: maybe(word),
  result_display: z.optional(z.unknown()),
  confirmation: z.optional(z.unknown()),
  pending: maybe(z.boolean()),
  timestamp: count,
});
export type ToolDisplay = z.infer<typeof toolDisplay>;

/** The action that waits for approval: a command, a file change, a tool server call, a plan (docs/protocols/qwen.md §4.3). Both spellings occur. */
export const confirmation = z.object({
  title: maybe(z.string()),
  command: maybe(z.string()),
  file_name: maybe(word),
  fileName: maybe(word),
  file_path: maybe(word),
  filePath: maybe(word),
  diff: maybe(z.string()),
  file_diff: maybe(z.string()),
  fileDiff: maybe(z.string()),
  original: maybe(z.string()),
  originalContent: maybe(z.string()),
  modified: maybe(z.string()),
  newContent: maybe(z.string()),
  server_name: maybe(word),
  serverName: maybe(word),
  tool_name: maybe(word),
  toolName: maybe(word),
  arguments: z.optional(z.unknown()),
  plan: maybe(z.string()),
  prompt: maybe(z.string()),
  message: maybe(z.string()),
  urls: maybe(z.array(word).check(z.maxLength(100))),
});

export const display = z.object({
  kind: word,
  /** Where it is to be seen: "debug" is for the log. */
  log_scope: maybe(word),
  text: maybe(z.string()),
  file_name: maybe(word),
  diff: maybe(z.string()),
  original: maybe(z.string()),
  modified: maybe(z.string()),
  stat: maybe(z.object({ ai_added_lines: count, ai_removed_lines: count, user_added_lines: count, user_removed_lines: count })),
  todos: maybe(z.array(z.object({ content: z.string(), status: maybe(word) })).check(z.maxLength(500))),
  message: maybe(z.string()),
  plan_markdown: maybe(z.string()),
  subagentName: maybe(word),
  taskDescription: maybe(z.string()),
  status: maybe(word),
  toolCalls: maybe(
    z
      .array(
        z.object({
          callId: maybe(id),
          name: maybe(word),
          status: maybe(word),
          description: maybe(z.string()),
          args: z.optional(z.unknown()),
          result: z.optional(z.unknown()),
          resultDisplay: z.optional(z.unknown()),
        }),
      )
      .check(z.maxLength(1000)),
  ),
  result: maybe(z.string()),
});

export type Display = z.infer<typeof display>;

export const thought = z.object({ subject: maybe(z.string()), description: maybe(z.string()) });
export const sessionEvent = z.object({
  event: word,
  message: maybe(z.string()),
  metrics: maybe(z.object({ original_tokens: count, compressed_tokens: count })),
});

const command = z.object({ kind: maybe(word), path: maybe(z.array(word).check(z.maxLength(50))), args: maybe(z.string()) });
export const resultCommand = z.object({
  prompt_id: maybe(id),
  command: maybe(command),
  result: z.looseObject({ type: word }),
  metadata: maybe(z.object({ audit: maybe(z.object({ enabled: maybe(z.boolean()) })) })),
});
export type ResultCommand = z.infer<typeof resultCommand>;

export const resultHint = z.object({
  prompt_id: maybe(id),
  trigger: maybe(word),
  status: maybe(word),
  message: maybe(z.string()),
  suggestions: maybe(z.array(z.object({ label: word, value: word, description: maybe(z.string()) })).check(z.maxLength(1000))),
});
export type ResultHint = z.infer<typeof resultHint>;
export const resultHeartbeat = z.object({ status: maybe(word) });
export const resultCancel = z.object({ prompt_id: maybe(id), status: maybe(word), message: maybe(z.string()), reason: maybe(z.string()) });

/** A request about a tool; `arguments` may be JSON text. */
export const toolRequest = z.object({
  tool: maybe(z.object({ name: word, id: maybe(id), arguments: z.optional(z.unknown()) })),
  tool_name: maybe(word),
  tool_call_id: maybe(id),
  tool_use_id: maybe(id),
  input: z.optional(z.unknown()),
  metadata: maybe(z.object({ reason: maybe(z.string()), tool_call_id: maybe(id) })),
});
export const confirmRequest = z.object({
  commands: maybe(z.array(z.string()).check(z.maxLength(100))),
  prompt: maybe(z.string()),
  message: maybe(z.string()),
  title: maybe(z.string()),
});

// --- lines of an envelope client, as the agent reads them

const reference = z.object({ original: maybe(z.string()), resolved: maybe(z.string()) });
const commandOrder = z.looseObject({
  kind: maybe(word),
  path: maybe(z.array(word).check(z.maxLength(50))),
  args: maybe(z.string()),
  references: maybe(z.array(reference).check(z.maxLength(1000))),
});
export const chatRequest = z.looseObject({
  session_id: maybe(id),
  prompt_id: maybe(id),
  model: maybe(word),
  input: z.object({
    origin: z.enum(['user', 'tool_response', 'system']),
    parts: maybe(z.union([z.string(), z.array(z.unknown()).check(z.maxLength(10_000))])),
    command: maybe(commandOrder),
  }),
  options: maybe(
    z.looseObject({ tool_overrides: maybe(z.array(word).check(z.maxLength(1000))), hooks: maybe(z.array(word).check(z.maxLength(100))) }),
  ),
  tool_call_id: maybe(id),
  continuation: maybe(z.boolean()),
  tool_request: z.optional(z.unknown()),
  metadata: maybe(z.looseObject({ protocol_version: maybe(z.union([z.number(), word])) })),
});
export type ChatRequest = z.infer<typeof chatRequest>;
export const hintRequest = z.object({
  type: z.literal('command_hint_request'),
  session_id: maybe(id),
  prompt_id: id,
  trigger: word,
  text: z.string(),
  /** UTF-16 units before the caret. */
  cursor: z.number(),
  context: maybe(z.object({ cwd: maybe(word), selected_text: maybe(z.string()) })),
});
export type HintRequest = z.infer<typeof hintRequest>;
export const cancelRequest = z.object({ session_id: maybe(id), prompt_id: maybe(id), request_id: maybe(id), reason: maybe(word) });
/** The numbers a request may set for its turn, under the names of the service it speaks of. */
export const sampling = z.object({
  temperature: maybe(z.number()),
  top_p: maybe(z.number()),
  top_k: maybe(z.number()),
  max_tokens: maybe(z.number()),
  presence_penalty: maybe(z.number()),
  frequency_penalty: maybe(z.number()),
  seed: maybe(z.number()),
  stop: maybe(z.union([z.string(), z.array(z.string())])),
});
