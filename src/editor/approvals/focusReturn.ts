import type { AskKey } from './queue.ts';

type WayBack = () => Promise<void>;

/** Remembers where the keyboard was before a pick took it. The editor itself returns to its own parts only, never to a webview. */
export class FocusReturn {
  #state:
    | { readonly at: 'home' }
    /** A pick has the keyboard, or an answer is being sent. */
    | { readonly at: 'pick'; readonly back: WayBack | undefined }
    /** The pick of that ask has left without an answer; only Esc and an answer to it lead back from there. */
    | { readonly at: 'aside'; readonly ask: AskKey; readonly back: WayBack | undefined }
    /** The keyboard is returning: a pick that came up now would lose it. */
    | { readonly at: 'returning' } = { at: 'home' };

  get returning(): boolean {
    return this.#state.at === 'returning';
  }

  /** True while a pick has the keyboard, or the keyboard is returning from one. */
  get away(): boolean {
    return this.#state.at === 'pick' || this.#state.at === 'returning';
  }

  /** A pick comes up. `origin` tells where the keyboard is, unless an earlier pick has taken it from there. */
  leave(origin: () => WayBack | undefined): void {
    if (this.#state.at !== 'pick' || !this.#state.back) this.#state = { at: 'pick', back: origin() };
  }

  /** The pick has left without an answer; a user who opened something else over it is there by now. */
  setAside(ask: AskKey): void {
    if (this.#state.at === 'pick') this.#state = { at: 'aside', ask, back: this.#state.back };
  }

  /** The answers come back from what they were left to look at: the way back is still the one from before. */
  resume(ask: AskKey): void {
    if (this.#state.at === 'aside' && this.#state.ask === ask) this.#state = { at: 'pick', back: this.#state.back };
  }

  /** The pick was removed: the keyboard stays where it is. */
  forget(): void {
    if (this.#state.at === 'pick') this.#state = { at: 'home' };
  }

  /** Returns the keyboard after an answer, or after Esc. Settles when it has arrived. */
  async goBack(from: 'pick' | 'aside'): Promise<void> {
    if (this.#state.at !== from) return;
    const { back } = this.#state;
    if (!back) {
      this.#state = { at: 'home' };
      return;
    }
    this.#state = { at: 'returning' };
    await back();
    this.#state = { at: 'home' };
  }
}
