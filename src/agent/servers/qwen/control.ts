import { randomUUID } from 'node:crypto';

/** How one dialect puts a request to the client, and where it finds the answer (docs/protocols/qwen.md §3.3, §4.8). */
export interface Envelope {
  wrap(id: string, subtype: string, payload: object): object;
  /** The answer to one of our requests; undefined when the line is none. */
  open(
    message: Readonly<Record<string, unknown>>,
  ): { readonly id: string; readonly ok: boolean; readonly payload: unknown; readonly error: string } | undefined;
}

interface Waiting {
  readonly resolve: (payload: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Requests of the agent to its client. Each settles: by the answer, by the signal, or when nobody answers in time. */
export class Control {
  readonly #write: (message: object) => void;
  readonly #envelope: Envelope;
  readonly #waiting = new Map<string, Waiting>();
  #ended = false;

  constructor(write: (message: object) => void, envelope: Envelope) {
    this.#write = write;
    this.#envelope = envelope;
  }

  /** The client hears nothing any more. */
  get ended(): boolean {
    return this.#ended;
  }

  ask(subtype: string, payload: object, how: { readonly signal?: AbortSignal; readonly limit: number }): Promise<unknown> {
    if (this.#ended) return Promise.reject(new Error('Nobody can be asked.'));
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const stop = () => settle(() => reject(new Error('Request aborted')));
      const timer = setTimeout(() => settle(() => reject(new Error('Nobody answered in time.'))), how.limit);
      const settle = (then: () => void): void => {
        clearTimeout(timer);
        how.signal?.removeEventListener('abort', stop);
        this.#waiting.delete(id);
        then();
      };
      if (how.signal?.aborted) return stop();
      how.signal?.addEventListener('abort', stop);
      this.#waiting.set(id, { resolve: (value) => settle(() => resolve(value)), reject: (error) => settle(() => reject(error)) });
      this.#write(this.#envelope.wrap(id, subtype, payload));
    });
  }

  /** False when the line answers nothing; a late or repeated answer is no fault. */
  take(message: Readonly<Record<string, unknown>>): boolean {
    const answer = this.#envelope.open(message);
    const waiting = answer && this.#waiting.get(answer.id);
    if (!answer || !waiting) return false;
    if (answer.ok) waiting.resolve(answer.payload);
    else waiting.reject(new Error(answer.error));
    return true;
  }

  end(): void {
    this.#ended = true;
    for (const { reject } of [...this.#waiting.values()]) reject(new Error('The client is gone.'));
  }
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

export function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message } = record(error);
  return typeof message === 'string' ? message : 'The client failed.';
}
