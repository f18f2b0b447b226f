import type { SessionEvent } from '../../session/events.ts';
import type { SessionId } from '../../session/model.ts';
import { type AskKey, keyOf } from './queue.ts';

/** Milliseconds within which a question counts as the replacement of a withdrawn one. */
const IN_ITS_PLACE = 300;
/** Milliseconds in which a press on the replacement was meant for the withdrawn one. */
const UNREAD = 500;

/** Tracks questions that just replaced an unanswered one: a press at that moment was not meant for them. */
export class ClickGuard {
  readonly #goneAt = new Map<SessionId, number>();
  readonly #until = new Map<AskKey, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  heard(sessionId: SessionId, event: SessionEvent): void {
    if (event.type === 'ask.closed') {
      this.#until.delete(keyOf(sessionId, event.askId));
      if (event.how !== 'answered') this.#goneAt.set(sessionId, this.#now());
    } else if (event.type === 'ask.opened' && this.#now() - (this.#goneAt.get(sessionId) ?? Number.NEGATIVE_INFINITY) < IN_ITS_PLACE) {
      this.#until.set(keyOf(sessionId, event.ask.id), this.#now() + UNREAD);
    }
  }

  has(key: AskKey): boolean {
    return this.#now() < (this.#until.get(key) ?? Number.NEGATIVE_INFINITY);
  }
}
