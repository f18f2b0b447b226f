import * as vscode from 'vscode';
import { beginningOf, copyTitle } from '../live/branch.ts';
import type { LiveSession } from '../live/liveSession.ts';
import type { Profile } from '../live/profiles.ts';
import type { Sessions } from '../live/sessions.ts';
import type { Past } from '../protocols/adapter.ts';
import type { SessionId, Turn, TurnId } from '../session/model.ts';
import { isBusy, runningTurn, titleOf } from '../session/select.ts';
import { plainLabel } from './approvals/rowText.ts';
import { commandTitle } from './commandTitle.ts';
import type { Warn } from './endWork.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';

/** Operations on conversations that agents keep themselves; each only where the agent offers it. */

type Subject = Pick<LiveSession, 'store' | 'send' | 'fork' | 'history' | 'forget' | 'signOut'>;

/** Milliseconds that agents told to stop may take before the user learns that they are still working. */
const STOP_LIMIT = 15_000;

const ask: Warn = (text, action) => vscode.window.showWarningMessage(text, { modal: true }, action);

/** Copies the conversation. Returns the copy and the original's name; undefined when there is none. */
export async function copySession(session: Subject): Promise<(Past & { readonly copyOf: string }) | undefined> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.fork) return undefined;
  const key = await withProgress(`${now.agent.name}: ${vscode.l10n.t('Working')}`, (signal) => session.fork(signal));
  if (key === undefined) return undefined;
  return { key, copyOf: titleOf(now), title: copyTitle(now) };
}

export interface BranchDeps {
  readonly sessions: Pick<Sessions, 'open' | 'openRecorded' | 'get'>;
  readonly newId: () => string;
  /** Puts the message of a turn into the composer, to be sent in its place. */
  readonly edit: (sessionId: SessionId, turnId: TurnId) => Promise<void>;
}

/**
 * Branches from before a turn into a new session, with the message of the turn in the composer; this session stays as it is. An agent that keeps
 * conversations makes the copy; otherwise the branch is built from the conversation here. Does nothing where messages cannot be edited.
 */
export async function branchFrom(session: Subject, profile: Profile, turnId: TurnId, { sessions, newId, edit }: BranchDeps): Promise<void> {
  const { now } = session.store;
  const at = now.turns.findIndex(({ id }) => id === turnId);
  if (at < 0 || now.link.state !== 'ready' || !now.link.offers.edit) return;
  const copy = now.link.offers.fork ? await copySession(session) : undefined;
  if (now.link.offers.fork && !copy) return;
  const id = copy ? sessions.open(profile, now.cwd, copy) : newId();
  if (!copy) sessions.openRecorded(profile, beginningOf(now, at + 1, id));
  const branch = sessions.get(id);
  if (!branch) return;
  if (!copy) void branch.restart();
  const turn = await whenThere(branch, at);
  if (turn) await edit(id, turn.id);
}

/** The turn at that place, once the agent is ready and its record is read; undefined when it ends before that. */
function whenThere(session: Pick<Subject, 'store'>, at: number): Promise<Turn | undefined> {
  return new Promise((resolve) => {
    const check = (): void => {
      const { link, turns } = session.store.now;
      if (link.state === 'opening' || (link.state === 'ready' && !turns[at])) return;
      listening.dispose();
      resolve(link.state === 'ready' ? turns[at] : undefined);
    };
    const listening = session.store.onChange(check);
    check();
  });
}

/** Lets the user choose one of the agent's conversations and deletes it there; never one that the `others` with this agent have open. */
export async function deleteEarlier(
  session: Subject,
  inputs: Pick<QuickInputs, 'pick'>,
  others: () => readonly Subject[],
  confirm = ask,
): Promise<void> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.forget) return;
  const isOpen = (key: string) => [session, ...others()].some(({ store }) => store.now.resumeKey === key);
  const found = await withProgress(`${now.agent.name}: ${vscode.l10n.t('Working')}`, (signal) => session.history(signal));
  if (!found) return;
  const all = found.filter((one) => !isOpen(one.key));
  if (all.length === 0) return void vscode.window.showInformationMessage(`${now.agent.name}: ${vscode.l10n.t('Nothing found')}`);
  const choices = all.map(
    (past): PickChoice<Past> => ({
      label: `$(history) ${plainLabel(past.title || past.key)}`,
      ...(past.at === undefined ? {} : { description: new Date(past.at).toLocaleString(vscode.env.language) }),
      value: past,
    }),
  );
  const chosen = await inputs.pick(choices, { title: commandTitle('deleteEarlier'), placeholder: now.agent.name });
  if (!chosen) return;
  const question = vscode.l10n.t('{0} forgets the conversation “{1}”. This cannot be undone.', now.agent.name, chosen.title);
  const action = vscode.l10n.t('Delete');
  // The conversation may have been opened while the dialog was up.
  if ((await confirm(question, action)) !== action || isOpen(chosen.key)) return;
  await withProgress(`${now.agent.name}: ${vscode.l10n.t('Working')}`, (signal) => session.forget(chosen.key, signal));
}

/**
 * Signs the user out of the agent, after asking: every session with it needs a new sign-in, including the open `others`. Names the sessions at work
 * and stops them first. Rejects, without signing out, when one of them keeps working.
 */
export async function signOut(session: Subject, others: readonly Subject[] = [], confirm = ask, limit = STOP_LIMIT): Promise<void> {
  if (!canSignOut(session)) return;
  const { name } = session.store.now.agent;
  const working = [session, ...others].filter((one) => canSignOut(one) && isBusy(one.store.now));
  const question = vscode.l10n.t('Sign out of {0}? Its sessions will ask you to sign in again.', name);
  const action = commandTitle('signOut');
  const names = working.map((one) => plainLabel(titleOf(one.store.now) || commandTitle('newSession')));
  const whole =
    working.length > 0 ? `${question}\n\n${vscode.l10n.t('{0} is at work. What it is doing is interrupted.', names.join(', '))}` : question;
  if ((await confirm(whole, action)) !== action) return;
  const all = [session, ...others].filter(canSignOut);
  // Another turn may have begun meanwhile.
  if (!(await allStopped(working.length > 0 ? all : [], limit))) throw new Error(vscode.l10n.t('The agent is not stopping.'));
  // Each session has a process of its own, which knows the key as long as it runs.
  for (const one of all) if (canSignOut(one)) await one.signOut();
  void vscode.window.showInformationMessage(vscode.l10n.t('Done'));
}

function canSignOut({ store }: Subject): boolean {
  const { link } = store.now;
  return link.state === 'ready' && link.offers.signOut === true;
}

/** Stops all running turns. Returns false when one still runs after `limit` milliseconds. */
async function allStopped(sessions: readonly Subject[], limit: number): Promise<boolean> {
  const stops = sessions.map(async (one) => {
    const { store } = one;
    if (!isBusy(store.now)) return true;
    return new Promise<boolean>((resolve) => {
      const done = (stopped: boolean) => {
        clearTimeout(late);
        listening.dispose();
        resolve(stopped);
      };
      const late = setTimeout(() => done(false), limit);
      const listening = store.onChange(({ now }) => {
        if (!isBusy(now)) done(true);
      });
      // One more Stop would end the agent.
      if (!runningTurn(store.now)?.stopping) one.send({ type: 'cancel' });
    });
  });
  return (await Promise.all(stops)).every(Boolean);
}

/** Milliseconds after which a progress notification appears. */
const PATIENCE = 1000;

/** Runs an operation; shows cancellable progress when it takes a while. Returns undefined when the user cancelled. */
async function withProgress<T>(title: string, run: (signal: AbortSignal) => Promise<T>, patience = PATIENCE): Promise<T | undefined> {
  const stop = new AbortController();
  const cancelled = new Promise<undefined>((resolve) => stop.signal.addEventListener('abort', () => resolve(undefined), { once: true }));
  // Ignores the result of an operation that was cancelled.
  const done = Promise.race([run(stop.signal), cancelled]);
  const over = done.then(
    () => {},
    () => {},
  );
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    void vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => stop.abort());
      return over;
    });
  }, patience);
  try {
    return await done;
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
