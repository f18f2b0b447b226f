import { ref } from 'lit/directives/ref.js';
import { html, type TemplateResult } from 'lit/html.js';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';

/** Less than this below the edge is a border, not a line, in pixels. */
const SLACK = 4;

/** A box that scrolls by itself. While more lies below its edge, a button under it says so and leads there. */
export function scrollBox(content: unknown): TemplateResult {
  return html`<div class="ask-detail" ${ref(watch)}>${content}</div>
    <button class="text-button more-below" type="button" @click=${goDown}>${iconOf('arrowDown')}${t('More below')}</button>`;
}

/** How far the box goes down at once: most of what is seen of it, so that the line one was at stays in sight. */
function goDown(event: Event): void {
  const box = (event.currentTarget as HTMLElement).previousElementSibling;
  if (box) box.scrollTop += box.clientHeight * 0.8;
}

/** The box is marked `cut` as long as there is more below; listeners go with it. */
function watch(box: Element | undefined): void {
  if (!box) return;
  const look = () => {
    box.classList.toggle('cut', box.scrollHeight - box.scrollTop - box.clientHeight > SLACK);
  };
  box.addEventListener('scroll', look, { passive: true });
  if (typeof ResizeObserver !== 'function') return look();
  const sizes = new ResizeObserver(look);
  sizes.observe(box);
  // What is in it is drawn after it, and may change later.
  const follow = () => {
    for (const one of box.children) sizes.observe(one);
    look();
  };
  new MutationObserver(follow).observe(box, { childList: true });
  queueMicrotask(follow);
}
