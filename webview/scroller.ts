import { AsyncDirective, directive } from 'lit/async-directive.js';
import { type ElementPart, type PartInfo, PartType } from 'lit/directive.js';
import { noChange } from 'lit/html.js';

/** Pixels from the end that still count as the end. */
const NEAR = 24;

export interface ScrollAnchor {
  readonly turnId: string;
  readonly offset: number;
}

/** Keeps the user's place in a growing box: pinned to its end, or at a turn they scrolled up to. */
export class Scroller {
  readonly #box: HTMLElement;
  #pinned = true;
  #top = 0;

  constructor(box: HTMLElement) {
    this.#box = box;
  }

  get pinned(): boolean {
    return this.#pinned;
  }

  get nearTop(): boolean {
    return this.#box.scrollTop < 200;
  }

  /** Scrolls to the end and stays there. */
  pin(): void {
    this.#pinned = true;
    this.resized();
  }

  /** Handles a changed size of the box or its content. */
  resized(): void {
    if (!this.#pinned) return;
    this.#box.scrollTop = this.#box.scrollHeight;
    this.#top = this.#box.scrollTop;
  }

  /** Handles a scroll. True when it may have changed the place or the pin. */
  scrolled(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    const was = this.#pinned;
    // Growth moves the end away without scrolling; only scrolling up is the user's wish.
    if (scrollHeight - scrollTop - clientHeight <= NEAR) this.#pinned = true;
    else if (scrollTop < this.#top - 1) this.#pinned = false;
    this.#top = scrollTop;
    return was !== this.#pinned || !this.#pinned;
  }

  /** The turn at the upper edge. */
  get place(): ScrollAnchor | undefined {
    const edge = this.#box.getBoundingClientRect().top;
    for (const turn of this.#box.querySelectorAll<HTMLElement>('[data-turn]')) {
      const { top, bottom } = turn.getBoundingClientRect();
      if (bottom > edge) return { turnId: turn.dataset.turn ?? '', offset: Math.round(edge - top) };
    }
    return undefined;
  }

  restore({ turnId, offset }: ScrollAnchor): void {
    const turn = this.#box.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turnId)}"]`);
    if (!turn) return;
    this.#pinned = false;
    const edge = this.#box.getBoundingClientRect().top;
    this.#box.scrollTop += turn.getBoundingClientRect().top - edge + offset;
    this.#top = this.#box.scrollTop;
  }
}

const listeners = new WeakMap<Element, () => void>();
const sizes =
  typeof ResizeObserver === 'function'
    ? new ResizeObserver((entries) => {
        for (const run of new Set(entries.map(({ target }) => listeners.get(target)))) run?.();
      })
    : undefined;

class Resized extends AsyncDirective {
  #element: Element | undefined;

  constructor(info: PartInfo) {
    super(info);
    if (info.type !== PartType.ELEMENT) throw new Error('resized() belongs on an element');
  }

  override update({ element }: ElementPart, [run]: [run: () => void]): typeof noChange {
    listeners.set(element, run);
    if (this.#element === element) return noChange;
    this.#element = element;
    sizes?.observe(element);
    return noChange;
  }

  render(_run: () => void): typeof noChange {
    return noChange;
  }

  protected override disconnected(): void {
    if (this.#element) sizes?.unobserve(this.#element);
  }

  protected override reconnected(): void {
    if (this.#element) sizes?.observe(this.#element);
  }
}

/** Element directive: calls the function when its size has changed, once however many elements use it. */
export const resized = directive(Resized);
