import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  type AssistantModelMessage,
  extractReasoningMiddleware,
  type FilePart,
  type ImagePart,
  type JSONValue,
  jsonSchema,
  type ModelMessage,
  streamText,
  type TextPart,
  type TextStreamPart,
  type ToolSet,
  tool,
  wrapLanguageModel,
} from 'ai';
import { HttpClient, retryAfter } from '../../transport/http.ts';
import { HttpFailure } from '../../transport/link.ts';
import { localize } from '../locale.ts';
import type { ModelEndpoint } from './model.ts';
import {
  type HistoryMessage,
  isModelError,
  type ModelCall,
  ModelError,
  type ModelPiece,
  type ModelRequest,
  type ModelTool,
  resultText,
  type UserPart,
} from './model.ts';

// The SDK would write its warnings to the console.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** One answer of an OpenAI-compatible service. Tries once: trying again is the loop's business. Throws ModelError. */
export async function* answerFrom(endpoint: ModelEndpoint, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPiece> {
  signal.throwIfAborted();
  const client = new HttpClient();
  try {
    const provider = createOpenAICompatible({
      name: 'model',
      baseURL: endpoint.baseUrl.replace(/\/+$/, ''),
      includeUsage: true,
      fetch: httpFetch(client),
      ...(endpoint.apiKey === undefined ? {} : { apiKey: endpoint.apiKey }),
    });
    const { fullStream } = streamText({
      // Local models often write their thoughts into the text, between tags.
      model: wrapLanguageModel({ model: provider(endpoint.name), middleware: extractReasoningMiddleware({ tagName: 'think' }) }),
      system: request.system,
      messages: messagesOf(request.history),
      tools: toolsOf(request.tools),
      ...endpoint.sampling,
      maxRetries: 0,
      abortSignal: signal,
      onError: () => {},
    });
    const calls = new CallsInOrder();
    for await (const part of fullStream) yield* piecesOf(part, calls);
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw modelFailure(error, endpoint);
  } finally {
    client.dispose();
  }
}

const cutShort = {
  length: () => localize('The answer was cut at the length the service allows.', '回答达到服务允许的长度上限，已被截断。'),
  'content-filter': () => localize('The service withheld the rest of the answer.', '服务没有给出回答的其余部分。'),
} as const;

function* piecesOf(part: TextStreamPart<ToolSet>, calls: CallsInOrder): Generator<ModelPiece> {
  switch (part.type) {
    case 'text-delta':
      yield { type: 'text', text: part.text };
      return;
    case 'reasoning-delta':
      yield { type: 'thought', text: part.text };
      return;
    case 'tool-input-start':
      yield* calls.begin(part.id, part.toolName);
      return;
    case 'tool-input-delta':
      yield* calls.grow(part.id, part.delta);
      return;
    case 'tool-call':
      yield* calls.end(part.toolCallId, part.toolName, part.input, part.providerMetadata);
      return;
    case 'finish-step': {
      const why = part.finishReason === 'length' || part.finishReason === 'content-filter' ? part.finishReason : undefined;
      if (why === 'length') yield { type: 'cut', text: cutShort[why]() };
      else if (why !== undefined) yield { type: 'text', text: `\n\n*${cutShort[why]()}*` };
      const { inputTokens = 0, outputTokens = 0, inputTokenDetails } = part.usage;
      if (inputTokens + outputTokens > 0) {
        yield { type: 'used', usage: { input: inputTokens, cached: inputTokenDetails?.cacheReadTokens ?? 0, output: outputTokens } };
      }
      return;
    }
    case 'error':
      throw part.error;
  }
}

/** Declared without a way to run: the loop runs them. */
function toolsOf(offers: readonly ModelTool[]): ToolSet {
  return Object.fromEntries(
    offers.map(({ name, description, parameters }) => [name, tool({ description, inputSchema: jsonSchema<unknown>({ ...parameters }) })]),
  );
}

interface BufferedCall {
  readonly id: string;
  readonly name: string;
  input: string;
  /** Of `input`, how much has been given on. */
  given: number;
  began: boolean;
  ended: boolean;
  meta: Readonly<Record<string, unknown>> | undefined;
}

/** Calls whose arguments may arrive mixed, given on one after the other in the order they began. */
class CallsInOrder {
  readonly #held: BufferedCall[] = [];

  begin(id: string, name: string): Iterable<ModelPiece> {
    if (!this.#find(id)) this.#held.push({ id, name, input: '', given: 0, began: false, ended: false, meta: undefined });
    return this.#flush();
  }

  grow(id: string, text: string): Iterable<ModelPiece> {
    const held = this.#find(id);
    if (held) held.input += text;
    return this.#flush();
  }

  /** `parsed` is used when nothing was streamed. The text as the model wrote it wins: the model gets its broken JSON back unchanged. */
  end(id: string, name: string, parsed: unknown, meta: Readonly<Record<string, unknown>> | undefined): Iterable<ModelPiece> {
    const held = this.#find(id) ?? { id, name, input: '', given: 0, began: false, ended: false, meta: undefined };
    if (!this.#held.includes(held)) this.#held.push(held);
    if (held.input === '') held.input = typeof parsed === 'string' ? parsed : JSON.stringify(parsed ?? {});
    held.ended = true;
    held.meta = meta;
    return this.#flush();
  }

  #find(id: string): BufferedCall | undefined {
    return this.#held.find((held) => held.id === id && !held.ended);
  }

  *#flush(): Generator<ModelPiece> {
    for (let first = this.#held[0]; first; first = this.#held[0]) {
      const { id, name, input, meta } = first;
      if (!first.began) yield { type: 'call.started', id, name };
      first.began = true;
      if (first.given < input.length) yield { type: 'call.delta', id, text: input.slice(first.given) };
      first.given = input.length;
      if (!first.ended) return;
      this.#held.shift();
      yield { type: 'call', call: { id, name, input, ...(meta === undefined ? {} : { meta }) } };
    }
  }
}

/** A local model may take many minutes to read a long prompt before it sends anything. */
const HEADERS_WITHIN_MS = 30 * 60_000;

/** `fetch` for the SDK over sockets without its limits on silence. Only what the SDK uses: POST of text, a streamed answer, abort. */
function httpFetch(client: HttpClient): typeof fetch {
  return async (input, init) => {
    const answer = await client.request({
      method: init?.method === 'GET' ? 'GET' : 'POST',
      url: input instanceof Request ? input.url : String(input),
      headers: Object.fromEntries(new Headers(init?.headers)),
      headersWithin: HEADERS_WITHIN_MS,
      ...(typeof init?.body === 'string' ? { body: init.body } : {}),
      ...(init?.signal ? { signal: init.signal } : {}),
    });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        answer
          .read((chunk) => controller.enqueue(chunk))
          .then(
            () => controller.close(),
            (error: unknown) => controller.error(error),
          );
      },
      cancel: () => answer.dispose(),
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) if (value !== undefined) headers.set(name, String(value));
    return new Response([204, 205, 304].includes(answer.status) ? null : body, { status: answer.status, headers });
  };
}

const MOST = 500;

/** Converts an error of the SDK to words a user can act on. */
function modelFailure(error: unknown, endpoint: ModelEndpoint): ModelError {
  if (isModelError(error)) return error;
  const failure = inChain(error, (one) => one instanceof HttpFailure);
  if (failure instanceof HttpFailure) return connectionFailure(failure);
  const answered = inChain(error, (one) => APICallError.isInstance(one) && one.statusCode !== undefined);
  if (APICallError.isInstance(answered)) return statusFailure(answered, endpoint);
  const text = error instanceof Error ? error.message : JSON.stringify(error);
  const reason = error instanceof Error ? error.name : 'StreamError';
  return new ModelError(
    'service',
    localize(`The answer of ${endpoint.name} broke off: ${text.slice(0, MOST)}`, `${endpoint.name} 的回答中断了：${text.slice(0, MOST)}`),
    { retry: true, reason },
  );
}

function connectionFailure(failure: HttpFailure): ModelError {
  const lasting =
    failure.kind === 'refused' || failure.kind === 'unknownHost' || failure.kind === 'address' || failure.kind === 'certificate';
  const advice = lasting
    ? localize(
        ' Start the model server, or correct the setting parley.model.baseUrl.',
        ' 请启动模型服务，或更正设置 parley.model.baseUrl。',
      )
    : '';
  return new ModelError('service', `${failure.message}${advice}`, {
    retry: !lasting && failure.kind !== 'aborted',
    reason: 'ConnectionError',
  });
}

function statusFailure(error: APICallError, { baseUrl, name }: ModelEndpoint): ModelError {
  const status = error.statusCode ?? 0;
  const said =
    error.message === '' ? '' : localize(` It says: ${error.message.slice(0, MOST)}`, ` 对方说：${error.message.slice(0, MOST)}`);
  const more = { status, reason: `HTTP ${status}` };
  if (status === 401 || status === 403) {
    return new ModelError(
      'login',
      localize(
        `${baseUrl} refused the key (HTTP ${status}). Run “Parley: Configure Model” and give a valid one.`,
        `${baseUrl} 拒绝了密钥（HTTP ${status}）。请运行“Parley: Configure Model”并填写有效的密钥。`,
      ) + said,
      more,
    );
  }
  if (status === 404) {
    return new ModelError(
      'service',
      localize(
        `${baseUrl} has no model “${name}” (HTTP 404). Check the settings parley.model.name and parley.model.baseUrl (most end in /v1).`,
        `${baseUrl} 没有模型“${name}”（HTTP 404）。请检查设置 parley.model.name 和 parley.model.baseUrl（通常以 /v1 结尾）。`,
      ) + said,
      more,
    );
  }
  if (status === 408 || status === 409 || status === 429 || status >= 500) {
    const wait = retryAfter(error.responseHeaders ?? {}, Date.now());
    const what = status === 429 ? localize(' has too many requests', ' 请求过多') : localize(' failed', ' 出错');
    return new ModelError('service', `${baseUrl}${what} (HTTP ${status}).${said}`, {
      ...more,
      retry: true,
      ...(wait === undefined ? {} : { retryAfter: wait / 1000 }),
    });
  }
  if (/image|vision|multimodal|audio/i.test(error.message))
    return new ModelError('model_cannot', localize(`${name} cannot take this input.`, `${name} 不支持这种输入。`) + said, more);
  const long = /context|too long|maximum.*tokens|prompt.*large/i.test(error.message)
    ? localize(' The conversation may be too long for it: try /compact.', ' 对话可能太长：请试试 /compact。')
    : '';
  return new ModelError(
    'service',
    localize(`${baseUrl} refused the request (HTTP ${status}).`, `${baseUrl} 拒绝了请求（HTTP ${status}）。`) + said + long,
    more,
  );
}

/** The first thing in a chain of causes (and of gathered errors) that fits. */
function inChain(error: unknown, fits: (one: unknown) => boolean): unknown {
  for (let at = error, hops = 0; at !== undefined && at !== null && hops < 10; hops += 1) {
    if (fits(at)) return at;
    at = at instanceof Error ? at.cause : undefined;
  }
  return undefined;
}

/** The conversation in the SDK's words. Thoughts go back only within the running turn, where some models want them. */
function messagesOf(history: readonly HistoryMessage[]): ModelMessage[] {
  const turn = history.findLastIndex((message) => message.role === 'user');
  return history.flatMap((message, at): ModelMessage[] => {
    switch (message.role) {
      case 'user':
        return [{ role: 'user', content: message.parts.map(userPart) }];
      case 'assistant':
        return [{ role: 'assistant', content: assistantContent(message, at > turn) }];
      case 'tool': {
        const value = resultText(message);
        const output = message.isError ? { type: 'error-text' as const, value } : { type: 'text' as const, value };
        const result: ModelMessage = {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: message.callId, toolName: message.name, output }],
        };
        // The results of one answer stay together: services refuse a message between them.
        return history[at + 1]?.role === 'tool' ? [result] : [result, ...mediaUpTo(history, at)];
      }
    }
  });
}

/** Services take text as the result of a call: what else belongs to the results that end here follows them in a message of its own. */
function mediaUpTo(history: readonly HistoryMessage[], end: number): readonly ModelMessage[] {
  const begin = history.findLastIndex((message, at) => at <= end && message.role !== 'tool') + 1;
  const parts = history.slice(begin, end + 1).flatMap((message): readonly UserPart[] => {
    if (message.role !== 'tool' || !message.media) return [];
    return [{ type: 'text', text: `Of the result of ${message.name}:` }, ...message.media];
  });
  return parts.length === 0 ? [] : [{ role: 'user', content: parts.map(userPart) }];
}

function assistantContent(message: Extract<HistoryMessage, { role: 'assistant' }>, thoughts: boolean): AssistantModelMessage['content'] {
  return [
    ...(thoughts && message.thought !== undefined ? [{ type: 'reasoning' as const, text: message.thought }] : []),
    ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
    ...message.calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.id,
      toolName: call.name,
      input: inputOf(call),
      ...metaOf(call),
    })),
  ];
}

/** Services parse the arguments of earlier calls again and refuse broken ones, so those go back empty; the result told the model about them. */
function inputOf(call: ModelCall): unknown {
  try {
    const parsed: unknown = JSON.parse(call.input === '' ? '{}' : call.input);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function metaOf(call: ModelCall): { providerOptions?: Record<string, Record<string, JSONValue>> } {
  return call.meta === undefined ? {} : { providerOptions: call.meta as Record<string, Record<string, JSONValue>> };
}

function userPart(part: UserPart): TextPart | ImagePart | FilePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', image: part.url };
    case 'audio': {
      const match = /^data:([^;,]+)(?:;[^,]*)?,/.exec(part.url);
      if (!match?.[1]) throw new ModelError('model_cannot', 'Audio must be given as a data URI.');
      return { type: 'file', data: part.url.slice(match[0].length), mediaType: match[1] };
    }
    case 'video':
      throw new ModelError('model_cannot', 'Videos cannot be sent to this model.');
  }
}
