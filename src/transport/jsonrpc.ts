import {
  AbstractMessageReader,
  AbstractMessageWriter,
  type CancellationStrategy,
  CancellationTokenSource,
  createMessageConnection,
  type DataCallback,
  ErrorCodes,
  Message,
  type MessageConnection,
  type MessageReader,
  type MessageWriter,
  type RequestMessage,
  ResponseError,
  type ResponseMessage,
} from 'vscode-jsonrpc/node';
import { MOST_VALUES, parseJson } from '../base/json.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Channel } from './channel.ts';
import { toLine } from './lines.ts';
import { type TextPath, TextRuns } from './textRuns.ts';

export interface RpcOptions {
  readonly log: Log;
  readonly trace?: (way: 'in' | 'out', message: unknown) => void;
  /** The id of an outgoing request on the wire; without it the connection's own number. Ids of incoming requests go back unchanged. */
  readonly wireId?: (request: RequestMessage) => string | number;
  /**
   * Sees every message in order before the connection does; true means it has been dealt with. A short cut for floods of notifications, which
   * would cost a turn of the event loop each, and the place to keep a request from being answered at all.
   */
  readonly first?: (message: Message) => boolean;
  /** Answers their requests; a thrown error becomes the failure. Without it the connection's own handlers do. */
  readonly onRequest?: (method: string, params: unknown) => unknown;
  /** Something other than a message arrived: text that is not JSON, a batch, a number. Never fatal. */
  readonly onJunk?: (text: string, why: 'notJson' | 'notAMessage') => void;
  /** A failure without an id that could not be attributed to one request. */
  readonly onStray?: (failure: { readonly code: number; readonly message: string }) => void;
  /** Where notifications carry one text in pieces. Those that arrive together are joined, and told and traced as one with the whole text. */
  readonly textPath?: TextPath;
  /** How cancelling travels; by default it does not. */
  readonly cancellation?: CancellationStrategy;
}

/** Milliseconds that messages which wait are dealt with before others get their turn. */
const SLICE = 8;
/** Characters. Reading a longer line takes long enough: it is dealt with in a turn of its own. */
const LONG_LINE = 256 * 1024;

/** The result of a request handler that leaves the request without an answer: the other side has settled it already. */
export const unanswered: unique symbol = Symbol('unanswered');

/** The error for a request handler to throw, in order to answer with this failure. */
export function failure(code: number, message: string, data?: unknown): Error {
  return new ResponseError(code, message, data);
}

/** The code and message another end failed a request with; undefined for any other error (the connection closed, for one). */
export function failureOf(error: unknown): { readonly code: number; readonly message: string } | undefined {
  if (!(error instanceof ResponseError) || OWN_CODES.includes(error.code)) return undefined;
  return { code: error.code, message: error.message };
}

/** Codes that the library makes up for requests without an answer. */
const OWN_CODES: readonly number[] = [ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive, ErrorCodes.MessageWriteError];

/** JSON-RPC over lines. It listens already. When the channel closes, the requests that wait reject with the channel's reason. */
export interface RpcConnection {
  readonly connection: MessageConnection;
  /** The number of outgoing requests without an answer. */
  readonly waiting: number;
  /** Notes that the other side is working on our requests: a failure without an id is not about those. */
  underWay(): void;
  /** Lets go of the connection; the channel stays. */
  dispose(): void;
}

export function openRpc(channel: Channel, options: RpcOptions): RpcConnection {
  const pending = new PendingRequests();
  const reader = new LineReader(channel, pending, options);
  const writer = new LineWriter(channel, pending, options);
  const log = (message: string) => options.log.warn(message);
  const connection = createMessageConnection(
    reader,
    writer,
    { error: log, warn: log, info: log, log },
    {
      cancellationStrategy: options.cancellation ?? silentCancellation,
      messageStrategy: {
        handleMessage: (message, next) => {
          setImmediate(() => reader.handleQueued());
          return next(message);
        },
      },
    },
  );
  connection.onError(([error]) => log(error.message));
  const { onRequest } = options;
  if (onRequest) connection.onRequest((method, params) => onRequest(method, params));
  connection.listen();
  const whenClosed = channel.onClosed(() => reader.finish(() => connection.dispose()));
  return {
    connection,
    get waiting() {
      return pending.size;
    },
    underWay() {
      pending.working();
    },
    dispose() {
      whenClosed.dispose();
      connection.dispose();
    },
  };
}

const silentCancellation: CancellationStrategy = {
  receiver: { createCancellationTokenSource: () => new CancellationTokenSource() },
  sender: { sendCancellation: async () => {}, cleanup: () => {} },
};

/** Requests that wait for an answer, ours (id on the wire -> id inside) and theirs. */
class PendingRequests {
  readonly theirs = new Set<string | number>();
  readonly #ids = new Map<string, number | string>();
  /** Ours that a failure without an id is not about, because the other side was seen working at them. */
  readonly #working = new Set<string>();
  /** Outgoing requests that such a failure need not be about: it may be about an answer that was sent since. */
  readonly #answeredSince = new Set<string>();

  get size(): number {
    return this.#ids.size;
  }
  add(wireId: string | number, id: number | string): void {
    this.#ids.set(String(wireId), id);
  }
  take(wireId: string | number): number | string | undefined {
    const id = this.#ids.get(String(wireId));
    this.#ids.delete(String(wireId));
    this.#working.delete(String(wireId));
    this.#answeredSince.delete(String(wireId));
    return id;
  }
  working(): void {
    for (const id of this.#ids.keys()) this.#working.add(id);
  }
  answered(): void {
    for (const id of this.#ids.keys()) this.#answeredSince.add(id);
  }
  /** The one request a failure without an id must be about, if there is just one that it can be about. */
  takeOnly(): number | string | undefined {
    const [only, ...others] = [...this.#ids.keys()].filter((id) => !this.#working.has(id));
    return only !== undefined && others.length === 0 && !this.#answeredSince.has(only) ? this.take(only) : undefined;
  }
}

/**
 * Requests and answers go through the connection's queue, which hands on one message per turn of the event loop. While one is in there,
 * everything behind it waits here, so that nothing overtakes it.
 */
class LineReader extends AbstractMessageReader implements MessageReader {
  readonly #channel: Channel;
  readonly #pending: PendingRequests;
  readonly #options: RpcOptions;
  readonly #runs: TextRuns | undefined;
  readonly #takeRun = () => this.#endRun();
  #callback: DataCallback = () => {};
  #queued = false;
  #behind: Message[] = [];
  /** The number of messages already passed on: removing each from the list would move all the others. */
  #gone = 0;
  #finished: (() => void) | undefined;

  constructor(channel: Channel, pending: PendingRequests, options: RpcOptions) {
    super();
    this.#channel = channel;
    this.#pending = pending;
    this.#options = options;
    const { textPath } = options;
    // Requests are never joined, and an answer carries no text.
    this.#runs = textPath && new TextRuns((message) => ('id' in message ? undefined : textPath(message)));
  }

  listen(callback: DataCallback) {
    this.#callback = callback;
    return this.#channel.onMessage((line) => this.#take(line));
  }

  /** The connection has dealt with the message in its queue. */
  handleQueued(): void {
    this.#queued = false;
    const until = performance.now() + SLICE;
    for (let next = this.#behind[this.#gone]; next && !this.#queued; next = this.#behind[this.#gone]) {
      if (performance.now() > until) return this.#handleLater();
      this.#gone += 1;
      this.#pass(next);
    }
    if (this.#gone === this.#behind.length) {
      this.#behind = [];
      this.#gone = 0;
    }
    this.#finishWhenDone();
  }

  /** Runs when everything that has arrived is dealt with. */
  finish(then: () => void): void {
    this.#endRun();
    this.#finished = then;
    this.#finishWhenDone();
  }

  #finishWhenDone(): void {
    if (this.#queued || !this.#finished) return;
    this.#finished();
    this.#finished = undefined;
  }

  #take(line: string): void {
    const isFirst = this.#runs?.isEmpty;
    if (this.#runs?.add(line)) {
      if (isFirst) queueMicrotask(this.#takeRun);
      return;
    }
    this.#endRun();
    const message = this.#parse(line);
    if (!message) return;
    if (line.length > LONG_LINE && !this.#queued) this.#handleLater();
    this.#arrived(message);
  }

  #handleLater(): void {
    this.#queued = true;
    setImmediate(() => this.handleQueued());
  }

  /** Hands on the pieces of text that arrived together. */
  #endRun(): void {
    const message = this.#runs?.take();
    if (!message) return;
    this.#options.trace?.('in', message);
    this.#arrived(message as Message);
  }

  #arrived(message: Message): void {
    if (this.#queued || this.#behind.length > 0) this.#behind.push(message);
    else this.#pass(message);
  }

  #parse(line: string): Message | undefined {
    let value: unknown;
    try {
      const warn = () => this.#options.log.warn('A message is nested too deeply; what is deeper was left out.');
      value = parseJson(line, warn, MOST_VALUES);
    } catch {
      this.#options.onJunk?.(line, 'notJson');
      return undefined;
    }
    this.#options.trace?.('in', value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#options.onJunk?.(line, 'notAMessage');
      return undefined;
    }
    const { id = null, method } = value as { readonly id?: unknown; readonly method?: unknown };
    const isNamed = id === null || typeof id === 'string' || typeof id === 'number';
    if (!isNamed || (method !== undefined && typeof method !== 'string')) {
      this.#options.onJunk?.(line, 'notAMessage');
      return undefined;
    }
    if (!('method' in value)) return this.#answer(value as ResponseMessage, line);
    this.#runs?.note(line, value);
    return this.#isRepeated(value as RequestMessage) ? undefined : (value as RequestMessage);
  }

  #answer(response: ResponseMessage, line: string): Message | undefined {
    if (response.id === undefined || (response.result === undefined && !response.error)) {
      this.#options.onJunk?.(line, 'notAMessage');
      return undefined;
    }
    const said = response.error ? { ...response, error: readable(response.error) } : response;
    if (said.id !== null) {
      const id = this.#pending.take(said.id);
      if (id === undefined) this.#options.log.warn(`An answer to no request of ours came (id ${String(said.id).slice(0, 100)}).`);
      return id === undefined ? undefined : withId(said, id);
    }
    return said;
  }

  /** The request behind a failure without an id is known only after everything before it on the wire has been handled. */
  #attribute(failure: ResponseMessage): Message | undefined {
    const only = failure.error ? this.#pending.takeOnly() : undefined;
    if (only !== undefined) return withId(failure, only);
    this.#options.onStray?.({ code: Number(failure.error?.code), message: String(failure.error?.message) });
    return undefined;
  }

  /** A request that is still open and comes again gets one answer (wire.md §9.6). */
  #isRepeated(request: RequestMessage): boolean {
    return request.id !== undefined && request.id !== null && this.#pending.theirs.has(request.id);
  }

  #pass(arrived: Message): void {
    const isNameless = !('method' in arrived) && (arrived as ResponseMessage).id === null;
    const message = isNameless ? this.#attribute(arrived as ResponseMessage) : arrived;
    if (!message) return;
    try {
      if (this.#options.first?.(message)) return;
    } catch (error) {
      this.#options.log.error(`Handling a message failed: ${messageOf(error)}`, error);
      return;
    }
    if (Message.isRequest(message) && message.id !== null) this.#pending.theirs.add(message.id);
    this.#queued = true;
    this.#callback(message);
  }
}

class LineWriter extends AbstractMessageWriter implements MessageWriter {
  readonly #channel: Channel;
  readonly #pending: PendingRequests;
  readonly #options: RpcOptions;

  constructor(channel: Channel, pending: PendingRequests, options: RpcOptions) {
    super();
    this.#channel = channel;
    this.#pending = pending;
    this.#options = options;
  }

  write(message: Message): Promise<void> {
    const outgoing = Message.isRequest(message) ? this.#named(message) : message;
    if (Message.isResponse(message)) {
      if (message.id !== null) this.#pending.theirs.delete(message.id);
      if (message.result === (unanswered as unknown)) return Promise.resolve();
      this.#pending.answered();
    }
    this.#options.trace?.('out', outgoing);
    return this.#channel.send(toLine(outgoing));
  }

  end(): void {}

  #named(request: RequestMessage): RequestMessage {
    if (request.id === null) return request;
    const id = this.#options.wireId?.(request) ?? request.id;
    this.#pending.add(id, request.id);
    return { ...request, id };
  }
}

/** Makes the message of a failure a text, because the library would show "[object Object]". */
function readable(error: unknown): NonNullable<ResponseMessage['error']> {
  const { code, message, data } = (typeof error === 'object' ? error : { message: error }) as Readonly<Record<string, unknown>>;
  return {
    code: typeof code === 'number' ? code : ErrorCodes.UnknownErrorCode,
    message: typeof message === 'string' ? message : message == null ? '' : JSON.stringify(message),
    ...(data === undefined ? {} : { data: data as object }),
  };
}

function withId(response: ResponseMessage, id: number | string): ResponseMessage {
  return { ...response, id };
}
