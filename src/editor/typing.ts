/** Milliseconds without a key after which the user counts as not typing. */
const REST = 1000;

/** Whether the user is typing in an editor or in the chat: anything that would take the focus waits that long. */
export class Typing {
  readonly #now: () => number;
  #last = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  noted(): void {
    this.#last = this.#now();
  }

  /** Ends typing when the text has been sent. */
  over(): void {
    this.#last = Number.NEGATIVE_INFINITY;
  }

  /** Milliseconds until the user has stopped typing; 0 when they have. */
  idleIn(): number {
    return Math.max(0, this.#last + REST - this.#now());
  }
}
