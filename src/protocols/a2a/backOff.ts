import { pause } from './rpc.ts';

/** The waiting for an agent that cannot be reached. News from it say that it can, and end what is waited for just then. */
export class BackOff {
  #news = new AbortController();

  /** Fires with the next news. */
  get next(): AbortSignal {
    return this.#news.signal;
  }

  news(): void {
    this.#news.abort();
    this.#news = new AbortController();
  }

  /** Settles after so many milliseconds, or as soon as the signal fires or, where they count, with news: true then. */
  async rest(ms: number, signal: AbortSignal, newsCount: boolean): Promise<boolean> {
    const { next } = this;
    await pause(ms, newsCount ? AbortSignal.any([signal, next]) : signal);
    return newsCount && next.aborted && !signal.aborted;
  }
}
