import { html, nothing, type TemplateResult } from 'lit/html.js';
import { t } from '../strings.ts';

/** Which of several asks is shown, and how to go on to the next. */
export interface Paging {
  readonly place: number;
  readonly of: number;
  readonly next: () => void;
}

export function pagingView(paging: Paging | undefined): TemplateResult | typeof nothing {
  if (!paging || paging.of < 2) return nothing;
  const label = t('Show the next one that waits');
  return html`<button class="ghost small paging" type="button" title=${label} @click=${paging.next}>${t('{0} of {1}', paging.place, paging.of)}<span class="sr-only">, ${label}</span></button>`;
}
