import type { ToView } from '../src/bridge/contract.ts';

/** Milliseconds between two reports. */
const EVERY = 250;

/** Tells the host that the user is typing in the page, a few times a second at most, so that nothing takes the focus from them. */
export function reportTyping(root: HTMLElement, report: () => void, now: () => number = () => performance.now()): void {
  let last = Number.NEGATIVE_INFINITY;
  root.addEventListener('input', () => {
    if (now() - last < EVERY) return;
    last = now();
    report();
  });
  // Sending ends typing for the host: what is typed after it is reported at once.
  const forget = ({ key }: KeyboardEvent) => {
    if (key === 'Enter') last = Number.NEGATIVE_INFINITY;
  };
  root.addEventListener('keydown', forget, true);
}

/** Milliseconds after the last key in which the user counts as typing. */
const TYPES = 1000;

/** Knows whether the user types into a field of the page, and keeps back messages of the host that would end a composition of an input method. */
export class TypingGuard {
  /** When the user last typed here, since the page got the focus. */
  #typedAt = Number.NEGATIVE_INFINITY;
  #composingIn: EventTarget | null = null;
  #held: readonly ToView[] = [];

  constructor() {
    document.addEventListener('input', () => {
      this.#typedAt = performance.now();
    });
    window.addEventListener('blur', () => {
      this.#typedAt = Number.NEGATIVE_INFINITY;
    });
    document.addEventListener('compositionstart', ({ target }) => {
      this.#composingIn = target;
    });
    document.addEventListener('compositionend', () => {
      this.#composingIn = null;
    });
  }

  /** True while the user types into a field of the page. */
  get now(): boolean {
    const isLate = performance.now() - this.#typedAt >= TYPES;
    return document.hasFocus() && document.activeElement !== document.body && (this.#isComposing || !isLate);
  }

  /** Returns the messages to handle now, in their order: none while one waits for the end of a composition. `interrupts`: this one would end it. */
  pass(message: ToView, interrupts: boolean): readonly ToView[] {
    if (this.#isComposing && !interrupts && this.#held.length === 0) return [message];
    this.#held = [...this.#held, message];
    return this.release();
  }

  /** Returns what was kept back, once there is no composition. */
  release(): readonly ToView[] {
    const held = this.#held;
    if (this.#isComposing) return [];
    this.#held = [];
    return held;
  }

  /** A field that has left the page never tells of the end. */
  get #isComposing(): boolean {
    return this.#composingIn !== null && this.#composingIn === document.activeElement;
  }
}

/** Milliseconds that the editor waits for the second key of a shortcut. */
const CHORD = 5000;

/** Keeps the second key of the editor's shortcuts, which begin with Ctrl+K or Cmd+K, from being typed into the page: the editor receives it all the same. */
export function ignoreChords(target: EventTarget, now: () => number = () => performance.now()): void {
  let begun = Number.NEGATIVE_INFINITY;
  target.addEventListener(
    'keydown',
    (event) => {
      const { key, ctrlKey, metaKey } = event as KeyboardEvent;
      if (['Control', 'Meta', 'Shift', 'Alt'].includes(key)) return;
      const isSecond = now() - begun < CHORD;
      if (isSecond && key.length === 1) event.preventDefault();
      begun = !isSecond && key.toLowerCase() === 'k' && (ctrlKey || metaKey) ? now() : Number.NEGATIVE_INFINITY;
    },
    true,
  );
  // The second key went elsewhere; the next one here is typed.
  target.addEventListener('blur', () => {
    begun = Number.NEGATIVE_INFINITY;
  });
}
