/** A language model or the guide. The loop knows models only through this file. */
export interface Model {
  readonly name: string;
  /** Tokens the model can take in; decides when the history is compacted. */
  readonly contextSize: number;
  /**
   * True for the guide: it understands plain requests only, so commands with long prompts are not offered. A rejection does not
   * end its turn: unlike a language model, it never retries the rejected call.
   */
  readonly offline: boolean;
  /** One answer, in pieces, in order. Throws ModelError; an abort of the signal throws too. */
  answer(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPiece>;
}

export interface ModelRequest {
  /** The working directory; absolute. */
  readonly cwd: string;
  readonly system: string;
  readonly history: readonly HistoryMessage[];
  readonly tools: readonly ModelTool[];
}

/** `parameters` is a JSON Schema object. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** `url` may be a data URI. */
export type UserPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio' | 'video'; readonly url: string };

/** One message of the conversation, JSON-safe; what the session store keeps. */
export type HistoryMessage =
  | { readonly role: 'user'; readonly parts: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly text: string; readonly thought?: string; readonly calls: readonly ModelCall[] }
  | ToolMessage;

/** The edit of one file as whole texts; `before` is null when the file did not exist. */
export interface KeptDiff {
  readonly path: string;
  readonly before: string | null;
  readonly after: string;
}

/**
 * The result of one call. `message` is one line about the outcome, `text` its output; `rejected`: the user refused it. `diffs` are for a
 * client that has the conversation shown again; no model sees them.
 */
export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly name: string;
  readonly isError: boolean;
  readonly message: string;
  readonly text: string;
  readonly rejected?: true;
  readonly diffs?: readonly KeptDiff[];
  readonly media?: readonly UserPart[];
}

/** `input` is the JSON text as the model wrote it, which may be malformed. `meta` must go back to the service with the call. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `cut`: the answer ended at its greatest length, as `text` mentions. `call.started`, `call.delta`... then `call` with the whole input; a model may leave the first two out. Calls do not interleave. */
export type ModelPiece =
  | { readonly type: 'text' | 'thought' | 'cut'; readonly text: string }
  | { readonly type: 'call.started'; readonly id: string; readonly name: string }
  | { readonly type: 'call.delta'; readonly id: string; readonly text: string }
  | { readonly type: 'call'; readonly call: ModelCall }
  | { readonly type: 'used'; readonly usage: TokenUsage };

/** Tokens of one answer. `cached` is the part of `input` that came from the service's cache. */
export interface TokenUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export type ModelErrorKind = 'no_model' | 'model_cannot' | 'service' | 'login';

/** A failure of the model, in words a user can act on. `retryAfter` in seconds; `retry`: trying again may help. */
export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  readonly retry: boolean;
  readonly status: number | undefined;
  readonly retryAfter: number | undefined;
  readonly reason: string;

  constructor(
    kind: ModelErrorKind,
    message: string,
    more: { retry?: boolean; status?: number; retryAfter?: number; reason?: string } = {},
  ) {
    super(message);
    this.name = 'ModelError';
    this.kind = kind;
    this.retry = more.retry ?? false;
    this.status = more.status;
    this.retryAfter = more.retryAfter;
    this.reason = more.reason ?? 'ModelError';
  }
}

/** By name: the SDK's bundle has a class of its own. */
export function isModelError(error: unknown): error is ModelError {
  return error instanceof Error && error.name === 'ModelError';
}

/** A result as one text. */
export function resultText({ message, text }: ToolMessage): string {
  return [message, text].filter((part) => part !== '').join('\n\n');
}

/** The text of a user message. */
export function textOf(parts: readonly UserPart[]): string {
  return parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .filter((text) => text !== '')
    .join('\n');
}

/** The prompt that continues a turn of an earlier process when only the results of its calls arrive. */
export const CONTINUE_PROMPT = 'The results above have just arrived. Continue from there.';

/** Where a model is served. `contextSize` in tokens. */
export interface ModelEndpoint {
  readonly baseUrl: string;
  readonly name: string;
  readonly apiKey?: string;
  readonly contextSize: number;
  readonly sampling?: Sampling;
}

/** How the service is to choose its words; what is left out is the service's own choice. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly stopSequences?: string[];
}
