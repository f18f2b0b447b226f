import { t } from '../../base/l10n.ts';
import { Lifetime } from '../../base/lifetime.ts';
import { messageOf } from '../../base/log.ts';
import { HttpClient, type HttpRequest, originOf, retryAfter } from '../../transport/http.ts';
import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import { HttpFailure } from '../../transport/link.ts';
import { SseReader } from '../../transport/sse.ts';
import { TemplateReader } from '../../transport/templateReader.ts';
import type { AdapterContext } from '../adapter.ts';
import { parseOrUndefined } from './codec.ts';
import type { Credentials } from './credentials.ts';
import { type A2aVersion, isRecord, answer as rpcAnswer } from './schema.ts';
import { methodOn } from './versionCodec.ts';

/** The agent answered with an error of JSON-RPC. */
export class AgentError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
/** The server answered with a status other than success. The message is for a user. */
export class StatusError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The cause of a failure, in one word that the machine knows (`Problem.kind`). */
export function kindOf(error: unknown): string {
  if (error instanceof AgentError) return 'rpc';
  if (error instanceof StatusError) return 'status';
  return error instanceof HttpFailure ? error.kind : 'lost';
}
export function codeOf(error: unknown): { readonly code?: number } {
  return error instanceof AgentError ? { code: error.code } : error instanceof StatusError ? { code: error.status } : {};
}

const WAIT_AT_MOST = 60_000;
const CLOSE_WITHIN = 1_000;
/** Milliseconds a message waits for a keep-alive request under way on its connection. */
const KEEP_ALIVE_WAIT = 500;
const HEAD = 500;

/** Progress of a request: sent over the turn's connection, or beside it; waiting to be sent, with a reason for the user; answered. */
export type RequestProgress = 'sent' | 'sentBeside' | 'answered' | { readonly waits: string };
interface ProgressOptions {
  readonly onProgress?: (progress: RequestProgress) => void;
}
interface StreamOptions extends ProgressOptions {
  /** Lets go of the body. */
  readonly signal?: AbortSignal;
  /** The answer is a stream, and has begun. */
  readonly opened?: () => void;
  /** Milliseconds until the answer begins; without it there is no limit, since some agents begin with their first record (docs/protocols/a2a.md §2). */
  readonly within?: number;
}
interface CallOptions {
  /** Over held connections or, where those may be dead, a new one. */
  readonly over?: 'held' | 'fresh';
  readonly signal?: AbortSignal;
}
interface FetchOptions {
  readonly body?: unknown;
  readonly on?: 'turn' | 'side';
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: RequestProgress) => void;
  /** Milliseconds until the answer begins. */
  readonly within?: number;
}
/** Milliseconds. */
export interface HttpLimits {
  /** Time limit for an agent to begin an immediate answer, and for a pause in the middle of one. */
  readonly answer: number;
  /** Time limit for an agent to return its card: it may have to start first (docs/protocols/a2a.md §1). */
  readonly card: number;
}
export interface RpcTarget {
  readonly endpoint: string;
  readonly wire: A2aVersion;
  readonly tenant?: string;
  readonly extension?: string;
}

/**
 * JSON-RPC over HTTP with two pools of sockets (docs/protocols/a2a.md §3): the turn connection, one socket that is never closed from this side because a server
 * may tie the running turn to it, and a second pool for what has to be said meanwhile.
 */
export class RpcClient {
  readonly #context: AdapterContext;
  readonly #credentials: Credentials;
  readonly #pools = new Pools();
  #id = 0;
  #ended = false;
  readonly #life = new Lifetime();
  target: RpcTarget | undefined;
  readonly timing: HttpLimits;

  constructor(context: AdapterContext, credentials: Credentials, timing: HttpLimits) {
    this.#context = context;
    this.timing = timing;
    this.#credentials = credentials;
    this.#life.onEnd(() => {
      this.#ended = true;
      for (const client of this.#pools.clients) client.dispose();
    });
  }

  /** Closes every socket; what is under way rejects. The next request opens new ones. */
  hangUp(): void {
    for (const client of this.#renew()) client.dispose();
  }

  /** The same with the end of each socket announced to the server; false when it has not closed one of its sides within a second. */
  async hangUpGently(): Promise<boolean> {
    const closed = await Promise.all(this.#renew().map((client) => client.hangUp(CLOSE_WITHIN)));
    return closed.every(Boolean);
  }

  #renew(): readonly HttpClient[] {
    const before = this.#pools.clients;
    if (!this.#ended) this.#pools.renew();
    return before;
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** One call with one answer, which is there at once: the agent has `timing.answer` to begin it. Rejects with AgentError, StatusError or HttpFailure. */
  async call(method: string, params: Readonly<Record<string, unknown>>, { over, signal }: CallOptions = {}): Promise<unknown> {
    let result: unknown;
    const client = over === 'fresh' ? new HttpClient() : this.#pools.side;
    const take = (one: unknown) => {
      result = one;
    };
    const own = signal ? { signal: AbortSignal.any([signal, this.#context.signal]) } : {};
    const { answer } = this.timing;
    try {
      await this.#exchange(client, method, params, 'application/json, text/event-stream', take, {
        ...own,
        within: answer,
        silence: answer,
      });
    } finally {
      if (over === 'fresh') client.dispose();
    }
    return result;
  }

  /** One call on the way out, when everything else is closed already. Settles within a moment and never rejects. */
  async sendLast(method: string, params: Readonly<Record<string, unknown>>): Promise<void> {
    const client = new HttpClient();
    const signal = AbortSignal.timeout(CLOSE_WITHIN);
    await this.#exchange(client, method, params, 'application/json', () => {}, { signal }).catch((error: unknown) =>
      this.#context.log.trace(`${method} on the way out: ${messageOf(error)}`),
    );
    client.dispose();
  }

  /**
   * One call whose answers come one after the other; settles when the body has ended. Takes the turn connection when it is free.
   */
  async stream(
    method: string,
    params: Readonly<Record<string, unknown>>,
    take: (result: unknown) => void,
    more: StreamOptions = {},
  ): Promise<void> {
    const pool = this.#pools.turn;
    if (pool.pendingKeepAlive) await Promise.race([pool.pendingKeepAlive, pause(KEEP_ALIVE_WAIT, more.signal ?? this.#context.signal)]);
    const accept = method === 'command/execute' ? 'text/event-stream, application/json' : 'text/event-stream';
    const own = more.signal ? { ...more, signal: AbortSignal.any([more.signal, this.#context.signal]) } : more;
    if (!pool.isFree) return this.#exchange(this.#pools.side, method, params, accept, take, own);
    return pool.use(() => this.#exchange(pool.client, method, params, accept, take, own));
  }

  /**
   * Keeps the other side from closing the turn connection: one GET at a time, which nothing waits behind for long. It has no limit: to give it up
   * would close the connection.
   */
  keepAlive(url: string): void {
    const pool = this.#pools.turn;
    if (!pool.isFree) return;
    const request: HttpRequest = { method: 'GET', url, headers: { accept: 'application/json' }, headersWithin: null };
    const sent = this.#send(pool.client, request)
      .then((answer) => answer.text())
      .then(
        () => {},
        (error: unknown) => this.#context.log.trace(`The keep-alive request failed: ${messageOf(error)}`),
      );
    pool.keepAlive(sent);
  }

  /** A plain request beside JSON-RPC; the answer's body is yours to read. */
  async fetch(method: 'GET' | 'POST', url: string, { body, on, within, signal, onProgress }: FetchOptions = {}): Promise<HttpAnswer> {
    const request: HttpRequest = {
      method,
      url,
      headers: { accept: 'application/json, text/event-stream', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(within === undefined ? {} : { headersWithin: within }),
      ...(signal ? { signal: AbortSignal.any([signal, this.#context.signal]) } : {}),
    };
    return this.#send(on === 'turn' ? this.#pools.turn.client : this.#pools.side, request, onProgress ? { onProgress } : {});
  }

  async #exchange(
    client: HttpClient,
    method: string,
    params: Readonly<Record<string, unknown>>,
    accept: string,
    take: (result: unknown) => void,
    { signal, opened, within, silence, ...departure }: StreamOptions & { readonly silence?: number } = {},
  ): Promise<void> {
    const { target } = this;
    if (!target) throw new Error('There is no agent yet.');
    this.#id += 1;
    const newer = target.wire === '1.0';
    const message = {
      jsonrpc: '2.0',
      id: this.#id,
      method: methodOn(target.wire, method),
      params: { ...(target.tenant ? { tenant: target.tenant } : {}), ...params },
    };
    this.#context.trace('out', message);
    const request: HttpRequest = {
      method: 'POST',
      url: target.endpoint,
      headers: {
        'content-type': 'application/json',
        accept,
        ...(newer ? { 'A2A-Version': '1.0' } : {}),
        ...(target.extension ? { [newer ? 'A2A-Extensions' : 'X-A2A-Extensions']: target.extension } : {}),
      },
      body: JSON.stringify(message),
      headersWithin: within ?? null,
      ...(signal ? { signal } : {}),
    };
    const answer = await this.#send(client, request, departure);
    if (answer.type === 'text/event-stream') opened?.();
    await this.#read(answer, take, silence);
  }

  async #read(answer: HttpAnswer, take: (result: unknown) => void, silence?: number): Promise<void> {
    const context = this.#context;
    let error: AgentError | undefined;
    const lines = new TemplateReader();
    const one = (text: string) => {
      const value = lines.read(text);
      context.trace('in', value ?? text.slice(0, HEAD));
      // Every record of a stream passes here; what is not plainly a success is left to the schema.
      if (isRecord(value) && typeof value.id === 'number' && value.error === undefined) {
        if (error === undefined) take(value.result);
        return;
      }
      const parsed = rpcAnswer.safeParse(value);
      if (!parsed.success) return context.log.warn('A record that is no JSON-RPC answer was left out.');
      if (parsed.data.error) error ??= new AgentError(parsed.data.error.code, head(parsed.data.error.message));
      else if (error === undefined) take(parsed.data.result);
    };
    if (answer.type === 'text/event-stream') {
      const reader = new SseReader((event) => one(event.data), {
        onTooLong: (limit) => context.log.warn(`A record of more than ${limit} characters was left out.`),
      });
      await answer.read((chunk) => reader.push(chunk), silence);
      reader.end();
    } else {
      const text = await answer.text(32 * 1024 * 1024, silence);
      if (parseOrUndefined(text) === undefined && text.trim() !== '') {
        throw new StatusError(answer.status, whyRefused(this.target?.endpoint ?? '', answer.status, head(text)));
      }
      if (text.trim() !== '') one(text);
    }
    if (error) throw error;
  }

  /** With the user's credentials once the server wants them, and once more when it asks to wait. */
  async #send(client: HttpClient, request: HttpRequest, { onProgress }: ProgressOptions = {}): Promise<HttpAnswer> {
    const stopped = request.signal ?? this.#context.signal;
    let waited = false;
    let hasNewSecrets = false;
    for (;;) {
      // While it waited, its message may have been withdrawn.
      if (stopped.aborted) throw new HttpFailure('aborted', t('Stopped'));
      const signed = this.#credentials.sign(request);
      onProgress?.(client === this.#pools.turn.client ? 'sent' : 'sentBeside');
      const answer = await client.request({ signal: stopped, ...signed.request });
      if (answer.ok) {
        onProgress?.('answered');
        if (hasNewSecrets) await this.#credentials.accepted();
        return answer;
      }
      if (answer.status === 401) {
        const words = head(await answer.text(undefined, this.timing.answer));
        onProgress?.({ waits: t('{0} requires credentials', originOf(request.url)) });
        hasNewSecrets = await this.#credentials.renew(words, signed.edition, stopped);
        if (hasNewSecrets || stopped.aborted) continue;
        throw new StatusError(401, whyRefused(request.url, 401, words));
      }
      const wait = answer.status === 429 || answer.status === 503 ? retryAfter(answer.headers, this.#context.now()) : undefined;
      if (wait !== undefined && !waited && wait <= WAIT_AT_MOST) {
        waited = true;
        answer.dispose();
        onProgress?.({ waits: tooBusy(request.url, wait) });
        await pause(wait, stopped);
        continue;
      }
      const text = await answer.text(undefined, this.timing.answer);
      const parsed = rpcAnswer.safeParse(parseOrUndefined(text));
      if (parsed.success && parsed.data.error) throw new AgentError(parsed.data.error.code, head(parsed.data.error.message));
      if (wait !== undefined && wait > WAIT_AT_MOST) throw new StatusError(answer.status, tooBusy(request.url, wait));
      throw new StatusError(answer.status, whyRefused(request.url, answer.status, head(text)));
    }
  }
}

/** The turn connection, and the sockets for what is said meanwhile. */
class Pools {
  #turn = new TurnPool();
  #side = new HttpClient({ holdIdle: true });

  get turn(): TurnPool {
    return this.#turn;
  }
  get side(): HttpClient {
    return this.#side;
  }
  get clients(): readonly HttpClient[] {
    return [this.#turn.client, this.#side];
  }

  renew(): void {
    this.#turn = new TurnPool();
    this.#side = new HttpClient({ holdIdle: true });
  }
}

/** The turn connection, and who has it. */
class TurnPool {
  readonly client = new HttpClient({ maxSockets: 1, holdIdle: true });
  #isUsed = false;
  #keepAlive: Promise<void> | undefined;

  get isFree(): boolean {
    return !this.#isUsed && this.#keepAlive === undefined;
  }

  /** Settles when the keep-alive request under way has ended. */
  get pendingKeepAlive(): Promise<void> | undefined {
    return this.#keepAlive;
  }

  async use(exchange: () => Promise<void>): Promise<void> {
    this.#isUsed = true;
    try {
      await exchange();
    } finally {
      this.#isUsed = false;
    }
  }

  /** `sent` never rejects. */
  keepAlive(sent: Promise<void>): void {
    this.#keepAlive = sent.finally(() => {
      this.#keepAlive = undefined;
    });
  }
}

function whyRefused(url: string, status: number, words: string): string {
  const origin = originOf(url);
  if (status === 401) return `${t('{0} did not accept the key.', origin)} ${words}`;
  return `${t('{0} answered with status {1}', origin, status)}: ${words}`;
}

function tooBusy(url: string, wait: number): string {
  return t('{0} is busy and asks to wait {1} s.', originOf(url), Math.ceil(wait / 1000));
}

/** The reason in a refusal: the words in its JSON if it is JSON, otherwise the beginning of the body. */
function head(text: string): string {
  const body = parseOrUndefined(text);
  const words = isRecord(body) ? wordsIn(body.error ?? body) : '';
  return (words || text).trim().slice(0, HEAD);
}
/** A text, or the texts below the members that servers put them in; a list gives each on a line of its own. Empty where there is none. */
function wordsIn(error: unknown, depth = 0): string {
  if (typeof error === 'string') {
    const inner = error.startsWith('{') && depth < 4 ? parseOrUndefined(error) : undefined;
    return (isRecord(inner) && wordsIn(inner.error ?? inner, depth + 1)) || error.trim();
  }
  if (depth > 3) return '';
  if (Array.isArray(error)) {
    const each = error.slice(0, 20).map((one) => wordsIn(one, depth + 1));
    return each.filter(Boolean).join('\n');
  }
  if (!isRecord(error)) return '';
  for (const member of ['message', 'error_description', 'detail', 'msg', 'errors', 'title']) {
    const words = wordsIn(error[member], depth + 1);
    if (words) return words;
  }
  return '';
}

/** Settles early when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener('abort', over, { once: true });
    if (signal.aborted) over();
  });
}
