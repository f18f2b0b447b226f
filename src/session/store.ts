import { Emitter, type Listen } from '../base/emitter.ts';
import type { Disposable } from '../base/lifetime.ts';
import type { SessionEvent } from './events.ts';
import type { Session } from './model.ts';
import { reduce } from './reduce.ts';

export interface StoreChange {
  readonly seq: number;
  readonly event: SessionEvent;
  readonly before: Session;
  readonly now: Session;
}

/** A session, the number of the last event that changed it, and its listeners. */
export class Store implements Disposable {
  #now: Session;
  #seq = 0;
  readonly #changes = new Emitter<StoreChange>();
  readonly onChange: Listen<StoreChange> = this.#changes.listen;

  constructor(start: Session, seq = 0) {
    this.#now = start;
    this.#seq = seq;
  }

  get now(): Session {
    return this.#now;
  }

  get seq(): number {
    return this.#seq;
  }

  /** False when the event applied to nothing: it gets no number, and listeners are not called. */
  apply(event: SessionEvent): boolean {
    const before = this.#now;
    const now = reduce(before, event);
    if (now === before) return false;
    this.#now = now;
    this.#seq += 1;
    this.#changes.fire({ seq: this.#seq, event, before, now });
    return true;
  }

  dispose(): void {
    this.#changes.dispose();
  }
}
