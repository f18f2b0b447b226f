import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { SessionLine } from '../src/bridge/contract.ts';
import type { Mirror } from '../src/bridge/mirror.ts';
import { titleOf } from '../src/session/select.ts';
import { visibleText } from '../src/session/visible.ts';
import { iconOf } from './icons.ts';
import { t } from './strings.ts';
import type { Act, Popup } from './view.ts';

/** Which session this is, and the others. */
export function headerView(mirror: Mirror, act: Act, popup: Popup | undefined): TemplateResult {
  const { session, sessions } = mirror;
  const waiting = sessions.filter((line) => line.id !== mirror.active).reduce((sum, line) => sum + line.asks, 0);
  const open = popup?.kind === 'sessions';
  return html`<header class="header" @keydown=${(event: KeyboardEvent) => closeOnEscape(event, open, act)}>
    <h1 class="sr-only">Parley</h1>
    <button class="title-button" type="button" aria-expanded=${String(open)} title=${t('Sessions')} @click=${() => act.show(open ? undefined : { kind: 'sessions' })}>
      <bdi class="title">${session ? visibleText(titleOf(session)) || t('New session') : t('No session')}</bdi>${iconOf('down')}
    </button>
    ${waiting > 0 ? html`<button class="ghost small" type="button" title=${t('Waiting in other sessions')} @click=${() => act.show({ kind: 'sessions' })}>${t('{0} waiting', waiting)}</button>` : nothing}
    ${open ? listView(mirror, act) : nothing}
  </header>`;
}

function closeOnEscape(event: KeyboardEvent, open: boolean, act: Act): void {
  if (event.key !== 'Escape' || !open) return;
  event.stopPropagation();
  act.show(undefined);
  document.querySelector<HTMLElement>('.title-button')?.focus();
}

function listView(mirror: Mirror, act: Act): TemplateResult {
  return html`<div class="sessions" role="region" aria-label=${t('Sessions')}>
    <ul>
      ${mirror.sessions.toSorted((a, b) => b.at - a.at).map((line) => lineView(line, line.id === mirror.active, act))}
    </ul>
  </div>`;
}

function lineView(line: SessionLine, active: boolean, act: Act): TemplateResult {
  const title = visibleText(line.title) || t('New session');
  const go = () => {
    act.show(undefined);
    act.switchSession(line.id);
  };
  return html`<li class=${active ? 'session-line active' : 'session-line'}>
    <button class="session-button" type="button" aria-current=${active ? 'true' : nothing} @click=${go}>
      <span class="state state-${line.state}" aria-hidden="true"></span>
      <bdi class="session-title">${title}</bdi>
      <span class="faint session-agent"><bdi>${line.agent}</bdi> · ${line.asks > 0 ? html`<strong>${t('Waits for you')}</strong>` : stateText(line.state)}</span>
      ${line.asks > 0 ? html`<span class="badge" role="img" aria-label=${t('{0} waiting for you', line.asks)}>${line.asks}</span>` : nothing}
    </button>
    <button class="icon-button" type="button" title=${t('Close session')} aria-label=${t('Close session {0}', title)} @click=${() => act.closeSession(line.id)}>${iconOf('cross')}</button>
  </li>`;
}

function stateText(state: SessionLine['state']): string {
  switch (state) {
    case 'opening':
      return t('Starting');
    case 'ready':
      return t('Ready');
    case 'busy':
      return t('Working');
    case 'closed':
      return t('Ended');
  }
}
