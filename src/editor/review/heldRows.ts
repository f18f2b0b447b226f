import { Emitter } from '../../base/emitter.ts';
import type { Disposable } from '../../base/lifetime.ts';

/** Milliseconds for which the list stays as it is after a button of one of its rows has decided. */
export const LIST_RESTS = 1000;
/** Milliseconds after which a row has been seen in its place, as the answers of an approval's card. */
export const UNSEEN = 500;

export type RowDecision = 'keep' | 'undo';

/**
 * Lets a press on a row's button count only for the row that the user saw. The editor runs such a button at once and draws none as not ready yet, unlike
 * an approval's card. So the list stays as it is for a second after a press: the row that was decided about says so in its place, where a second press
 * does nothing, and other rows can be pressed one after the other. A press on a row that came to its place just now is refused.
 */
export class HeldRows implements Disposable {
  readonly #changes = new Emitter<void>();
  /** Rows have another decision, or the list need not stay as it is any more. */
  readonly onChange = this.#changes.listen;
  readonly #now: () => number;
  readonly #held = new Map<string, RowDecision | 'under way'>();
  /** Since when each row is in its place. */
  #places: ReadonlyMap<string, { readonly index: number; readonly since: number }> = new Map();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** True while the list stays as it is. */
  get isHeld(): boolean {
    return this.#held.size > 0;
  }

  /** The decision about a row; `ids`: its own, and those of the rows that it is in. */
  decisionOf(ids: readonly string[]): RowDecision | undefined {
    const how = ids.map((id) => this.#held.get(id)).find((one) => one !== undefined);
    return how === 'under way' ? undefined : how;
  }

  /** The rows of the list now, from its top. */
  place(ids: readonly string[]): void {
    const [since, before] = [this.#now(), this.#places];
    // A list that has become shorter may have been scrolled by that.
    const stays = (id: string, index: number) => ids.length >= before.size && before.get(id)?.index === index;
    this.#places = new Map(ids.map((id, index) => [id, { index, since: (stays(id, index) ? before.get(id)?.since : undefined) ?? since }]));
  }

  /** Decides about the row with the first of the `ids`. False where the press was refused. `decide` resolves with false where nothing was decided. */
  async press(ids: readonly string[], how: RowDecision, decide: () => Promise<boolean>): Promise<boolean> {
    const [id = ''] = ids;
    if (ids.some((one) => this.#held.has(one))) return true;
    if (this.#now() - (this.#places.get(id)?.since ?? 0) < UNSEEN) return false;
    this.#held.set(id, 'under way');
    let isDecided = false;
    try {
      isDecided = await decide();
    } finally {
      if (isDecided) this.#held.set(id, how);
      else this.#held.delete(id);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#letGo(), LIST_RESTS);
      this.#changes.fire();
    }
    return true;
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#changes.dispose();
  }

  /** What is still under way ends with a rest of its own. */
  #letGo(): void {
    if ([...this.#held.values()].includes('under way')) return;
    this.#held.clear();
    this.#changes.fire();
  }
}
