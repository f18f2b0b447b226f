import * as z from 'zod/mini';
import { isRecord } from './metadata.ts';

// The chunks of AI SDK 5, 6 and 7 (ai-sdk.md §3). Optional fields may be null: servers in other languages write them so.

export const ID_LIMIT = 1024;
const id = z.string().check(z.maxLength(ID_LIMIT));
const toolName = z.string().check(z.minLength(1), z.maxLength(256));
const text = z.nullish(z.string());
const flag = z.nullish(z.boolean());
const kept = z.optional(z.unknown());
/** Words are wanted; what is sent in their place is told as it is. */
const errorText = z.pipe(kept, z.transform(wordsIn));
const call = {
  toolCallId: id,
  toolName,
  dynamic: flag,
  providerExecuted: flag,
  title: text,
  toolMetadata: kept,
  providerMetadata: kept,
  /** `requires-action` marks a call whose result is awaited while the response stays open (ai-sdk.md §8.2). */
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

/** `data` of `data-tool-call-approval` (ai-sdk.md §9.9). */
export const dataApproval = z.object({
  state: kept,
  runId: z.nullish(id),
  toolCallId: id,
  toolName,
  args: kept,
  resumeSchema: kept,
});
export type DataApproval = z.infer<typeof dataApproval>;

// The messages that are posted back (ai-sdk.md §4). They are ours to change while a response is assembled.

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
  approval?: ToolApproval;
}
/** Everything but the answer goes back exactly as it came: a server that signs refuses a changed one. */
export interface ToolApproval {
  id: string;
  approved?: boolean;
  reason?: string;
  requestReason?: string;
  isAutomatic?: boolean;
  descriptor?: unknown;
  inputSchemaInput?: unknown;
  signature?: string;
}
