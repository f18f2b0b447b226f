import { html, nothing, type TemplateResult } from 'lit/html.js';
import { drawable } from '../drawable.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';

// Long content is shown in part until the user unfolds the rest.

export interface FoldOptions {
  /** Identifies the same thing across reloads. */
  readonly key: string;
  readonly summary: unknown;
  readonly body: () => unknown;
  /** Open until the user changes it. */
  readonly open?: boolean;
  readonly look?: string;
}

/** A foldable section. Its body does not exist while it is closed. */
export function fold(view: View, { key, summary, body, open: usually = false, look = '' }: FoldOptions): TemplateResult {
  const open = isUnfolded(view.memory, key, usually);
  const toggled = (event: Event) => {
    const now = (event.currentTarget as HTMLDetailsElement).open;
    if (now !== open) view.act.unfold(key, now);
  };
  return html`<details class="fold ${look}" ?open=${open} @toggle=${toggled}>
    <summary>${summary}</summary>
    ${open ? html`<div class="fold-body">${body()}</div>` : nothing}
  </details>`;
}

/** Items drawn at first, and added with each press: a list of thousands would keep the view from drawing anything else. */
const AT_ONCE = 50;

/** Number of items drawn so far of the list with this key. */
export function shownCount(view: View, key: string): number {
  let drawn = AT_ONCE;
  while (isUnfolded(view.memory, `${key}:past${drawn}`, false)) drawn += AT_ONCE;
  return drawn;
}

/** A button below a truncated list that says how many more items there are, and draws some of them. */
export function showMoreButton(view: View, key: string, total: number, text: (left: number) => string): TemplateResult | typeof nothing {
  const drawn = shownCount(view, key);
  if (total <= drawn) return nothing;
  return html`<button class="text-button" type="button" @click=${() => view.act.unfold(`${key}:past${drawn}`, true)}>${text(total - drawn)}</button>`;
}

/** How much of a text is shown first. */
interface Beginning {
  readonly lines: number;
  readonly characters: number;
}
const BEGINNING: Beginning = { lines: 20, characters: 4000 };
/** A message of the user leaves two thirds of a narrow view to its answer. */
export const PROMPT_BEGINNING: Beginning = { lines: 12, characters: 600 };
/** Most UTF-16 units put into the page. */
const LONGEST = 400_000;

/** Text that keeps its line breaks; a long one shows its beginning first. `key` remembers which ones are shown whole. `draw`: draws what is shown. */
export function plainText(
  view: View,
  key: string,
  text: string,
  draw: (shown: string) => unknown = (shown) => shown,
  beginning = BEGINNING,
): TemplateResult {
  const cut = cutAt(text, beginning);
  const whole = cut >= text.length || isUnfolded(view.memory, key, false);
  const most = whole ? drawable(text, LONGEST) : cut;
  const shown = text.slice(0, most);
  const more = cut < text.length;
  return html`<pre class="plain" tabindex="0" dir="auto">${draw(shown)}${whole && most < text.length ? notShown(text.length - most) : nothing}</pre>
    ${
      more
        ? html`<button class="text-button" type="button" @click=${() => view.act.unfold(key, !whole)}>
            ${whole ? t('Show less') : moreText(countLines(text) - countLines(shown))}
          </button>`
        : nothing
    }`;
}

/** Says how much of a text is too much for the page. */
export function notShown(units: number): TemplateResult {
  return html`<span class="not-shown">… ${t('{0} characters', units)} …</span>`;
}

/** The label of a button that shows more lines, or the rest of a line. */
export function moreText(lines: number): string {
  return lines < 1 ? t('Show all') : t('Show {0} more {0|line|lines}', lines);
}

function cutAt(text: string, { lines, characters }: Beginning): number {
  let at = -1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf('\n', at + 1);
    if (at < 0) return drawable(text, characters);
  }
  return Math.min(at, drawable(text, characters));
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
