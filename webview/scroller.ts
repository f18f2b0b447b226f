/** How near the end still counts as the end, in pixels. */
const NEAR = 24;

export interface Place {
  readonly turnId: string;
  readonly offset: number;
}

/**
 * Keeps a scroller at its end while things grow, until the user scrolls up; scrolls at most once a frame, whatever grew.
 */
export class Scroller {
  readonly #box: HTMLElement;
  readonly #changed: () => void;
  #pinned = true;
  #top = 0;
  #watch: ResizeObserver | undefined;

  /** `content` is the one child of `box`; `changed` hears when the place or the pin may have changed. */
  constructor(box: HTMLElement, content: HTMLElement, changed: () => void) {
    this.#box = box;
    this.#changed = changed;
    box.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    if (typeof ResizeObserver !== 'function') return;
    this.#watch = new ResizeObserver(() => this.#pinned && this.#toEnd());
    this.#watch.observe(content);
    this.#watch.observe(box);
  }

  stop(): void {
    this.#watch?.disconnect();
  }

  get pinned(): boolean {
    return this.#pinned;
  }

  get nearTop(): boolean {
    return this.#box.scrollTop < 200;
  }

  /** Goes to the end and stays there. */
  pin(): void {
    this.#pinned = true;
    this.#toEnd();
    this.#changed();
  }

  /** The turn at the upper edge. */
  get place(): Place | undefined {
    const edge = this.#box.getBoundingClientRect().top;
    for (const turn of this.#box.querySelectorAll<HTMLElement>('[data-turn]')) {
      const { top, bottom } = turn.getBoundingClientRect();
      if (bottom > edge) return { turnId: turn.dataset.turn ?? '', offset: Math.round(edge - top) };
    }
    return undefined;
  }

  restore({ turnId, offset }: Place): void {
    const turn = this.#box.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turnId)}"]`);
    if (!turn) return;
    this.#pinned = false;
    const edge = this.#box.getBoundingClientRect().top;
    this.#box.scrollTop += turn.getBoundingClientRect().top - edge + offset;
    this.#top = this.#box.scrollTop;
  }

  #toEnd(): void {
    this.#box.scrollTop = this.#box.scrollHeight;
    this.#top = this.#box.scrollTop;
  }

  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    const was = this.#pinned;
    // Growth moves the end away without scrolling; only going up is the user's wish.
    if (scrollHeight - scrollTop - clientHeight <= NEAR) this.#pinned = true;
    else if (scrollTop < this.#top - 1) this.#pinned = false;
    this.#top = scrollTop;
    if (was !== this.#pinned || !this.#pinned) this.#changed();
  }
}
