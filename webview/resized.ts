import { AsyncDirective, directive } from 'lit/async-directive.js';
import type { ElementPart, PartInfo } from 'lit/directive.js';
import { PartType } from 'lit/directive.js';
import { noChange } from 'lit/html.js';

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

/** On an element: calls the function when its size has changed, once however many elements it stands on. */
export const resized = directive(Resized);
