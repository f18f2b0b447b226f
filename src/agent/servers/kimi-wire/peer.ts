import { messageOf } from '../../../base/log.ts';
import { codes } from '../../../protocols/kimi-wire/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { toLine } from '../../../transport/lines.ts';

/** A failure with a code of wire.md §10. */
export class WireError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A request of the client; each is answered once, by its id. */
export interface ClientCall {
  readonly id: string;
  readonly method: string;
  readonly params: unknown;
}
interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * The server's end of a Wire connection, as strict as Kimi CLI (wire.md §2): string ids only, no batches, what is malformed is answered with an
 * error without an id and is never fatal. The two sides' ids are separate; a message without a method is an answer.
 */
export class Peer {
  readonly #channel: Channel;
  readonly #waiting = new Map<string, Waiting>();

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** How many of the server's requests wait for the client. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Answers to them are not heard any more; they end with their signals only. */
  forget(): void {
    this.#waiting.clear();
  }

  /** The client is gone. */
  closed(reason: string): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(reason));
    this.#waiting.clear();
  }

  event(type: string, payload: object): void {
    this.#send({ jsonrpc: '2.0', method: 'event', params: { type, payload } });
  }

  /** Sends a request and passes on its answer, if one comes. Requests of replayed history expect none. */
  show(type: string, id: string, payload: object): void {
    this.#send({ jsonrpc: '2.0', method: 'request', id, params: { type, payload } });
  }

  /** Settles with the client's result, rejects with its failure or when the signal fires; an answer after that is ignored. */
  expect(id: string, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const withdraw = (): void => {
        this.#waiting.delete(id);
        reject(signal.reason instanceof Error ? signal.reason : new Error('withdrawn'));
      };
      if (signal.aborted) {
        withdraw();
        return;
      }
      signal.addEventListener('abort', withdraw, { once: true });
      const settle = <T>(then: (value: T) => void) => {
        return (value: T): void => {
          signal.removeEventListener('abort', withdraw);
          then(value);
        };
      };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
    });
  }

  answer(id: string, result: unknown): void {
    this.#send({ jsonrpc: '2.0', id, result });
  }

  fail(id: string, error: unknown): void {
    this.#send({
      jsonrpc: '2.0',
      id,
      error: { code: error instanceof WireError ? error.code : codes.internal, message: messageOf(error) },
    });
  }

  /** The call in a line of the client. undefined: it was an answer, a notification, or nothing that makes sense. */
  read(line: string): ClientCall | undefined {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#malformed(codes.notJson, 'Not JSON');
    }
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      return this.#malformed(codes.notARequest, 'A message is one JSON object; batches are not supported');
    const { id, jsonrpc, method, params, ...answer } = message as Readonly<Record<string, unknown>>;
    if (id != null && typeof id !== 'string') return this.#malformed(codes.notARequest, 'The id must be a string');
    if (jsonrpc !== '2.0') return this.#malformed(codes.notARequest, 'jsonrpc must be "2.0"');
    if (method == null) return this.#answered(id ?? undefined, answer);
    if (typeof method !== 'string') return this.#malformed(codes.notARequest, 'The method must be a string');
    return id == null ? undefined : { id, method, params };
  }

  /** An answer that is none is refused and settles nothing, as Kimi CLI does it. */
  #answered(id: string | undefined, answer: Readonly<Record<string, unknown>>): undefined {
    const { error } = answer;
    if (id === undefined || (error == null && !('result' in answer)))
      return this.#malformed(codes.notARequest, 'Neither a request nor an answer');
    if (error != null && !isFailure(error)) return this.#malformed(codes.notARequest, 'An error needs a code and a message');
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error == null) waiting?.resolve(answer.result);
    else waiting?.reject(new Error(error.message));
  }

  #malformed(code: number, message: string): undefined {
    this.#send({ jsonrpc: '2.0', id: null, error: { code, message } });
  }

  #send(message: object): void {
    // A disconnected client shows as the end of our input, so there is nothing to report here.
    this.#channel.send(toLine(message)).catch(() => {});
  }
}

function isFailure(error: unknown): error is { readonly code: number; readonly message: string } {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return Number.isInteger(code) && typeof message === 'string';
}
