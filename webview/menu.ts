import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Mention } from '../src/bridge/contract.ts';
import { visibleText } from '../src/session/visible.ts';
import { type IconName, iconOf } from './icons.ts';
import { t } from './strings.ts';

/** A line of the menu above the composer. */
export interface MenuItem {
  readonly label: string;
  readonly detail?: string;
  /** Text after the label, shown fainter. */
  readonly hint?: string;
  /** The text that replaces `from`..`to` once the item is chosen. */
  readonly insert: string;
  /** The mention behind the item, after an @. */
  readonly mention?: Mention;
}
export interface Menu {
  readonly kind: 'command' | 'mention' | 'hint';
  readonly items: readonly MenuItem[];
  readonly from: number;
  readonly to: number;
  /** The agent or a language service is still looking; the items are earlier ones, or our own. */
  readonly looking?: true;
  /** Why the agent has no suggestions; the items are our own. */
  readonly problem?: string;
}

export function optionId(index: number): string {
  return `menu-option-${index}`;
}
export const MENU_ID = 'composer-menu';

/** The list above the composer. Focus stays in the composer; aria-activedescendant names the active line. */
export function menuView(menu: Menu, at: number, choose: (index: number) => void): TemplateResult {
  const label = menu.kind === 'command' ? t('Commands') : t('Suggestions');
  // Long lists scroll, also by keys for who moves into them; the mouse leaves the focus in the composer.
  return html`<div class="menu" tabindex="0" @mousedown=${(event: Event) => event.preventDefault()}>
    ${menu.looking ? html`<div class="menu-note faint" role="status"><span class="menu-looking" aria-hidden="true"></span>${t('Looking at the files…')}</div>` : nothing}
    ${menu.problem === undefined ? nothing : html`<div class="menu-note" role="status">${t('{0} failed: {1}', t('Suggestions'), visibleText(menu.problem))}</div>`}
    <div role="listbox" id=${MENU_ID} aria-label=${label}>
    ${menu.items.map(
      (item, index) =>
        html`<div class="menu-item" role="option" id=${optionId(index)} aria-selected=${index === at ? 'true' : 'false'} aria-disabled=${isEmpty(item) ? 'true' : nothing}
          @click=${() => choose(index)}>
          <span class="menu-label">${item.mention ? iconOf(icons[item.mention.kind]) : nothing}<bdi>${item.label}</bdi>${item.hint ? html` <span class="menu-hint">${item.hint}</span>` : nothing}</span>
          ${item.detail ? html`<span class="menu-detail"><bdi>${item.detail}</bdi></span>` : nothing}
        </div>`,
    )}
    </div>
  </div>`;
}

/** True for an item whose context is empty now; it cannot be chosen. */
export function isEmpty({ mention }: MenuItem): boolean {
  return mention !== undefined && 'empty' in mention && mention.empty === true;
}

const icons: Readonly<Record<Mention['kind'], IconName>> = {
  file: 'file',
  folder: 'folder',
  symbol: 'symbol',
  selection: 'selection',
  problems: 'warning',
  changes: 'diff',
  terminal: 'execute',
  openEditors: 'copy',
  browse: 'clip',
};
