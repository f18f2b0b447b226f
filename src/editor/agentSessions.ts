import * as vscode from 'vscode';
import type { LiveSession } from '../live/liveSession.ts';
import type { Past } from '../protocols/adapter.ts';
import { titleOf } from '../session/select.ts';
import { plainLabel } from './approvals/optionRows.ts';
import type { Warn } from './endWork.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

/** What agents do with conversations they keep themselves; each only where the agent offers it. */

type Subject = Pick<LiveSession, 'store' | 'fork' | 'history' | 'forget' | 'signOut'>;

const ask: Warn = (text, action) => vscode.window.showWarningMessage(text, { modal: true }, action);

/** Copies the conversation, to go on from here in two ways. The copy, or undefined when there is none. */
export async function copySession(session: Subject): Promise<Past | undefined> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.fork) return undefined;
  const key = await session.fork();
  return { key, title: vscode.l10n.t('Copy of {0}', titleOf(now) || vscode.l10n.t('Conversation')) };
}

/** Lets the person choose one of the conversations the agent keeps, and has it deleted there; never one that the `others` with this agent have open. */
export async function deleteEarlier(
  session: Subject,
  inputs: Pick<QuickInputs, 'pick'>,
  others: () => readonly Subject[],
  confirm = ask,
): Promise<void> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.forget) return;
  const isOpen = (key: string) => [session, ...others()].some(({ store }) => store.now.resumeKey === key);
  const all = (await session.history()).filter((one) => !isOpen(one.key));
  if (all.length === 0)
    return void vscode.window.showInformationMessage(vscode.l10n.t('{0} keeps no other conversations of this folder.', now.agent.name));
  const choices = all.map(
    (past): Choice<Past> => ({
      label: `$(history) ${plainLabel(past.title || past.key)}`,
      ...(past.at === undefined ? {} : { description: new Date(past.at).toLocaleString(vscode.env.language) }),
      value: past,
    }),
  );
  const chosen = await inputs.pick(choices, { title: vscode.l10n.t('Delete Earlier Conversation'), placeholder: now.agent.name });
  if (!chosen) return;
  const question = vscode.l10n.t('{0} forgets the conversation "{1}". This cannot be undone.', now.agent.name, chosen.title);
  const action = vscode.l10n.t('Delete');
  // It may have been opened while the person was asked.
  if ((await confirm(question, action)) === action && !isOpen(chosen.key)) await session.forget(chosen.key);
}

/** Signs the person out of the agent, after asking: every session with it wants a sign-in again, the `others` that are open too. */
export async function signOut(session: Subject, others: readonly Subject[] = [], confirm = ask): Promise<void> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.signOut) return;
  const action = vscode.l10n.t('Sign Out');
  const question = vscode.l10n.t('Sign out of {0}? Its sessions want you to sign in again.', now.agent.name);
  if ((await confirm(question, action)) !== action) return;
  await session.signOut();
  // Each has a process of its own, which knows the key as long as it runs.
  for (const other of others) {
    const { link } = other.store.now;
    if (link.state === 'ready' && link.offers.signOut) await other.signOut();
  }
  void vscode.window.showInformationMessage(vscode.l10n.t('You are signed out of {0}.', now.agent.name));
}
