import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Ask } from '../../src/session/model.ts';
import { visibleText } from '../../src/session/visible.ts';
import { t } from '../strings.ts';

/** The name of the asker, when it is not the session's own agent. */
export function askerView(ask: Ask): TemplateResult | typeof nothing {
  const asker = ask.ours ? 'Parley' : ask.asker;
  return asker === undefined ? nothing : html`<p class="faint">${t('Asked by {0}', visibleText(asker))}</p>`;
}
