import { t } from '../../base/l10n.ts';
import { type Incoming, toIncoming } from './records.ts';

/** Opens one body of records; it is let go of when the signal fires. */
export type OpenStream = (take: (result: unknown) => void, signal: AbortSignal) => Promise<void>;

/** How much longer a body is heard that stays open, in times of what it had. */
const LINGERING = 3;

interface Stream {
  ended: boolean;
  records: number;
  /** Nothing is expected of it any more; what it says is still heard. */
  stale?: true;
  /** It has said that the agent waits, and may say for what. */
  resting?: NodeJS.Timeout;
  readonly cut: AbortController;
}

interface Listener {
  /** Something came, whatever it is. */
  readonly alive: () => void;
  /** One record of the stream of that number, counted from 1; `first` of that stream. False when it belongs to something else. */
  readonly heard: (record: Incoming, stream: number, first: boolean) => boolean;
  /** The newest stream has said its last word. */
  readonly lastWord: () => void;
  /** After the last word that was just heard, another may be wanted. */
  readonly mayFollow: () => boolean;
  /** The body stays open after its last word, and nothing has followed. */
  readonly lingers: () => void;
  readonly unknown: () => void;
}

/** The streams a turn listens to: one for the prompt, one for every decision, one for every subscription; they may overlap. */
export class Streams {
  readonly #listener: Listener;
  readonly #lastWords: number;
  #all: Stream[] = [];
  #over = false;

  /** `lastWords`: milliseconds a body may stay open after its last word until the task is looked at, when another word may follow. */
  constructor(listener: Listener, lastWords: number) {
    this.#listener = listener;
    this.#lastWords = lastWords;
  }

  /** Some body has not ended. */
  get open(): boolean {
    return this.#all.some((one) => !one.ended);
  }

  /** Some body has not ended and something is expected of it. */
  get awaited(): boolean {
    return this.#all.some((one) => !one.ended && !one.stale);
  }

  get newestAwaited(): boolean {
    const last = this.#all.at(-1);
    return last?.ended === false && !last.stale;
  }

  /** Nothing more is expected of those that are open. */
  giveUp(): void {
    for (const one of this.#all) if (!one.ended) one.stale = true;
  }

  /** Closes those that are open: what they would still say is not heard. */
  drop(): void {
    for (const one of this.#all) {
      if (one.ended) continue;
      one.ended = true;
      clearTimeout(one.resting);
      one.cut.abort();
    }
  }

  /** Nothing is heard from now on; the bodies go on being read, since closing them may mean something to the agent. */
  deafen(): void {
    this.#over = true;
    for (const { resting } of this.#all) clearTimeout(resting);
  }

  /** Settles when the body has ended, with what went wrong before its last word. */
  async hear(open: OpenStream): Promise<unknown> {
    const stream: Stream = { ended: false, records: 0, cut: new AbortController() };
    this.#all.push(stream);
    const mine = this.#all.length;
    let error: unknown;
    try {
      await open((result) => this.#take(result, stream, mine), stream.cut.signal);
    } catch (thrown) {
      error = thrown;
    }
    const done = stream.ended || stream.resting !== undefined;
    stream.ended = true;
    clearTimeout(stream.resting);
    // After the last word the fate of the connection means nothing.
    if (done) return undefined;
    return error ?? (stream.records === 0 ? new Error(t('The agent answered with nothing.')) : undefined);
  }

  #take(result: unknown, stream: Stream, mine: number): void {
    // What a body holds after its last word was not meant for anybody.
    if (this.#over || stream.ended) return;
    const record = toIncoming(result);
    this.#listener.alive();
    if (!record) return this.#listener.unknown();
    stream.records += 1;
    const ours = this.#listener.heard(record, mine, stream.records === 1);
    if (!ours || !record.final || mine !== this.#all.length) return;
    if (!this.#listener.mayFollow()) return this.#end(stream);
    stream.resting ??= setTimeout(() => this.#linger(stream), this.#lastWords);
  }

  #linger(stream: Stream): void {
    if (!this.#listener.mayFollow()) return this.#end(stream);
    stream.resting = setTimeout(() => this.#end(stream), LINGERING * this.#lastWords);
    this.#listener.lingers();
  }

  #end(stream: Stream): void {
    if (stream.ended) return;
    stream.ended = true;
    clearTimeout(stream.resting);
    this.#listener.lastWord();
  }
}
