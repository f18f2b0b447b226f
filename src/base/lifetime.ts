/** Something that holds a resource and can give it back. Disposing twice is harmless. */
export interface Disposable {
  dispose(): void;
}

export function toDisposable(dispose: () => void): Disposable {
  let done = false;
  return {
    dispose() {
      if (done) return;
      done = true;
      dispose();
    },
  };
}

/** Owns disposables; disposes them once, last first. Disposables added after the end are disposed at once. */
export class Lifetime implements Disposable {
  #owned: Disposable[] | undefined = [];

  get ended(): boolean {
    return this.#owned === undefined;
  }

  own<T extends Disposable>(thing: T): T {
    if (this.#owned) this.#owned.push(thing);
    else thing.dispose();
    return thing;
  }

  /** Runs at the end, or now when the end has passed. */
  onEnd(run: () => void): void {
    this.own(toDisposable(run));
  }

  /** Lets go of a thing that ended by itself, without disposing it. */
  release(thing: Disposable): void {
    const at = this.#owned?.indexOf(thing) ?? -1;
    if (at >= 0) this.#owned?.splice(at, 1);
  }

  /** Every owned thing is disposed even when one throws; the first error is thrown afterwards. */
  dispose(): void {
    const owned = this.#owned;
    if (!owned) return;
    this.#owned = undefined;
    const errors: unknown[] = [];
    for (const thing of owned.reverse()) {
      try {
        thing.dispose();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
