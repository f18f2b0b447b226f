import { Emitter } from '../../base/emitter.ts';
import type { Disposable } from '../../base/lifetime.ts';

/** Milliseconds in which an editor that heard of a change asks for its lenses: it waits a quarter of a second itself. */
const ASKED_BY = 1000;
/** An editor that shows no lenses never asks. */
const MOST_TOLD = 3;

/**
 * Tells the editors that their lenses have changed, and tells those that do not ask for them again: an editor forgets to where the keyboard leaves its
 * text before it has asked.
 */
export class LensChanges implements Disposable {
  readonly #changes = new Emitter<void>();
  readonly onChange = this.#changes.listen;
  /** Addresses of documents that were not asked about since. */
  #waiting = new Set<string>();
  #again: NodeJS.Timeout | undefined;

  /** `shown`: addresses of the documents on the screen whose lenses may have changed. */
  tell(shown: Iterable<string>): void {
    this.#tell(shown, MOST_TOLD);
  }

  /** An editor asks for the lenses of that document. */
  asked(address: string): void {
    this.#waiting.delete(address);
  }

  dispose(): void {
    clearTimeout(this.#again);
    this.#changes.dispose();
  }

  #tell(shown: Iterable<string>, most: number): void {
    clearTimeout(this.#again);
    this.#waiting = new Set(shown);
    this.#changes.fire();
    if (this.#waiting.size === 0 || most === 1) return;
    this.#again = setTimeout(() => this.#waiting.size > 0 && this.#tell(this.#waiting, most - 1), ASKED_BY);
  }
}
