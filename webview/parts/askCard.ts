import { ref } from 'lit/directives/ref.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Ask } from '../../src/session/model.ts';
import { visibleText } from '../../src/session/visible.ts';
import { guarded } from '../cardGuard.ts';
import { clock } from '../clock.ts';
import { iconOf } from '../icons.ts';
import { commandTitle, t } from '../strings.ts';
import type { View } from '../view.ts';

// The parts that the cards of all asks share.

/** On the card's element: presses on its answers count once they could be read. */
export function guardOf({ session, popup }: View, ask: Ask): unknown {
  return guarded(ask, session.cwd, popup?.kind);
}

/** The name of the asker, when it is not the session's own agent. */
export function askerView(ask: Ask): TemplateResult | typeof nothing {
  const asker = ask.ours ? 'Parley' : ask.asker;
  return asker === undefined ? nothing : html`<p class="faint">${t('Asked by {0}', visibleText(asker))}</p>`;
}

/** The time left to answer, where the agent times out. Read out once, not every second. */
export function countdownView(until: number | undefined): TemplateResult | typeof nothing {
  if (until === undefined) return nothing;
  const time = new Date(until).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return html`<p class="faint time-left">
    <span class="sr-only">${t('Expires: {0}', time)}</span>
    <span aria-hidden="true" title=${time}>${clock(until, (elapsed) => leftText(-elapsed))}</span>
  </p>`;
}

/** Formats the remaining milliseconds in words. */
function leftText(left: number): string {
  const seconds = Math.max(0, Math.ceil(left / 1000));
  return t('Expires in {0}', `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`);
}

/** Which of several asks is shown, and how to go on to the next. */
export interface Paging {
  readonly place: number;
  readonly of: number;
  readonly next: () => void;
}

export function pagingView(paging: Paging | undefined): TemplateResult | typeof nothing {
  if (!paging || paging.of < 2) return nothing;
  const label = commandTitle('Show Pending Approvals');
  return html`<button class="ghost small paging" type="button" title=${label} @click=${paging.next}>${t('{0} of {1}', paging.place, paging.of)}<span class="sr-only">, ${label}</span></button>`;
}

/** Pixels below the edge that count as a border, not as a line. */
const SLACK = 4;

/** A scrolling box. While more lies below its edge, a button under it says so and scrolls there. */
export function scrollBox(content: unknown): TemplateResult {
  return html`<div class="ask-detail" ${ref(watch)}>${content}</div>
    <button class="text-button more-below" type="button" @click=${goDown}>${iconOf('arrowDown')}${t('More below')}</button>`;
}

/** Scrolls down by most of the visible height, so that the current line stays in sight. */
function goDown(event: Event): void {
  const box = (event.currentTarget as HTMLElement).previousElementSibling;
  if (box) box.scrollTop += box.clientHeight * 0.8;
}

/** The warnings of a card with the button that shows them whole; `folded` in `look`: on one line, whose end may be cut. */
export function warningLine(look: string, content: unknown): TemplateResult {
  return html`<div class="risks-box ${look}" ${ref(watchLine)}>${content}</div>`;
}

/** Marks a folded line `cut` while it does not fit. */
function watchLine(line: Element | undefined): void {
  if (!line) return;
  const update = () => {
    // Measured without the button, which takes room.
    line.classList.remove('cut');
    const isCut = [...line.querySelectorAll('.risks')].some((one) => one.scrollWidth > one.clientWidth);
    line.classList.toggle('cut', isCut);
  };
  if (typeof ResizeObserver !== 'function') return update();
  const sizes = new ResizeObserver(update);
  sizes.observe(line);
  queueMicrotask(update);
}

/** Marks the box `cut` while there is more below; its listeners go with it. */
function watch(box: Element | undefined): void {
  if (!box) return;
  const update = () => {
    box.classList.toggle('cut', box.scrollHeight - box.scrollTop - box.clientHeight > SLACK);
  };
  box.addEventListener('scroll', update, { passive: true });
  if (typeof ResizeObserver !== 'function') return update();
  const sizes = new ResizeObserver(update);
  sizes.observe(box);
  // The content is drawn after the box, and may change later.
  const follow = () => {
    for (const one of box.children) sizes.observe(one);
    update();
  };
  new MutationObserver(follow).observe(box, { childList: true });
  queueMicrotask(follow);
}
