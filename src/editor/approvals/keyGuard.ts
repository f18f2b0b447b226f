/** Milliseconds without a key after which what is pressed is meant for what is on the screen. */
const QUIET = 700;

/** Keys that were meant for whatever had the focus before do not count: each one starts the wait anew. */
export class KeyGuard {
  readonly #now: () => number;
  readonly #quiet: number;
  #last: number;

  constructor(quiet = QUIET, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#quiet = quiet;
    this.#last = now();
  }

  /** A key came. True when it counts. */
  press(): boolean {
    const rested = this.#now() - this.#last >= this.#quiet;
    if (!rested) this.#last = this.#now();
    return rested;
  }

  /** What is on the screen has changed, or a stray key came: the wait begins anew. */
  restart(): void {
    this.#last = this.#now();
  }

  /** Milliseconds until keys count, 0 when they do. */
  get left(): number {
    return Math.max(0, this.#last + this.#quiet - this.#now());
  }
}
