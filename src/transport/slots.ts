/**
 * Runs tasks a few at a time, in the order they came, and each of the others in a later turn of the event loop: an agent can ask for thousands of
 * files at once, whose texts would fill the memory and whose ends would come in one turn.
 */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((start) => void this.#waiting.push(start));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) setImmediate(next);
      else this.#free += 1;
    }
  }
}
