import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isUnfolded, type View } from '../view.ts';

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
