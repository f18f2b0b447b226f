import * as z from 'zod/mini';

/**
 * Wire 1.0 to 1.10 in its own words (wire.md §4 to §6), for both ends. Unknown members pass, optional members may be absent or null, and a
 * part or display block of an unknown type or a wrong shape becomes `{ type: 'unknown', value }` instead of an error.
 * Version numbers decide what is sent, never what is accepted, so there is one shape per message.
 */
export const NEWEST_VERSION = '1.10';

const object = z.record(z.string(), z.unknown());
const unknownThing = z.pipe(
  z.unknown(),
  z.transform((value: unknown) => ({ type: 'unknown' as const, value })),
);

/** Members of a list that are read: nobody looks through more. */
const MOST_LISTED = 2000;
/** A list of which the first members are read; `left` stands for the others. */
function first<T extends z.ZodMiniType>(member: T, left: (text: string) => readonly unknown[]) {
  return z.pipe(
    z.transform((given: unknown) => {
      const surplus = Array.isArray(given) ? given.length - MOST_LISTED : 0;
      return Array.isArray(given) && surplus > 0 ? [...given.slice(0, MOST_LISTED), ...left(`… (${surplus} more, left out)`)] : given;
    }),
    z.array(member),
  );
}
/** A list that is read whole or not at all: what is asked about must all be shown. */
function few<T extends z.ZodMiniType>(member: T) {
  return z.pipe(
    z.custom<unknown>((given) => !Array.isArray(given) || given.length <= MOST_LISTED, `More than ${MOST_LISTED} members`),
    z.array(member),
  );
}

const media = z.object({ url: z.string(), id: z.nullish(z.string()) });
/** The content that `prompt` and `steer` may carry. Any other type ends some servers, so outgoing parts must be of this type. */
export const KnownPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('think'), think: z.string(), encrypted: z.nullish(z.string()) }),
  z.object({ type: z.literal('image_url'), image_url: media }),
  z.object({ type: z.literal('audio_url'), audio_url: media }),
  z.object({ type: z.literal('video_url'), video_url: media }),
]);
export const ContentPart = z.union([KnownPart, unknownThing]);
const contentParts = first(ContentPart, (text) => [{ type: 'text', text }]);
export const UserInput = z.union([z.string(), contentParts]);

export const KnownBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('brief'), text: z.string() }),
  z.object({
    type: z.literal('diff'),
    path: z.string(),
    old_text: z.string(),
    new_text: z.string(),
    old_start: z.nullish(z.number()),
    new_start: z.nullish(z.number()),
    is_summary: z.nullish(z.boolean()),
  }),
  z.object({
    type: z.literal('todo'),
    // pending, in_progress or done; others have been seen in forks.
    items: first(z.object({ title: z.string(), status: z.string() }), (title) => [{ title, status: 'pending' }]),
  }),
  z.object({ type: z.literal('shell'), language: z.string(), command: z.string() }),
  z.object({ type: z.literal('background_task'), task_id: z.string(), kind: z.string(), status: z.string(), description: z.string() }),
]);
export const DisplayBlock = z.union([KnownBlock, unknownThing]);

/** All of `is_error`, `output`, `message` and `display` are required in an answer. */
export const ToolReturnValue = z.object({
  is_error: z.boolean(),
  output: z.union([z.string(), z.array(ContentPart)]),
  message: z.string(),
  display: z.array(DisplayBlock),
  extras: z.nullish(object),
});

/** The same as it arrives in an event: whatever is missing, the card still closes. */
const toolReturnSeen = z.object({
  is_error: z.nullish(z.boolean()),
  output: z.nullish(z.union([z.string(), contentParts])),
  message: z.nullish(z.string()),
  display: z.nullish(first(DisplayBlock, (text) => [{ type: 'brief', text }])),
  extras: z.nullish(object),
});

const tokenUsage = z.object({
  input_other: z.number(),
  output: z.number(),
  input_cache_read: z.number(),
  input_cache_creation: z.number(),
});
const mcpStatus = z.object({
  loading: z.boolean(),
  connected: z.number(),
  total: z.number(),
  tools: z.number(),
  servers: first(z.object({ name: z.string(), status: z.string(), tools: first(z.string(), () => []) }), () => []),
});
const empty = z.object({});
const approvalSettled = z.object({ request_id: z.string(), response: z.string(), feedback: z.nullish(z.string()) });
/** A message inside `params` of `event` and `request`, and inside SubagentEvent. */
export const Envelope = z.object({ type: z.string(), payload: object });

/** Payload of each `event`, by type (wire.md §5.1). ApprovalRequestResolved is the 1.0 name of ApprovalResponse. */
export const events = {
  TurnBegin: z.object({ user_input: UserInput }),
  TurnEnd: empty,
  StepBegin: z.object({ n: z.number() }),
  StepInterrupted: empty,
  StepRetry: z.object({
    n: z.number(),
    next_attempt: z.number(),
    max_attempts: z.number(),
    wait_s: z.number(),
    error_type: z.string(),
    status_code: z.nullish(z.number()),
  }),
  CompactionBegin: empty,
  CompactionEnd: empty,
  MCPLoadingBegin: empty,
  MCPLoadingEnd: empty,
  StatusUpdate: z.object({
    context_usage: z.nullish(z.number()),
    context_tokens: z.nullish(z.number()),
    max_context_tokens: z.nullish(z.number()),
    token_usage: z.nullish(tokenUsage),
    message_id: z.nullish(z.string()),
    plan_mode: z.nullish(z.boolean()),
    mcp_status: z.nullish(mcpStatus),
  }),
  Notification: z.object({
    id: z.string(),
    category: z.nullish(z.string()),
    type: z.nullish(z.string()),
    source_kind: z.nullish(z.string()),
    source_id: z.nullish(z.string()),
    title: z.string(),
    body: z.nullish(z.string()),
    severity: z.nullish(z.string()),
    created_at: z.nullish(z.number()),
    payload: z.nullish(object),
  }),
  ContentPart: ContentPart,
  ToolCall: z.object({
    type: z.nullish(z.string()),
    id: z.string(),
    function: z.object({ name: z.string(), arguments: z.nullish(z.string()) }),
    extras: z.nullish(object),
  }),
  ToolCallPart: z.object({ arguments_part: z.nullish(z.string()) }),
  ToolOutput: z.object({ tool_call_id: z.string(), text: z.string() }),
  ToolResult: z.object({ tool_call_id: z.string(), return_value: toolReturnSeen }),
  ApprovalResponse: approvalSettled,
  ApprovalRequestResolved: approvalSettled,
  SubagentEvent: z.object({
    parent_tool_call_id: z.nullish(z.string()),
    task_tool_call_id: z.nullish(z.string()),
    agent_id: z.nullish(z.string()),
    subagent_type: z.nullish(z.string()),
    event: Envelope,
  }),
  SteerInput: z.object({ user_input: UserInput }),
  PlanDisplay: z.object({ content: z.string(), file_path: z.nullish(z.string()) }),
  HookTriggered: z.object({ event: z.string(), target: z.nullish(z.string()), hook_count: z.nullish(z.number()) }),
  HookResolved: z.object({
    event: z.string(),
    target: z.nullish(z.string()),
    action: z.string(),
    reason: z.nullish(z.string()),
    duration_ms: z.nullish(z.number()),
  }),
  BtwBegin: z.object({ id: z.string(), question: z.string() }),
  BtwEnd: z.object({ id: z.string(), response: z.nullish(z.string()), error: z.nullish(z.string()) }),
};

/** Payload of each `request` the server makes, and the answer it needs (wire.md §5.2). */
export const requests = {
  ApprovalRequest: z.object({
    id: z.string(),
    tool_call_id: z.string(),
    sender: z.string(),
    action: z.string(),
    description: z.string(),
    display: z.nullish(few(DisplayBlock)),
    source_kind: z.nullish(z.string()),
    source_id: z.nullish(z.string()),
    agent_id: z.nullish(z.string()),
    subagent_type: z.nullish(z.string()),
    source_description: z.nullish(z.string()),
  }),
  ToolCallRequest: z.object({ id: z.string(), name: z.string(), arguments: z.nullish(z.string()) }),
  QuestionRequest: z.object({
    id: z.string(),
    tool_call_id: z.nullish(z.string()),
    questions: few(
      z.object({
        question: z.string(),
        header: z.nullish(z.string()),
        options: few(z.object({ label: z.string(), description: z.nullish(z.string()) })),
        multi_select: z.nullish(z.boolean()),
        body: z.nullish(z.string()),
        other_label: z.nullish(z.string()),
        other_description: z.nullish(z.string()),
      }),
    ),
  }),
  HookRequest: z.object({
    id: z.string(),
    subscription_id: z.string(),
    event: z.string(),
    target: z.nullish(z.string()),
    input_data: z.nullish(object),
  }),
};
export const answers = {
  ApprovalRequest: z.object({
    request_id: z.string(),
    response: z.enum(['approve', 'approve_for_session', 'reject']),
    feedback: z.nullish(z.string()),
  }),
  ToolCallRequest: z.object({ tool_call_id: z.string(), return_value: ToolReturnValue }),
  QuestionRequest: z.object({ request_id: z.string(), answers: z.record(z.string(), z.string()) }),
  HookRequest: z.object({ request_id: z.string(), action: z.enum(['allow', 'block']), reason: z.nullish(z.string()) }),
};

/** All three members are required: one tool without them sinks the whole handshake on real servers. */
export const ExternalTool = z.object({ name: z.string(), description: z.string(), parameters: object });

/** Params and result of each method the client calls (wire.md §4). */
export const methods = {
  initialize: {
    params: z.object({
      protocol_version: z.string(),
      client: z.nullish(z.object({ name: z.string(), version: z.nullish(z.string()) })),
      external_tools: z.nullish(z.array(ExternalTool)),
      capabilities: z.nullish(z.object({ supports_question: z.nullish(z.boolean()), supports_plan_mode: z.nullish(z.boolean()) })),
      hooks: z.nullish(
        z.array(z.object({ id: z.string(), event: z.string(), matcher: z.nullish(z.string()), timeout: z.nullish(z.number()) })),
      ),
    }),
    result: z.object({
      protocol_version: z.nullish(z.string()),
      server: z.nullish(z.object({ name: z.string(), version: z.nullish(z.string()) })),
      slash_commands: z.nullish(
        first(
          z.object({ name: z.string(), description: z.nullish(z.string()), aliases: z.nullish(first(z.string(), () => [])) }),
          () => [],
        ),
      ),
      external_tools: z.nullish(
        z.object({
          accepted: z.nullish(z.array(z.string())),
          rejected: z.nullish(z.array(z.object({ name: z.string(), reason: z.nullish(z.string()) }))),
        }),
      ),
      capabilities: z.nullish(z.object({ supports_question: z.nullish(z.boolean()) })),
      hooks: z.nullish(z.object({ supported_events: z.nullish(z.array(z.string())), configured: z.nullish(object) })),
    }),
  },
  prompt: {
    params: z.object({ user_input: UserInput }),
    result: z.object({ status: z.string(), steps: z.nullish(z.number()) }),
  },
  cancel: { params: z.nullish(empty), result: z.nullish(empty) },
  steer: { params: z.object({ user_input: UserInput }), result: z.object({ status: z.string() }) },
  set_plan_mode: {
    params: z.object({ enabled: z.boolean() }),
    result: z.object({ status: z.string(), plan_mode: z.nullish(z.boolean()) }),
  },
  replay: {
    params: z.nullish(empty),
    result: z.object({ status: z.string(), events: z.nullish(z.number()), requests: z.nullish(z.number()) }),
  },
};

/** The first line of a recording (`wire.jsonl`) and each line after it (wire.md §11). `timestamp` in seconds. */
export const recordHead = z.object({ type: z.literal('metadata'), protocol_version: z.nullish(z.string()) });
export const recordLine = z.object({ timestamp: z.nullish(z.number()), message: Envelope });
/** The output of `<agent> info --json`. */
export const info = z.object({ kimi_cli_version: z.nullish(z.string()), wire_protocol_version: z.string() });

/** Codes of JSON-RPC failures (wire.md §10). */
export const codes = {
  notJson: -32700,
  notARequest: -32600,
  unknownMethod: -32601,
  badParams: -32602,
  internal: -32603,
  wrongState: -32000,
  noModel: -32001,
  modelCannot: -32002,
  modelService: -32003,
  loginExpired: -32004,
} as const;

type Payloads<T extends Record<string, z.ZodMiniType>> = { readonly [K in keyof T & string]: z.infer<T[K]> };
export type EventPayload = Payloads<typeof events>;
export type RequestPayload = Payloads<typeof requests>;
export type AnswerResult = Payloads<typeof answers>;
/** Any event and any request, as `{ type, payload }`. */
export type WireEvent = { readonly [K in keyof EventPayload]: { readonly type: K; readonly payload: EventPayload[K] } }[keyof EventPayload];
export type WireRequest = {
  readonly [K in keyof RequestPayload]: { readonly type: K; readonly payload: RequestPayload[K] };
}[keyof RequestPayload];
export type Methods = {
  readonly [K in keyof typeof methods]: {
    readonly params: z.infer<(typeof methods)[K]['params']>;
    readonly result: z.infer<(typeof methods)[K]['result']>;
  };
};
export type InitializeParams = Methods['initialize']['params'];
export type InitializeResult = Methods['initialize']['result'];
export type KnownPart = z.infer<typeof KnownPart>;
export type ContentPart = z.infer<typeof ContentPart>;
export type UserInput = z.infer<typeof UserInput>;
export type KnownBlock = z.infer<typeof KnownBlock>;
export type DisplayBlock = z.infer<typeof DisplayBlock>;
export type ToolReturnValue = z.infer<typeof ToolReturnValue>;
export type ExternalTool = z.infer<typeof ExternalTool>;
export type Envelope = z.infer<typeof Envelope>;
