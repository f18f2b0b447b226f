import type { Ask, AskId, SessionId } from '../../session/model.ts';

/** One open ask and its session. */
export interface QueuedAsk {
  readonly sessionId: SessionId;
  readonly ask: Ask;
}
export type AskKey = string;

export function keyOf(sessionId: SessionId, askId: AskId): AskKey {
  return JSON.stringify([sessionId, askId]);
}

/**
 * Picks which open ask is shown, one after another, oldest first. It stores no facts about asks: `update` passes the open ones. Dismissing an ask
 * is not an answer; an ask that was dismissed or answered comes back only when the user requests it.
 */
export class AskQueue {
  #open: readonly QueuedAsk[] = [];
  #dismissed = new Set<AskKey>();
  /** The ask whose pick another quick input has closed, with what was dismissed with it, as long as the user has not gone on elsewhere. */
  #cover: { readonly key: AskKey; readonly dismissed: Set<AskKey> } | undefined;
  #shown: AskKey | undefined;
  #requested: AskKey | undefined;

  get open(): readonly QueuedAsk[] {
    return this.#open;
  }

  /** The open asks that were not dismissed, oldest first. */
  get waiting(): readonly QueuedAsk[] {
    return this.#open.filter((one) => !this.#dismissed.has(keyOfOpen(one)));
  }

  /** Keeps this ask from coming up by itself; the others still do. */
  dismiss(key: AskKey): void {
    if (this.#shown === key) this.#shown = undefined;
    this.#dismissed.add(key);
    this.#cover?.dismissed.delete(key);
  }

  get shown(): AskKey | undefined {
    return this.#shown;
  }

  /** Takes the asks open now, in any order; known ones come first. Forgets the ones that are gone. */
  update(open: readonly QueuedAsk[]): void {
    const keys = new Set(open.map(keyOfOpen));
    const known = new Map(this.#open.map((one, at) => [keyOfOpen(one), at]));
    const placeIn = (one: QueuedAsk) => known.get(keyOfOpen(one)) ?? known.size;
    this.#open = [...open].sort((a, b) => placeIn(a) - placeIn(b));
    this.#dismissed = new Set([...this.#dismissed].filter((key) => keys.has(key)));
    if (this.#shown !== undefined && !keys.has(this.#shown)) this.#shown = undefined;
    if (this.#requested !== undefined && !keys.has(this.#requested)) this.#requested = undefined;
  }

  /** The ask to show now: the requested one, otherwise the first that comes up by itself. */
  next(comesUp: (one: QueuedAsk) => boolean): QueuedAsk | undefined {
    if (this.#requested !== undefined) return this.#find(this.#requested);
    if (this.#shown !== undefined) return this.#find(this.#shown);
    return this.waiting.find(comesUp);
  }

  /** True when the user requested this ask; otherwise it appears by itself. */
  isRequested(one: QueuedAsk): boolean {
    return keyOfOpen(one) === this.#requested;
  }

  /** Marks this ask as the one on the screen. */
  show(one: QueuedAsk): void {
    this.#shown = keyOfOpen(one);
    this.#requested = undefined;
  }

  /**
   * The shown ask left the screen without an answer. Dismisses all waiting asks with it: showing the next one at once would close whatever the user
   * has just opened instead. `covered`: another quick input may have closed its pick.
   */
  dismissShown(covered?: AskKey): void {
    this.#cover = covered === undefined ? undefined : { key: covered, dismissed: new Set([covered, ...this.waiting.map(keyOfOpen)]) };
    this.#shown = undefined;
    this.#dismissed = new Set(this.#open.map(keyOfOpen));
  }

  /** The ask that comes back when the quick input closes that has closed its pick. */
  get covered(): AskKey | undefined {
    return this.#cover?.key;
  }

  /** What was covered stays dismissed. */
  uncover(): void {
    this.#cover = undefined;
  }

  /** Lets what was dismissed with the covered ask wait again, unless it was answered since. The covered ask; undefined when there is none. */
  comeBack(): AskKey | undefined {
    const cover = this.#cover;
    this.#cover = undefined;
    for (const key of cover?.dismissed ?? []) this.#dismissed.delete(key);
    return cover?.key;
  }

  /** An answer was sent; the ask is open until the agent has taken it. */
  answered(key: AskKey): void {
    this.dismiss(key);
  }

  /** Requests this ask now. False when it is not open any more. */
  request(key: AskKey): boolean {
    if (!this.#find(key)) return false;
    this.#requested = key;
    return true;
  }

  /** Requests all pending asks, oldest first. False when there are none. */
  requestAll(): boolean {
    this.#dismissed.clear();
    const first = this.#open[0];
    if (first && this.#shown === undefined) this.#requested = keyOfOpen(first);
    return first !== undefined;
  }

  /** The 1-based position among the open asks. */
  placeOf(key: AskKey): { readonly place: number; readonly of: number } {
    return { place: this.#open.findIndex((one) => keyOfOpen(one) === key) + 1, of: this.#open.length };
  }

  #find(key: AskKey): QueuedAsk | undefined {
    return this.#open.find((one) => keyOfOpen(one) === key);
  }
}

export function keyOfOpen(one: QueuedAsk): AskKey {
  return keyOf(one.sessionId, one.ask.id);
}
