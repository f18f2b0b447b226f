/**
 * Milliseconds without a key after which presses are meant for the pick on the screen: longer than a key that is already meant for elsewhere can be
 * held back, and than the pauses of someone who types.
 */
const QUIET = 500;

/** Ignores keys that were meant for whatever had the focus before: each one restarts the wait. None counts before `begin`. */
export class KeyGuard {
  readonly #now: () => number;
  readonly #quiet: number;
  /** Time of the last stray key or of `begin`; undefined before. */
  #last: number | undefined;

  constructor(quiet = QUIET, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#quiet = quiet;
  }

  /** The ask is on the screen. */
  begin(): void {
    this.#last = this.#now();
  }

  /** Another ask follows, which is not on the screen yet. */
  stop(): void {
    this.#last = undefined;
  }

  /** Handles a key. True when it counts. */
  press(): boolean {
    if (this.#last === undefined) return false;
    const rested = this.#now() - this.#last >= this.#quiet;
    if (!rested) this.#last = this.#now();
    return rested;
  }

  /** Restarts the wait after a stray key. */
  restart(): void {
    if (this.#last !== undefined) this.#last = this.#now();
  }

  /** Milliseconds until keys count, 0 when they do. */
  get left(): number {
    return Math.max(0, (this.#last ?? this.#now()) + this.#quiet - this.#now());
  }
}
