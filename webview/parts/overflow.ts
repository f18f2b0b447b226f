import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isUnfolded, type View } from '../view.ts';

/** So many are drawn at first, and as many again with each press: a list of thousands would keep the view from drawing anything else. */
const AT_ONCE = 50;

/** How many of a list with this key are drawn by now. */
export function shownCount(view: View, key: string): number {
  let drawn = AT_ONCE;
  while (isUnfolded(view.memory, `${key}:past${drawn}`, false)) drawn += AT_ONCE;
  return drawn;
}

/** Under a list that goes on: a button that says how many more there are, and draws some of them. */
export function showMoreButton(view: View, key: string, total: number, text: (left: number) => string): TemplateResult | typeof nothing {
  const drawn = shownCount(view, key);
  if (total <= drawn) return nothing;
  return html`<button class="text-button" type="button" @click=${() => view.act.unfold(`${key}:past${drawn}`, true)}>${text(total - drawn)}</button>`;
}
