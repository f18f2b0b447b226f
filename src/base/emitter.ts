import type { Disposable } from './lifetime.ts';

/** Adds a listener; disposing what comes back removes it. */
export type Listen<T> = (listener: (value: T) => void) => Disposable;

/** Calls its listeners in the order they came. A listener that is removed while firing is not called any more. */
export class Emitter<T> implements Disposable {
  #listeners = new Set<(value: T) => void>();

  readonly listen: Listen<T> = (listener) => {
    const entry = (value: T) => listener(value);
    this.#listeners.add(entry);
    return { dispose: () => void this.#listeners.delete(entry) };
  };

  get size(): number {
    return this.#listeners.size;
  }

  fire(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

/** An event that happens once: later listeners are called at once. */
export class Once<T> {
  #value: T | undefined;
  readonly #coming = new Emitter<T>();

  /** Undefined before it has happened. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Listeners that wait for it. */
  get waiting(): number {
    return this.#coming.size;
  }

  readonly listen: Listen<T> = (listener) => {
    if (this.#value === undefined) return this.#coming.listen(listener);
    listener(this.#value);
    return { dispose: () => {} };
  };

  /** It happens now; a second time changes nothing. */
  fire(value: T): void {
    if (this.#value !== undefined) return;
    this.#value = value;
    this.#coming.fire(value);
    this.#coming.dispose();
  }
}
