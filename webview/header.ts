import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Mirror } from '../src/bridge/mirror.ts';
import { titleOf } from '../src/session/select.ts';
import { visibleText } from '../src/session/visible.ts';
import { iconOf } from './icons.ts';
import { openSessions, TITLE_ID } from './sessions.ts';
import { t } from './strings.ts';
import type { Act } from './view.ts';

/** Which session this is, and how many requests wait in others; both lead to the list of sessions. */
export function headerView({ session, sessions, active }: Mirror, act: Act): TemplateResult {
  const waiting = sessions.filter((line) => line.id !== active).reduce((sum, line) => sum + line.asks, 0);
  return html`<header class="header">
    <h1 class="sr-only">Parley</h1>
    <button class="title-button" type="button" id=${TITLE_ID} aria-haspopup="dialog" title=${t('Sessions')} @click=${() => openSessions(act)}>
      <bdi class="title">${(session && visibleText(titleOf(session))) || t('New session')}</bdi>${iconOf('down')}
    </button>
    ${waiting > 0 ? html`<button class="ghost small" type="button" @click=${() => openSessions(act)}>${t('{0} waiting', waiting)}</button>` : nothing}
  </header>`;
}
