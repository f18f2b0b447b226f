import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { SessionHost } from '../live/surface.ts';
import { answersIn } from '../session/approvalAnswers.ts';
import type { SessionEvent } from '../session/events.ts';
import { canStop, openApprovals, turnFiles } from '../session/select.ts';
import type { Review } from './review/review.ts';

/** Updates the context keys of menus, keybindings and enablements. */
export function keepContextKeys(desk: SessionHost, review: Review): Disposable {
  const life = new Lifetime();
  const known = new Map<string, unknown>();
  const set = (key: string, value: boolean | number) => {
    if (known.get(key) === value) return;
    known.set(key, value);
    void vscode.commands.executeCommand('setContext', `parley.${key}`, value);
  };
  const update = () => {
    const session = desk.active === undefined ? undefined : desk.get(desk.active)?.store.now;
    const all = desk.all.flatMap((id) => desk.get(id)?.store.now ?? []);
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
  const updateDiff = () => {
    const subject = review.active;
    const asked = subject && subject.kind !== 'turn' ? subject : undefined;
    const session = asked && desk.get(asked.sessionId)?.store.now;
    const ask = session?.asks.find((one) => one.id === asked?.askId);
    set('diffAwaits', asked !== undefined);
    set(
      'diffTakesFeedback',
      session && ask?.kind === 'approval' ? answersIn(session, ask).answers.some((one) => one.means === 'feedback') : false,
    );
    set('diffEditable', subject?.kind === 'ask' && subject.editable !== false);
    set('diffReverts', subject?.kind === 'turn');
  };
  life.own(desk.onChange((_, { event }) => matters(event) && update()));
  life.own(desk.onSessions(update));
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
