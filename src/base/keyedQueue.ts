/** Runs the tasks of one key one after the other, in the order they came; other keys do not wait. A failure does not block later tasks. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const over = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, over);
    void over.then(() => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    });
    return mine;
  }
}
