import { keyed } from 'lit/directives/keyed.js';
import { repeat } from 'lit/directives/repeat.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { LONGEST_TITLE, type SessionLine } from '../src/bridge/contract.ts';
import type { Mirror } from '../src/bridge/mirror.ts';
import { timeLabel } from '../src/session/days.ts';
import { titleOf } from '../src/session/select.ts';
import { currentLines, groupedByDay, sortedLines } from '../src/session/sessionGroups.ts';
import { fileWords, stateWords } from '../src/session/sessionWords.ts';
import { visibleText } from '../src/session/visible.ts';
import { iconOf } from './icons.ts';
import { commandTitle, t } from './strings.ts';
import type { Act, Popup } from './view.ts';

const SEARCH_ID = 'sessions-search';
const TITLE_ID = 'sessions-open';

type SheetState = Extract<Popup, { kind: 'sessions' }>;

function openSessions(act: Act): void {
  act.show({ kind: 'sessions', query: '' });
  act.focus(SEARCH_ID);
  act.findSessions('');
}

/** Focuses the element with this id, or else the search. */
export function focusSessions(id: string): void {
  const again = document.getElementById(id) ?? document.getElementById(SEARCH_ID);
  // The buttons of a row show while the keyboard is in it.
  again?.closest('.session-line')?.querySelector<HTMLElement>('.session-button')?.focus();
  again?.focus();
}

function close(act: Act): void {
  act.show(undefined);
  act.focus(TITLE_ID);
}

/** The name of this session, that of its agent where the composer has no room for it, and the number of asks in others; all open the list of sessions. */
export function headerView({ session, sessions, active }: Mirror, act: Act, covered: boolean): TemplateResult {
  const waiting = sessions.filter((line) => line.id !== active).reduce((sum, line) => sum + line.asks, 0);
  const title = (session && visibleText(titleOf(session))) || commandTitle('New Session');
  // A host may name a session after its agent.
  const agent = session ? visibleText(session.agent.name) : '';
  const names = [title, ...(agent === title ? [] : [agent])].filter(Boolean).join(' · ');
  return html`<header class="header" ?inert=${covered}>
    <h1 class="sr-only">Parley</h1>
    <button class="title-button" type="button" id=${TITLE_ID} aria-haspopup="dialog" title=${`${t('Sessions')}: ${names}`} @click=${() => openSessions(act)}>
      <bdi class="title">${title}</bdi>${agent === '' || agent === title ? nothing : html`<bdi class="title-agent faint" data-name=${agent}></bdi>`}${iconOf('down')}
    </button>
    ${waiting > 0 ? html`<button class="ghost small" type="button" @click=${() => openSessions(act)}>${t('{0} waiting', waiting)}</button>` : nothing}
  </header>`;
}

/** All sessions of the folder, by day, over the chat: to open, search, rename, pin, export or delete. */
export function sessionsView(mirror: Mirror, act: Act, popup: Popup | undefined): TemplateResult | typeof nothing {
  if (popup?.kind !== 'sessions') return nothing;
  const lines = linesOf(mirror, popup);
  const language = document.documentElement.lang || 'en';
  const now = Date.now();
  return html`<div class="sheet" role="dialog" aria-label=${t('Sessions')} @keydown=${(event: KeyboardEvent) => key(event, act)}>
    <div class="header">
      <h2 class="sheet-title">${t('Sessions')}</h2>
      <button class="icon-button" type="button" title=${t('Close')} aria-label=${t('Close')} @click=${() => close(act)}>${iconOf('cross')}</button>
    </div>
    <input class="field search" id=${SEARCH_ID} type="search" aria-label=${t('Search')} placeholder=${t('Search')} .value=${popup.query}
      @input=${(event: Event) => act.findSessions((event.target as HTMLInputElement).value)} />
    <div class="sheet-list">
      ${lines.length === 0 ? html`<p class="faint sheet-empty" role="status">${t('Nothing found')}</p>` : nothing}
      ${repeat(
        groupedByDay(lines, now, language),
        ({ label }) => label,
        (group) => html`<h3 class="sheet-day">${group.label}</h3>
          <ul>${repeat(
            group.lines,
            ({ id }) => id,
            (line) => lineView(line, line.id === mirror.active, { act, popup, now, language }),
          )}</ul>`,
      )}
    </div>
  </div>`;
}

/** The sessions that the host found, with the current state of open ones; before it has answered, the open ones. */
function linesOf(mirror: Mirror, { found, query }: SheetState): readonly SessionLine[] {
  if (!found) return query === '' ? sortedLines(mirror.sessions) : [];
  return currentLines(found, mirror.sessions);
}

interface RowContext {
  readonly act: Act;
  readonly popup: SheetState;
  readonly now: number;
  readonly language: string;
}

function lineView(line: SessionLine, active: boolean, { act, popup, now, language }: RowContext): TemplateResult {
  const title = visibleText(line.title) || commandTitle('New Session');
  if (popup.renaming === line.id) return renameView(line, act, popup);
  const state = stateWords(line);
  const details = [line.agent, fileWords(line)].filter(Boolean).join(' · ');
  // By its id the focus stays with a button whose row moves to another group.
  const action = (icon: Parameters<typeof iconOf>[0], label: string, run: () => void, pressed?: boolean) =>
    html`<button class="icon-button" type="button" id=${`${icon}-${line.id}`} title=${label} aria-label=${`${label}: ${title}`} aria-pressed=${pressed === undefined ? nothing : String(pressed)} @click=${run}>${iconOf(icon)}</button>`;
  const rename = () => {
    act.show({ ...popup, renaming: line.id });
    act.focus(renameId(line.id));
  };
  return html`<li class=${active ? 'session-line active' : 'session-line'}>
    <button class="session-button" type="button" id=${rowId(line.id)} aria-current=${active ? 'true' : nothing} @click=${() => act.switchSession(line.id)}>
      <bdi class="session-title">${title}</bdi>
      ${
        line.asks > 0
          ? html`<span class="badge" aria-hidden="true">${line.asks}</span>`
          : line.state === 'busy'
            ? html`<span class="spinner" aria-hidden="true"></span>`
            : html`<span class="session-time">${line.at > 0 ? timeLabel(line.at, now, language) : nothing}</span>`
      }
      <span class="session-agent">${state === undefined ? nothing : html`<span class=${line.asks > 0 ? 'waits' : line.failed ? 'bad' : ''}>${state}</span> · `}<bdi>${visibleText(details)}</bdi></span>
    </button>
    <span class="session-actions">
      ${line.hosted ? nothing : action('pin', t('Pinned'), () => act.pinSession(line.id, !line.pinned), line.pinned === true)}
      ${action('edit', commandTitle('Rename Session'), rename)}
      ${
        line.hosted
          ? nothing
          : [
              action('insert', commandTitle('Export Session as Markdown'), () => act.exportSession(line.id)),
              action('openInEditor', commandTitle('Open Session in Editor'), () => act.openInEditor(line.id)),
            ]
      }
      ${action('delete', t('Delete'), () => act.deleteSession(line.id))}
    </span>
  </li>`;
}

function rowId(id: string): string {
  return `session-${id}`;
}

function renameId(id: string): string {
  return `rename-${id}`;
}

function renameView(line: SessionLine, act: Act, popup: SheetState): TemplateResult {
  const { renaming: _, ...rest } = popup;
  const end = (event: Event) => {
    const title = (event.target as HTMLInputElement).value.trim();
    act.show(rest);
    act.focus(rowId(line.id));
    if (title !== '' && title !== line.title) act.renameSession(line.id, title.slice(0, LONGEST_TITLE));
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    // The key would press the button that gets the focus.
    event.preventDefault();
    if (event.key === 'Enter') return end(event);
    event.stopPropagation();
    act.show(rest);
    act.focus(rowId(line.id));
  };
  // Selects the old name, so that typing replaces it.
  const arrived = (event: Event) => (event.target as HTMLInputElement).select();
  return html`<li class="session-line">${keyed(
    line.id,
    html`<input class="field" id=${renameId(line.id)} type="text" aria-label=${commandTitle('Rename Session')} maxlength=${LONGEST_TITLE} .value=${line.title} @focus=${arrived} @keydown=${pressed} />`,
  )}</li>`;
}

/** Moves between rows with the arrows; Escape closes. */
function key(event: KeyboardEvent, act: Act): void {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key === 'Escape') {
    event.stopPropagation();
    return close(act);
  }
  const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (move === 0) return;
  const stops = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('.search, .session-button')];
  const now = stops.indexOf(document.activeElement as HTMLElement);
  const at =
    now < 0
      ? stops.indexOf((document.activeElement?.closest('li') ?? document).querySelector<HTMLElement>('.session-button') as HTMLElement)
      : now;
  stops[Math.min(stops.length - 1, Math.max(0, at + move))]?.focus();
  event.preventDefault();
}
