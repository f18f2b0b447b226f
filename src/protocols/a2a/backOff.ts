import { pause } from './rpc.ts';

/** The waiting for an agent that cannot be reached. News from it say that it can, and end what is waited for after the try they came in. */
export class BackOff {
  #news = new AbortController();

  /** Fires with the first news since the last try began. */
  get next(): AbortSignal {
    return this.#news.signal;
  }

  news(): void {
    this.#news.abort();
  }

  /** A try begins. */
  tries(): void {
    this.#news = new AbortController();
  }

  /** Settles after so many milliseconds, or as soon as the signal fires or, where they count, with news since the last try began: true then. */
  async rest(ms: number, signal: AbortSignal, newsCount: boolean): Promise<boolean> {
    const { next } = this;
    await pause(ms, newsCount ? AbortSignal.any([signal, next]) : signal);
    return newsCount && next.aborted && !signal.aborted;
  }
}
