import { setTimeout as pause } from 'node:timers/promises';
import type { SessionEvent } from '../../session/events.ts';
import type { SessionId } from '../../session/model.ts';
import { type AskKey, keyOf } from './queue.ts';

/* Decides whether a key press is meant for what is on the screen, and moves the focus after an answer. */

/**
 * Milliseconds without a key after which presses are meant for the pick on the screen: longer than a key that is already meant for elsewhere can be
 * held back, and than the pauses of someone who types.
 */
const QUIET = 500;
/** The wait after a key that was surely meant for elsewhere, in waits: who searches for keys rests longer between them. */
const STRAY = 3;

/** Ignores keys that were meant for whatever had the focus before: each one restarts the wait. None counts before `begin`. */
export class KeyGuard {
  readonly #now: () => number;
  readonly #quiet: number;
  /** The time from which keys count; undefined before `begin`. */
  #from: number | undefined;

  constructor(quiet = QUIET, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#quiet = quiet;
  }

  /** The ask is on the screen. */
  begin(): void {
    this.#from = this.#now() + this.#quiet;
  }

  /** Another ask follows, which is not on the screen yet. */
  stop(): void {
    this.#from = undefined;
  }

  /** Handles a key. True when it counts. */
  press(): boolean {
    if (this.left === 0) return true;
    this.restart();
    return false;
  }

  restart(): void {
    this.#wait(this.#quiet);
  }

  /** Handles a key that can only have been meant for elsewhere. */
  stray(): void {
    this.#wait(STRAY * this.#quiet);
  }

  /** Milliseconds until keys count, 0 when they do; undefined before `begin`. */
  get left(): number | undefined {
    return this.#from === undefined ? undefined : Math.max(0, this.#from - this.#now());
  }

  #wait(milliseconds: number): void {
    if (this.#from !== undefined) this.#from = Math.max(this.#from, this.#now() + milliseconds);
  }
}

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

  onEvent(sessionId: SessionId, event: SessionEvent): void {
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

/** Milliseconds that an answered pick keeps the keyboard while its turn goes on. */
const NEXT_WITHIN = 300;

/** Settles when the next ask of an agent would be there, if it asks again at once, or with the first of these. */
export async function untilNextAsk(...sooner: readonly Promise<void>[]): Promise<void> {
  await Promise.race([...sooner, pause(NEXT_WITHIN, undefined, { ref: false })]);
}

/** Milliseconds that the keyboard may take to return. */
const LONGEST_RETURN = 3000;

type RestoreFocus = () => Promise<void>;
type FocusState =
  | { readonly at: 'home' }
  /** A pick has the keyboard, or an answer is being sent. */
  | { readonly at: 'pick'; readonly back: RestoreFocus | undefined; readonly aside: RestoreFocus | undefined }
  /** The pick of that ask has left without an answer; only Esc and an answer to it lead back from there. */
  | { readonly at: 'dismissed'; readonly ask: AskKey; readonly back: RestoreFocus | undefined; readonly aside: RestoreFocus | undefined }
  /** The keyboard is returning: a pick or diff that came up now would lose it. */
  | { readonly at: 'returning' };

/** Remembers where the keyboard was before a pick took it. The editor itself returns to its own parts only, never to a webview. */
export class FocusReturn {
  #state: FocusState = { at: 'home' };

  get returning(): boolean {
    return this.#state.at === 'returning';
  }

  /** True while a pick has the keyboard, or the keyboard is returning from one. */
  get away(): boolean {
    return this.#state.at === 'pick' || this.#state.at === 'returning';
  }

  /** True while a pick has the keyboard and its place before is one that the editor does not return to by itself. */
  get knowsBack(): boolean {
    return this.#state.at === 'pick' && this.#state.back !== undefined;
  }

  /**
   * A pick comes up. `origin` tells where the keyboard is, unless an earlier pick has taken it from there. `aside`: the way out of the diff that comes up
   * with the pick, for Esc, after which that stays open.
   */
  leave(origin: () => RestoreFocus | undefined, aside?: RestoreFocus): void {
    if (this.#state.at !== 'pick') this.#state = { at: 'pick', back: origin(), aside };
    else if (!this.#state.back) this.#state = { at: 'pick', back: origin(), aside: this.#state.aside ?? aside };
  }

  /** The pick has left without an answer; a user who opened something else over it is there by now. `looks`: the user has chosen to go into the diff. */
  dismissed(ask: AskKey, looks: boolean): void {
    if (this.#state.at !== 'pick') return;
    const { back, aside } = this.#state;
    this.#state = { at: 'dismissed', ask, back, aside: looks ? undefined : aside };
  }

  /** The answers come back from what they were left to look at: the way back is still the one from before. */
  resume(ask: AskKey): void {
    if (this.#state.at !== 'dismissed' || this.#state.ask !== ask) return;
    const { back, aside } = this.#state;
    this.#state = { at: 'pick', back, aside };
  }

  /** The pick was removed: the keyboard stays where it is. */
  forget(): void {
    if (this.#state.at === 'pick') this.#state = { at: 'home' };
  }

  /** Returns the keyboard after an answer, or after Esc. Settles when it has arrived. */
  async goBack(from: 'pick' | 'dismissed'): Promise<void> {
    if (this.#state.at !== from) return;
    const { back = from === 'dismissed' ? this.#state.aside : undefined } = this.#state;
    if (!back) {
      this.#state = { at: 'home' };
      return;
    }
    await this.#returning(back, { at: 'home' });
  }

  /** Returns the keyboard from a diff that came up in place of a pick. A pick that was dismissed before keeps its own way back. */
  async goBackBy(back: RestoreFocus | undefined): Promise<void> {
    if (back) await this.#returning(back, this.#state.at === 'dismissed' ? this.#state : { at: 'home' });
  }

  async #returning(back: RestoreFocus, then: FocusState): Promise<void> {
    this.#state = { at: 'returning' };
    try {
      // Where the editor does not answer, what comes next must not wait behind a pick that is answered.
      await Promise.race([back(), pause(LONGEST_RETURN, undefined, { ref: false })]);
    } finally {
      this.#state = then;
    }
  }
}
