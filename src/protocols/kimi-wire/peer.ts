import type { Log } from '../../base/log.ts';
import type { Channel } from '../../transport/channel.ts';
import { failure, failureOf, openRpc, type Rpc } from '../../transport/jsonrpc.ts';
import { readInitialize } from './oddAnswers.ts';
import { codes, Envelope, type Methods, methods } from './schema.ts';

export interface PeerDeps {
  readonly log: Log;
  readonly trace: (way: 'in' | 'out', message: unknown) => void;
  readonly onEvent: (type: string, payload: object) => void;
  /** The result, or a failure that is thrown. */
  readonly onRequest: (type: string, payload: unknown) => Promise<unknown>;
  /** A request nobody waits for: one without an id, or history. */
  readonly onPastRequest: (type: string, payload: unknown) => void;
  /** True while history is replayed: every request is history then and gets no answer (wire.md §11). */
  readonly replaying: () => boolean;
}

/** The server at the other end of a channel: its methods, checked, and its messages, sorted. */
export class Peer {
  readonly #rpc: Rpc;
  readonly #deps: PeerDeps;
  readonly #missing = new Set<keyof Methods>();
  #junk = 0;
  /** The first thing it wrote that is no message. */
  firstJunk: string | undefined;

  constructor(channel: Channel, deps: PeerDeps) {
    this.#deps = deps;
    this.#rpc = openRpc(channel, {
      log: deps.log,
      trace: deps.trace,
      // A number would be refused, and without an id to match (wire.md §2).
      wireId: (request) => `p${request.id}`,
      onRequest: (method, params) => this.#request(method, params),
      first: (message) => this.#takesAtOnce(message),
      onJunk: (text, why) => this.#onJunk(text, why),
      onStray: ({ code, message }) => deps.log.warn(`The agent refused something without saying what: ${message} (${code})`),
    });
  }

  /** Rejects with a failure of the server (`failureOf`) or because the connection ended. There is no time limit. */
  async call<M extends keyof Methods>(method: M, params?: Methods[M]['params']): Promise<Methods[M]['result']> {
    let result: unknown;
    try {
      result = await (params === undefined || params === null
        ? this.#rpc.connection.sendRequest(method)
        : this.#rpc.connection.sendRequest(method, params));
    } catch (error) {
      if (failureOf(error)?.code === codes.unknownMethod) this.#missing.add(method);
      throw error;
    }
    if (method === 'initialize')
      result = readInitialize(result, (what) => this.#deps.log.warn(`Left out of the handshake's answer: ${what}`));
    const parsed = methods[method].result.safeParse(result);
    if (!parsed.success)
      throw failure(codes.internal, `The agent's answer to ${method} is not one: ${parsed.error.issues[0]?.message ?? ''}`);
    return parsed.data as Methods[M]['result'];
  }

  /** The server has said that it does not know this method. */
  lacks(method: keyof Methods): boolean {
    return this.#missing.has(method);
  }

  dispose(): void {
    this.#rpc.dispose();
  }

  /** Events go straight to the codec, whatever id they carry; requests that need no answer never reach the connection. */
  #takesAtOnce(message: object): boolean {
    if (!('method' in message)) return false;
    const params = 'params' in message ? message.params : undefined;
    if (message.method === 'event') {
      const event = readEnvelope(params);
      if (event?.type === 'TurnBegin') this.#rpc.underWay();
      if (event) this.#deps.onEvent(event.type, event.payload);
      else this.#deps.log.warn('An event without a type or payload was left out.');
      return true;
    }
    const isAsked = 'id' in message && message.id !== undefined && message.id !== null;
    if (message.method !== 'request') {
      if (!isAsked) this.#deps.log.trace(`Left out a notification this client does not know: ${String(message.method).slice(0, 100)}`);
      return !isAsked;
    }
    if (isAsked && !this.#deps.replaying()) return false;
    const request = readEnvelope(params);
    if (request) this.#deps.onPastRequest(request.type, request.payload);
    return true;
  }

  async #request(method: string, params: unknown): Promise<unknown> {
    if (method !== 'request') {
      this.#deps.log.warn(`The agent called a method this client does not have: ${method}`);
      throw failure(codes.unknownMethod, `Unknown method: ${method}`);
    }
    const request = Envelope.safeParse(params);
    if (!request.success) throw failure(codes.badParams, 'A request needs a type and a payload that is an object');
    return this.#deps.onRequest(request.data.type, request.data.payload);
  }

  #onJunk(text: string, why: 'notJson' | 'notAMessage'): void {
    this.#junk += 1;
    this.firstJunk ??= text;
    const what = why === 'notJson' ? 'a line that is not JSON' : 'something that is no message';
    if (this.#junk === 1) this.#deps.log.warn(`The agent wrote ${what} to its output; such lines are left out: ${text.slice(0, 200)}`);
    else this.#deps.log.trace(`Left out: ${text.slice(0, 200)}`);
  }
}

/** By hand: every event passes here, and its payload is checked by its own schema later. */
function readEnvelope(params: unknown): { readonly type: string; readonly payload: object } | undefined {
  if (typeof params !== 'object' || params === null || !('type' in params) || !('payload' in params)) return undefined;
  const { type, payload } = params;
  return typeof type === 'string' && typeof payload === 'object' && payload !== null && !Array.isArray(payload)
    ? { type, payload }
    : undefined;
}
