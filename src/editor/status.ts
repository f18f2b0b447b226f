import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { SessionHost } from '../live/surface.ts';
import type { Session } from '../session/model.ts';
import { runningTurn, titleOf } from '../session/select.ts';
import { plainLabel } from './approvals/rowText.ts';

/** UTF-16 units that the status bar has room for. */
const LONGEST = 60;

/** Status bar: agent, state, number of pending asks. A click opens the asks, or the chat. Calls `waiting` with the number of open asks. */
export function showStatus(desk: SessionHost, waiting: (count: number) => void): Disposable {
  const life = new Lifetime();
  const item = life.own(vscode.window.createStatusBarItem('parley.status', vscode.StatusBarAlignment.Right, 100));
  item.name = 'Parley';
  let shown = '';
  let count = -1;
  const update = () => {
    const session = desk.active === undefined ? undefined : desk.get(desk.active)?.store.now;
    const waitingIn = desk.all.flatMap((id) => desk.get(id)?.store.now ?? []).filter((one) => one.asks.length > 0);
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
  life.own(desk.onChange((_, { before, now }) => markOf(before) !== markOf(now) && update()));
  life.own(desk.onSessions(update));
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
