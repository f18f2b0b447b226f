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

/** `whole`: nothing else is looked at until this one has been answered. */
export interface Method {
  readonly whole?: true;
  readonly run: (params: unknown) => Promise<unknown>;
}

/**
 * The server's end of a Wire connection, strict where wire.md §2 says so: string ids only, no batches, junk answered and never fatal. The two
 * sides' ids are separate; what has no method is an answer.
 */
export class Peer {
  readonly #channel: Channel;
  readonly #methods: Readonly<Record<string, Method>>;
  readonly #waiting = new Map<string, { resolve(result: unknown): void; reject(error: Error): void }>();
  readonly #silent: boolean;
  #held: string[] | undefined;

  /** `silent`: methods nobody knows get no answer, as the oldest servers do (wire.md §3). */
  constructor(channel: Channel, methods: Readonly<Record<string, Method>>, silent = false) {
    this.#channel = channel;
    this.#methods = methods;
    this.#silent = silent;
    channel.onMessage((line) => {
      if (this.#held) this.#held.push(line);
      else this.#take(line);
    });
    channel.onClosed(({ reason }) => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error(reason));
      this.#waiting.clear();
    });
  }

  /** How many requests of ours wait for the client. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Answers to them are not heard any more; they end with their signals only. */
  forget(): void {
    this.#waiting.clear();
  }

  event(type: string, payload: object): void {
    this.#send({ jsonrpc: '2.0', method: 'event', params: { type, payload } });
  }

  /** Settles with the client's result, rejects with its failure or when the signal fires; an answer after that is ignored. */
  request(type: string, id: string, payload: object, signal: AbortSignal): Promise<unknown> {
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
      this.#send({ jsonrpc: '2.0', method: 'request', id, params: { type, payload } });
    });
  }

  /** Sends a request that nobody waits for: history that is shown again. */
  show(type: string, id: string, payload: object): void {
    this.#send({ jsonrpc: '2.0', method: 'request', id, params: { type, payload } });
  }

  #take(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#fail(null, codes.notJson, 'Not JSON');
      return;
    }
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      this.#fail(null, codes.notARequest, 'A message is one JSON object; batches are not supported');
      return;
    }
    const fields: Readonly<Record<string, unknown>> = { ...message };
    const { id } = fields;
    if (id !== undefined && typeof id !== 'string') this.#fail(null, codes.notARequest, 'The id must be a string');
    else if (fields.jsonrpc !== '2.0') this.#fail(id ?? null, codes.notARequest, 'jsonrpc must be "2.0"');
    else if (!('method' in fields)) this.#takeAnswer(id, fields);
    else if (typeof fields.method !== 'string') this.#fail(id ?? null, codes.notARequest, 'The method must be a string');
    else if (id !== undefined) void this.#answer(id, fields.method, fields.params);
  }

  #takeAnswer(id: string | undefined, fields: Readonly<Record<string, unknown>>): void {
    if (id === undefined || !('result' in fields || 'error' in fields)) {
      this.#fail(id ?? null, codes.notARequest, 'Neither a request nor an answer');
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!waiting) return;
    if (fields.error === undefined || fields.error === null) waiting.resolve(fields.result);
    else waiting.reject(new Error(errorText(fields.error)));
  }

  async #answer(id: string, name: string, params: unknown): Promise<void> {
    const method = Object.hasOwn(this.#methods, name) ? this.#methods[name] : undefined;
    if (!method) {
      if (!this.#silent) this.#fail(id, codes.unknownMethod, `Unknown method: ${name.slice(0, 100)}`);
      return;
    }
    if (method.whole) this.#held = [];
    try {
      const result = await method.run(params);
      this.#send({ jsonrpc: '2.0', id, result });
    } catch (error) {
      this.#fail(id, error instanceof WireError ? error.code : codes.internal, messageOf(error));
    }
    if (method.whole) this.#release();
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) {
      // One of them may hold back the others again.
      if (this.#held) (this.#held as string[]).push(line);
      else this.#take(line);
    }
  }

  #fail(id: string | null, code: number, message: string): void {
    this.#send({ jsonrpc: '2.0', id, error: { code, message } });
  }

  #send(message: object): void {
    // A client that has gone shows as the end of our input; there is nobody left to tell.
    this.#channel.send(toLine(message)).catch(() => {});
  }
}

function errorText(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string') return error.message;
  return 'The client answered with an error.';
}
