/** The system works at a few files at a time; more that wait for it cost nothing. */
const AT_ONCE = 16;

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

/**
 * Runs a task for each item, so many at a time and begun in their order, and resolves with the results in that order. After a failure none is begun any more;
 * once the running ones have ended, it rejects with the error of the first item that failed.
 */
export async function mapAtOnce<T, R>(all: Iterable<T>, run: (one: T) => Promise<R>, most = AT_ONCE): Promise<R[]> {
  const items = [...all];
  const results: R[] = [];
  const errors = new Map<number, unknown>();
  const queue = items.entries();
  const work = async () => {
    for (const [at, one] of queue) {
      try {
        results[at] = await run(one);
      } catch (error) {
        errors.set(at, error);
      }
      if (errors.size > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, work));
  if (errors.size > 0) throw errors.get(Math.min(...errors.keys()));
  return results;
}
