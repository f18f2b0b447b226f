/** Milliseconds without a key after which what is pressed is meant for what is on the screen. */
const QUIET = 700;

/** Keys that were meant for whatever had the focus before do not count: each one starts the wait anew. None counts before `begin`. */
export class KeyGuard {
  readonly #now: () => number;
  readonly #quiet: number;
  /** When the last stray key came, or it began; undefined before. */
  #last: number | undefined;

  constructor(quiet = QUIET, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#quiet = quiet;
  }

  /** What is asked is on the screen. */
  begin(): void {
    this.#last = this.#now();
  }

  /** Something else is asked, which is not on the screen yet. */
  stop(): void {
    this.#last = undefined;
  }

  /** A key came. True when it counts. */
  press(): boolean {
    if (this.#last === undefined) return false;
    const rested = this.#now() - this.#last >= this.#quiet;
    if (!rested) this.#last = this.#now();
    return rested;
  }

  /** A stray key came: the wait begins anew. */
  restart(): void {
    if (this.#last !== undefined) this.#last = this.#now();
  }

  /** Milliseconds until keys count, 0 when they do. */
  get left(): number {
    return Math.max(0, (this.#last ?? this.#now()) + this.#quiet - this.#now());
  }
}
