import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { SessionLine } from '../src/bridge/contract.ts';
import type { Mirror } from '../src/bridge/mirror.ts';
import type { Session } from '../src/session/model.ts';
import { titleOf } from '../src/session/select.ts';
import { visibleText } from '../src/session/visible.ts';
import { iconOf } from './icons.ts';
import { t } from './strings.ts';
import type { Act } from './view.ts';

export interface HeaderState {
  readonly listOpen: boolean;
  toggleList(open: boolean): void;
}

/** Which session this is, the others, and a new one. */
export function headerView(mirror: Mirror, act: Act, state: HeaderState): TemplateResult {
  const { session, sessions } = mirror;
  const waiting = sessions.filter((line) => line.id !== mirror.active).reduce((sum, line) => sum + line.asks, 0);
  return html`<header class="header" @keydown=${(event: KeyboardEvent) => closeOnEscape(event, state)}>
    <h1 class="sr-only">Parley</h1>
    <button class="title-button" type="button" aria-expanded=${state.listOpen ? 'true' : 'false'} title=${t('Sessions')} @click=${() => state.toggleList(!state.listOpen)}>
      ${iconOf('down')}<bdi class="title">${session ? visibleText(titleOf(session)) || t('New session') : t('No session')}</bdi>
      ${waiting > 0 ? html`<span class="badge" role="img" aria-label=${t('{0} approvals wait in other sessions', waiting)}>${waiting}</span>` : nothing}
    </button>
    ${session ? agentView(session) : nothing}
    <button class="icon-button" type="button" title=${t('New session with another agent…')} aria-label=${t('New session with another agent…')} @click=${() => act.newSession({ pick: true })}>${iconOf('agent')}</button>
    ${state.listOpen ? listView(mirror, act, state) : nothing}
  </header>`;
}

function closeOnEscape(event: KeyboardEvent, state: HeaderState): void {
  if (event.key !== 'Escape' || !state.listOpen) return;
  event.stopPropagation();
  state.toggleList(false);
  document.querySelector<HTMLElement>('.title-button')?.focus();
}

function agentView({ agent, link }: Session): TemplateResult {
  const state = link.state === 'ready' ? t('Ready') : link.state === 'opening' ? t('Starting') : t('Ended');
  const own = [agent.own ?? agent.name, agent.version].filter(Boolean).join(' ');
  const title = visibleText([...new Set([agent.name, own, state])].join(' · '));
  return html`<span class="agent" title=${title}>
    <span class="state state-${link.state}" aria-hidden="true"></span><bdi>${visibleText(agent.name)}</bdi><span class="sr-only">, ${state}</span>
  </span>`;
}

function listView(mirror: Mirror, act: Act, state: HeaderState): TemplateResult {
  return html`<div class="sessions" role="region" aria-label=${t('Sessions')}>
    ${
      mirror.sessions.length === 0
        ? html`<p class="faint">${t('No sessions yet.')}</p>`
        : html`<ul>
            ${mirror.sessions.toSorted((a, b) => b.at - a.at).map((line) => lineView(line, line.id === mirror.active, act, state))}
          </ul>`
    }
  </div>`;
}

function lineView(line: SessionLine, active: boolean, act: Act, state: HeaderState): TemplateResult {
  const title = visibleText(line.title) || t('New session');
  const go = () => {
    state.toggleList(false);
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
