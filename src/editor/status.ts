import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { SessionHost } from '../live/surface.ts';
import { answersIn, hasMoreAnswers } from '../session/approvalAnswers.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Session } from '../session/model.ts';
import { canStop, openApprovals, runningTurn, titleOf, turnFiles } from '../session/select.ts';
import { plainLabel } from './approvals/rowText.ts';
import type { Review } from './review/review.ts';

/** UTF-16 units that the status bar has room for. */
const LONGEST = 60;

/** Status bar: agent, state, number of pending asks. A click opens the asks, or the chat. Calls `waiting` with the number of open asks. */
export function showStatus(host: SessionHost, waiting: (count: number) => void): Disposable {
  const life = new Lifetime();
  const item = life.own(vscode.window.createStatusBarItem('parley.status', vscode.StatusBarAlignment.Right, 100));
  item.name = 'Parley';
  let shown = '';
  let count = -1;
  const update = () => {
    const session = host.active === undefined ? undefined : host.get(host.active)?.store.now;
    const waitingIn = host.all.flatMap((id) => host.get(id)?.store.now ?? []).filter((one) => one.asks.length > 0);
    const asks = waitingIn.reduce((sum, one) => sum + one.asks.length, 0);
    if (asks !== count) {
      count = asks;
      waiting(asks);
    }
    const words = session ? (describeWaiting(waitingIn) ?? describe(session)) : '';
    if (words === shown) return;
    shown = words;
    if (!session) return item.hide();
    item.text = words;
    item.tooltip = [session.agent.name, session.link.state === 'opening' ? session.link.note : '', plainLabel(titleOf(session))]
      .filter(Boolean)
      .join('\n');
    item.accessibilityInformation = { label: words.replace(/\$\([^)]*\)\s*/g, ''), role: 'button' };
    item.command = asks > 0 ? 'parley.showPending' : 'parley.focusChat';
    item.backgroundColor = asks > 0 ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    item.show();
  };
  life.own(host.onChange((_, { before, now }) => markOf(before) !== markOf(now) && update()));
  life.own(host.onSessions(update));
  update();
  return life;
}

/** Describes the sessions that wait for the user; undefined when none does. */
function describeWaiting(sessions: readonly Session[]): string | undefined {
  const asks = sessions.flatMap((session) => session.asks);
  if (asks.length === 0) return undefined;
  const names = new Set(sessions.map((session) => session.agent.name));
  const name = names.size === 1 ? ([...names][0] ?? '') : 'Parley';
  return `$(bell-dot) ${name}: ${vscode.l10n.t('{0} waiting', asks.length)}`;
}

function describe(session: Session): string {
  const { name } = session.agent;
  if (session.link.state === 'opening') {
    const note = plainLabel(session.link.note ?? '');
    return `$(loading~spin) ${note === '' ? vscode.l10n.t('Starting {0}…', name) : shortened(`${name}: ${note}`)}`;
  }
  if (session.link.state === 'closed') return `$(debug-disconnect) ${name}: ${vscode.l10n.t('Ended')}`;
  const turn = runningTurn(session);
  if (turn?.stopping) return `$(loading~spin) ${name}: ${vscode.l10n.t('Stopping…')}`;
  return turn ? `$(loading~spin) ${name}: ${vscode.l10n.t('Working')}` : `$(comment-discussion) ${name}`;
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** The fields of a session that the status bar shows, as a string to compare. */
function markOf(session: Session): string {
  const turn = session.turns.at(-1);
  const { link } = session;
  return [
    link.state,
    link.state === 'opening' ? link.note : '',
    session.agent.name,
    session.title,
    turn?.status,
    turn?.stopping,
    session.asks.length,
  ].join('\n');
}

/** Updates the context keys of menus, keybindings and enablements. */
export function keepContextKeys(host: SessionHost, review: Review): Disposable {
  const life = new Lifetime();
  const known = new Map<string, unknown>();
  const set = (key: string, value: boolean | number) => {
    if (known.get(key) === value) return;
    known.set(key, value);
    void vscode.commands.executeCommand('setContext', `parley.${key}`, value);
  };
  const updateDiff = () => {
    const subject = review.active;
    const asked = subject && subject.kind !== 'turn' ? subject : undefined;
    const session = asked && host.get(asked.sessionId)?.store.now;
    const ask = session?.asks.find((one) => one.id === asked?.askId);
    const shown = session && ask?.kind === 'approval' ? answersIn(session, ask) : undefined;
    set('diffAwaits', asked !== undefined);
    set('diffAllows', shown?.once !== undefined);
    set('diffTakesFeedback', shown?.answers.some((one) => one.means === 'feedback') ?? false);
    set('diffHasMore', shown !== undefined && hasMoreAnswers(shown));
    set('diffEditable', subject?.kind === 'ask' && subject.editable !== false);
    set('diffReverts', subject?.kind === 'turn');
  };
  const update = () => {
    const session = host.active === undefined ? undefined : host.get(host.active)?.store.now;
    const all = host.all.flatMap((id) => host.get(id)?.store.now ?? []);
    set('hasSession', session !== undefined);
    set('busy', session !== undefined && canStop(session));
    set('hasModes', (session?.mode?.all.length ?? 0) > 1);
    set('hasOptions', (session?.options?.length ?? 0) > 0);
    const offers = session?.link.state === 'ready' ? session.link.offers : {};
    set('canCopy', offers.fork ?? false);
    set('canForget', offers.forget ?? false);
    set('canSignOut', offers.signOut ?? false);
    set('hasCommands', (session?.commands.length ?? 0) > 0);
    set('hasChanges', session?.turns.some((turn) => turnFiles(turn).length > 0) ?? false);
    set(
      'asks',
      all.reduce((sum, one) => sum + one.asks.length, 0),
    );
    set('approvals', session ? openApprovals(session).length : 0);
    updateDiff();
  };
  life.own(host.onChange((_, { event }) => matters(event) && update()));
  life.own(host.onSessions(update));
  life.own(vscode.window.tabGroups.onDidChangeTabs(updateDiff));
  life.own(vscode.window.tabGroups.onDidChangeTabGroups(updateDiff));
  life.own(review.onOpened(updateDiff));
  update();
  return life;
}

/** False for frequent events (text, output, progress of a call), which change none of the keys. */
function matters(event: SessionEvent): boolean {
  switch (event.type) {
    case 'text.delta':
    case 'call.inputDelta':
    case 'terminal.changed':
    case 'usage.set':
    case 'turn.activity':
      return false;
    case 'call.changed':
      return event.change.status === 'done' || event.change.status === 'ended';
    default:
      return true;
  }
}
