import { codes } from '../../../protocols/kimi-wire/schema.ts';
import { WireError } from './peer.ts';

interface Running {
  readonly stop: () => void;
  over: Promise<unknown>;
  /** By the client. */
  cancelled: boolean;
}

/** The turn or the replay that runs: one at a time, and it can be stopped from its first moment on. */
export class Work {
  #running: Running | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }
  get isCancelled(): boolean {
    return this.#running?.cancelled === true;
  }

  mustBeIdle(): void {
    if (this.#running) throw new WireError(codes.wrongState, 'A turn is in progress');
  }
  mustRun(): void {
    if (!this.#running) throw new WireError(codes.wrongState, 'No turn is in progress');
  }

  async run<T>(stop: () => void, run: () => Promise<T>): Promise<T> {
    const running: Running = { stop, over: Promise.resolve(), cancelled: false };
    this.#running = running;
    const result = run();
    running.over = result;
    try {
      return await result;
    } finally {
      this.#running = undefined;
    }
  }

  cancel(): void {
    if (!this.#running) return;
    this.#running.cancelled = true;
    this.#running.stop();
  }

  /** Stops the turn; settles once it has ended. */
  async end(): Promise<void> {
    this.#running?.stop();
    await this.over;
  }

  /** Settles once the running work has ended, with any outcome. */
  get over(): Promise<unknown> {
    return this.#running?.over.catch(() => undefined) ?? Promise.resolve();
  }
}
