/** Milliseconds without a key after which nothing is typed any more. */
const REST = 1000;

/** Whether the user is typing just now, in an editor or in the chat: what would take the keys away from them waits that long. */
export class Typing {
  readonly #now: () => number;
  #last = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  noted(): void {
    this.#last = this.#now();
  }

  /** What was typed has been sent. */
  over(): void {
    this.#last = Number.NEGATIVE_INFINITY;
  }

  /** Milliseconds until the user rests; 0 when they do. */
  idleIn(): number {
    return Math.max(0, this.#last + REST - this.#now());
  }
}
