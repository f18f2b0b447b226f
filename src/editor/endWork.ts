import * as vscode from 'vscode';
import type { LiveSession } from '../live/liveSession.ts';
import type { Sessions } from '../live/sessions.ts';
import type { HostedSession } from '../live/surface.ts';
import { isBusy, runningTurn } from '../session/select.ts';
import { commandTitle } from './commandTitle.ts';

/** Shows a sentence with one button; returns the button's text when the user pressed it. */
export type Warn = (text: string, action: string) => PromiseLike<string | undefined>;

const warn: Warn = (text, action) => vscode.window.showWarningMessage(text, action);

/** Ends the agent and closes the session. Asks the user first while it works. */
export async function closeSession(sessions: Pick<Sessions, 'close'>, session: HostedSession, ask = warn): Promise<void> {
  if (await mayEnd(session, commandTitle('closeSession'), ask)) await sessions.close(session.id);
}

/** Restarts the agent. Asks the user first while it works, unless they have stopped it already and it keeps working. */
export async function restartAgent(session: HostedSession & Pick<LiveSession, 'restart'>, ask = warn): Promise<void> {
  const stopped = runningTurn(session.store.now)?.stopping === true;
  if (stopped || (await mayEnd(session, commandTitle('restartAgent'), ask))) await session.restart();
}

/** Restarts the agent at the press of a button beside the turn that it ends. Asks about work in the background alone, which may be out of sight. */
export async function restartAtOnce(session: HostedSession & Pick<LiveSession, 'restart'>, ask = warn): Promise<void> {
  if ((session.store.now.background ?? []).length === 0) return session.restart();
  return restartAgent(session, ask);
}

async function mayEnd({ store }: HostedSession, action: string, ask: Warn): Promise<boolean> {
  const { now } = store;
  const background = now.background ?? [];
  // Without a connection nothing is interrupted here: in a host, a turn goes on.
  if (now.link.state !== 'ready' || (!isBusy(now) && background.length === 0)) return true;
  const names = background.map((one) => one.text).join(', ');
  const working = vscode.l10n.t('{0} is at work. What it is doing is interrupted.', now.agent.name);
  const text = background.length === 0 ? working : `${working} ${vscode.l10n.t('In the background: {0}', names)}`;
  return (await ask(text, action)) === action;
}
