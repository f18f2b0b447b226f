import * as z from 'zod/mini';

/** Lines of the envelope dialect (qwen.md §4). Members nobody reads are left out; unknown ones are ignored. */

const id = z.string().check(z.maxLength(1024));
const word = z.string().check(z.maxLength(4096));
const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));
const count = maybe(z.number());
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
});
/** What a terminal would be sent, colours and all. */
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

/** What waits for a yes: a command, a file's change, a call of a tool server, a plan (qwen.md §4.3). Both spellings occur. */
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
