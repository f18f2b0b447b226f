import * as z from 'zod/mini';

/* Everything that crosses the wire of the UI message stream, versions 5 to 7, and the JSON that is kept of it (docs/protocols/ai-sdk.md). */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// --- Chunks, server to client. Optional fields may be null, because servers in other languages write them so.

export const ID_LIMIT = 1024;
const id = z.string().check(z.maxLength(ID_LIMIT));
const toolName = z.string().check(z.minLength(1), z.maxLength(256));
const text = z.nullish(z.string());
const flag = z.nullish(z.boolean());
const kept = z.optional(z.unknown());
/** Should be text. Other values are shown as JSON. */
const errorText = z.pipe(kept, z.transform(wordsIn));
const call = {
  toolCallId: id,
  toolName,
  dynamic: flag,
  providerExecuted: flag,
  title: text,
  toolMetadata: kept,
  providerMetadata: kept,
  /** `requires-action` marks a call whose result the server awaits while the response stays open. */
  state: text,
};
const outcome = { toolCallId: id, providerExecuted: flag, dynamic: flag, toolMetadata: kept, providerMetadata: kept };
const block = { id, providerMetadata: kept };
const delta = { ...block, delta: text, textDelta: text };
const picture = { url: z.string(), mediaType: z.string(), filename: text, providerMetadata: kept };

function wordsIn(value: unknown): string {
  if (typeof value === 'string' || value == null) return value ?? '';
  if (isRecord(value) && typeof value.message === 'string') return value.message;
  try {
    return JSON.stringify(value).slice(0, 2000);
  } catch {
    // Nested too deeply to be written.
    return '';
  }
}

export const chunkShapes = {
  start: z.object({ type: z.literal('start'), messageId: z.nullish(id), messageMetadata: kept }),
  'start-step': z.object({ type: z.literal('start-step') }),
  'finish-step': z.object({ type: z.literal('finish-step') }),
  'reset-step': z.object({ type: z.literal('reset-step') }),
  finish: z.object({ type: z.literal('finish'), finishReason: text, messageMetadata: kept }),
  abort: z.object({ type: z.literal('abort'), reason: text }),
  error: z.object({ type: z.literal('error'), errorText }),
  'message-metadata': z.object({ type: z.literal('message-metadata'), messageMetadata: kept }),
  'text-start': z.object({ type: z.literal('text-start'), ...block }),
  'text-delta': z.object({ type: z.literal('text-delta'), ...delta }),
  'text-end': z.object({ type: z.literal('text-end'), ...block, citations: kept }),
  'reasoning-start': z.object({ type: z.literal('reasoning-start'), ...block }),
  'reasoning-delta': z.object({ type: z.literal('reasoning-delta'), ...delta }),
  'reasoning-end': z.object({ type: z.literal('reasoning-end'), ...block }),
  'tool-input-start': z.object({ type: z.literal('tool-input-start'), ...call, inputEncoding: text }),
  'tool-input-delta': z.object({ type: z.literal('tool-input-delta'), toolCallId: id, inputTextDelta: z.string() }),
  'tool-input-available': z.object({ type: z.literal('tool-input-available'), ...call, input: kept }),
  'tool-input-error': z.object({ type: z.literal('tool-input-error'), ...call, input: kept, errorText }),
  'tool-approval-request': z.object({
    type: z.literal('tool-approval-request'),
    approvalId: id,
    toolCallId: id,
    signature: text,
    approvalDescriptor: kept,
    inputSchemaInput: kept,
    reason: text,
    isAutomatic: flag,
  }),
  'tool-approval-response': z.object({
    type: z.literal('tool-approval-response'),
    approvalId: id,
    approved: z.boolean(),
    reason: text,
    providerExecuted: flag,
    providerMetadata: kept,
  }),
  'tool-output-available': z.object({ type: z.literal('tool-output-available'), ...outcome, output: kept, preliminary: flag }),
  'tool-output-error': z.object({ type: z.literal('tool-output-error'), ...outcome, errorText }),
  'tool-output-denied': z.object({ type: z.literal('tool-output-denied'), toolCallId: id }),
  'source-url': z.object({ type: z.literal('source-url'), sourceId: id, url: z.string(), title: text, providerMetadata: kept }),
  'source-document': z.object({
    type: z.literal('source-document'),
    sourceId: id,
    mediaType: z.string(),
    title: text,
    filename: text,
    providerMetadata: kept,
  }),
  file: z.object({ type: z.literal('file'), ...picture }),
  'reasoning-file': z.object({ type: z.literal('reasoning-file'), ...picture }),
  custom: z.object({ type: z.literal('custom'), kind: z.string(), providerMetadata: kept }),
  'steering-message': z.object({
    type: z.literal('steering-message'),
    id,
    parts: z.array(z.looseObject({ type: z.string(), text, url: text, mediaType: text })).check(z.maxLength(100)),
  }),
  /** `data-NAME` on the wire. */
  data: z.object({ type: z.literal('data'), name: z.string(), id: z.nullish(id), data: kept, transient: flag }),
};

export type Chunk = { readonly [K in keyof typeof chunkShapes]: z.infer<(typeof chunkShapes)[K]> }[keyof typeof chunkShapes];

/** `data` of `data-tool-call-approval`, by which Mastra's version 5 format asks for approval. */
export const dataApproval = z.object({
  state: kept,
  runId: z.nullish(id),
  toolCallId: id,
  toolName,
  args: kept,
  resumeSchema: kept,
});
export type DataApproval = z.infer<typeof dataApproval>;

// --- Messages, which the client posts back. They are changed in place while a response is assembled.

export interface UiMessage {
  id: string;
  role: 'system' | 'user' | 'assistant';
  parts: UiPart[];
  metadata?: unknown;
}
export type UiPart = TextPart | ReasoningPart | ToolPart | FilePart | DataPart | OtherPart;
export interface TextPart {
  type: 'text';
  text: string;
  state?: 'streaming' | 'done';
  providerMetadata?: unknown;
  citations?: unknown;
}
export interface ReasoningPart {
  type: 'reasoning';
  id?: string;
  text: string;
  state?: 'streaming' | 'done';
  providerMetadata?: unknown;
}
export interface FilePart {
  type: 'file' | 'reasoning-file';
  mediaType: string;
  url: string;
  filename?: string;
  providerMetadata?: unknown;
}
export interface DataPart {
  type: `data-${string}`;
  id?: string;
  data: unknown;
}
export interface OtherPart {
  type: 'step-start' | 'source-url' | 'source-document' | 'custom' | 'steering-message';
  [field: string]: unknown;
}
export type ToolState =
  | 'input-streaming'
  | 'input-available'
  | 'approval-requested'
  | 'approval-responded'
  | 'output-available'
  | 'output-error'
  | 'output-denied';
export interface ToolPart {
  type: `tool-${string}` | 'dynamic-tool';
  toolName?: string;
  toolCallId: string;
  state: ToolState;
  input?: unknown;
  rawInput?: unknown;
  inputEncoding?: string;
  output?: unknown;
  errorText?: string;
  preliminary?: boolean;
  providerExecuted?: boolean;
  title?: string;
  toolMetadata?: unknown;
  callProviderMetadata?: unknown;
  resultProviderMetadata?: unknown;
  approval?: UiToolApproval;
}
/** Everything but the answer goes back as it came: servers that sign approvals refuse changed ones. */
export interface UiToolApproval {
  id: string;
  approved?: boolean;
  reason?: string;
  requestReason?: string;
  isAutomatic?: boolean;
  descriptor?: unknown;
  inputSchemaInput?: unknown;
  signature?: string;
}

// --- Requests of the client

/** One chat request: why it is made, and what its answer settles. */
export interface Post {
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly messageId?: string;
  /** Ids of calls and approvals whose outcome it reports, each once. */
  readonly tells?: readonly string[];
  /** Extra top-level fields. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The response continues the last assistant message. Otherwise it begins a new one. */
  readonly continues: boolean;
}

/** The record a turn leaves for the next window: more than the session shows, because servers and models check signatures in the history. */
export interface SavedTurn {
  /** Id of the user's message. Its content is in the session. */
  readonly user?: string;
  /** The messages behind it. */
  readonly messages: UiMessage[];
  /** The request that did not get through. A retry sends it again, so that nothing runs twice. */
  readonly unsent?: Post;
}
export const savedTurn = z.object({
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

// --- Settings of one server

/** A profile, without its headers: they hold secrets and stay outside the state. Addresses are absolute. */
export interface AiSdkSettings {
  readonly url: string;
  readonly host: string;
  readonly isLocal: boolean;
  /** Extra top-level fields of every chat request. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly toolFlow: 'auto' | 'repost' | 'held' | 'user-message';
  /** Addresses that may take results of held calls, in the order they are tried. */
  readonly resultUrls: readonly string[];
  /** How tools of the editor are declared. */
  readonly tools: 'record' | 'mastra' | 'array' | 'none';
  /** `last`: the server keeps the conversation and wants only the newest message. */
  readonly history: 'full' | 'last';
  /** Where a cut response continues: `{chatId}`, `{resumableId}`, `{runId}` and `{received}` are filled in. `none` switches it off. */
  readonly resumeUrl: string | null;
  /** The server replays a resumed response from its beginning. Otherwise it sends only the rest. */
  readonly replay: boolean;
  /** `{chatId}` is filled in. */
  readonly stopUrl: string | null;
  readonly compat: 'auto' | 'v5';
  /** Requests in one turn without an action of the user. */
  readonly maxAutoPosts: number;
  /** For servers that lose results which are errors. */
  readonly errorsAsOutput: boolean;
  /** The server gets tools that read and change files and run commands. */
  readonly fileTools: boolean;
  readonly system: string | null;
}

/** The facts that conversations have found out about one server. */
export interface Learned {
  /** How it takes results. */
  flow: 'unknown' | 'repost' | 'held';
  /** It refuses what version 5 does not know. */
  v5: boolean;
  /** The address that took a result. */
  resultUrl: string | null;
  /** The user was told which data goes there. */
  told: boolean;
}

/** The resume address that a response named. */
export interface ResumePoint {
  readonly chatId: string;
  readonly resumableId: string | null;
  readonly runId: string | null;
  /** How many chunks have arrived. */
  readonly received: number;
}
