import * as vscode from 'vscode';
import type { LiveSession } from '../live/liveSession.ts';
import type { Profile } from '../live/profiles.ts';
import type { Sessions } from '../live/sessions.ts';
import type { Past } from '../protocols/adapter.ts';
import type { Session, SessionId, Turn, TurnId } from '../session/model.ts';
import { isBusy, runningTurn, titleOf } from '../session/select.ts';
import { plainLabel } from './approvals/rowText.ts';
import type { Warn } from './endWork.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

/** What agents do with conversations they keep themselves; each only where the agent offers it. */

type Subject = Pick<LiveSession, 'store' | 'send' | 'fork' | 'history' | 'forget' | 'signOut'>;

/** How long agents that were told to stop may take before the user is told that they go on, in milliseconds. */
const STOP_LIMIT = 15_000;

const ask: Warn = (text, action) => vscode.window.showWarningMessage(text, { modal: true }, action);

/** Copies the conversation, to go on from here in two ways. The copy, and what the original is called; undefined when there is none. */
export async function copySession(session: Subject): Promise<(Past & { readonly copyOf: string }) | undefined> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.fork) return undefined;
  const key = await withProgress(`${now.agent.name}: ${vscode.l10n.t('Working')}`, (signal) => session.fork(signal));
  if (key === undefined) return undefined;
  const copyOf = titleOf(now);
  return { key, copyOf, title: vscode.l10n.t('Copy of {0}', copyOf || vscode.l10n.t('Conversation')) };
}

export interface BranchDeps {
  readonly sessions: Pick<Sessions, 'open' | 'openRecorded' | 'get'>;
  readonly newId: () => string;
  /** Puts the message of a turn into the composer, to be sent in its place. */
  readonly edit: (sessionId: SessionId, turnId: TurnId) => Promise<void>;
}

/**
 * Goes on from before a turn in a session of its own, with the message of the turn in the composer; this session stays as it is. Where the agent
 * keeps conversations it makes a copy; where it keeps none, what is here is the conversation. Nothing happens where messages cannot be edited.
 */
export async function branchFrom(session: Subject, profile: Profile, turnId: TurnId, { sessions, newId, edit }: BranchDeps): Promise<void> {
  const { now } = session.store;
  const at = now.turns.findIndex(({ id }) => id === turnId);
  if (at < 0 || now.link.state !== 'ready' || !now.link.offers.edit) return;
  const copy = now.link.offers.fork ? await copySession(session) : undefined;
  if (now.link.offers.fork && !copy) return;
  const id = copy ? sessions.open(profile, now.cwd, copy) : newId();
  if (!copy) sessions.openRecorded(profile, beginningOf(now, at, id));
  const branch = sessions.get(id);
  if (!branch) return;
  if (!copy) void branch.restart();
  const turn = await whenThere(branch, at);
  if (turn) await edit(id, turn.id);
}

/** The conversation up to a turn, as a session of its own. What was decided about files stays with the session that changed them. */
function beginningOf(now: Session, at: number, id: SessionId): Session {
  const { resumeKey: _, plan: __, ...rest } = now;
  const title = vscode.l10n.t('Copy of {0}', titleOf(now) || vscode.l10n.t('Conversation'));
  const turns = now.turns.slice(0, at + 1).map(({ files: ___, ...turn }) => turn);
  return { ...rest, id, title, turns, asks: [], queue: [], notices: [] };
}

/** The turn at that place, once the agent is ready and its record is read; undefined when it ends before that. */
function whenThere(session: Pick<Subject, 'store'>, at: number): Promise<Turn | undefined> {
  return new Promise((resolve) => {
    const look = (): void => {
      const { link, turns } = session.store.now;
      if (link.state === 'opening' || (link.state === 'ready' && !turns[at])) return;
      listening.dispose();
      resolve(link.state === 'ready' ? turns[at] : undefined);
    };
    const listening = session.store.onChange(look);
    look();
  });
}

/** Lets the user choose one of the conversations the agent keeps, and has it deleted there; never one that the `others` with this agent have open. */
export async function deleteEarlier(
  session: Subject,
  inputs: Pick<QuickInputs, 'pick'>,
  others: () => readonly Subject[],
  confirm = ask,
): Promise<void> {
  const { now } = session.store;
  if (now.link.state !== 'ready' || !now.link.offers.forget) return;
  const isOpen = (key: string) => [session, ...others()].some(({ store }) => store.now.resumeKey === key);
  const told = await withProgress(`${now.agent.name}: ${vscode.l10n.t('Working')}`, (signal) => session.history(signal));
  if (!told) return;
  const all = told.filter((one) => !isOpen(one.key));
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
  // It may have been opened while the user was asked.
  if ((await confirm(question, action)) !== action || isOpen(chosen.key)) return;
  await withProgress(`${now.agent.name}: ${vscode.l10n.t('Working')}`, (signal) => session.forget(chosen.key, signal));
}

/**
 * Signs the user out of the agent, after asking: every session with it wants a sign-in again, the `others` that are open too. Those at work
 * are named, and stopped first. Rejects when one of them goes on; then nobody is signed out.
 */
export async function signOut(session: Subject, others: readonly Subject[] = [], confirm = ask, limit = STOP_LIMIT): Promise<void> {
  if (!canSignOut(session)) return;
  const { name } = session.store.now.agent;
  const working = [session, ...others].filter((one) => canSignOut(one) && isBusy(one.store.now));
  const question = vscode.l10n.t('Sign out of {0}? Its sessions want you to sign in again.', name);
  const action = vscode.l10n.t('Sign Out');
  const names = working.map((one) => plainLabel(titleOf(one.store.now) || vscode.l10n.t('New session')));
  const whole = working.length > 0 ? `${question}\n\n${vscode.l10n.t('At work, and stopped first: {0}', names.join(', '))}` : question;
  if ((await confirm(whole, action)) !== action) return;
  const all = [session, ...others].filter(canSignOut);
  // Meanwhile another one may have begun.
  if (!(await allStopped(working.length > 0 ? all : [], limit))) throw new Error(vscode.l10n.t('The agent is not stopping.'));
  // Each has a process of its own, which knows the key as long as it runs.
  for (const one of all) if (canSignOut(one)) await one.signOut();
  void vscode.window.showInformationMessage(vscode.l10n.t('You are signed out of {0}.', name));
}

function canSignOut({ store }: Subject): boolean {
  const { link } = store.now;
  return link.state === 'ready' && link.offers.signOut === true;
}

/** Stops what works in these. False when one of them still does after that long, in milliseconds. */
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

/** Milliseconds after which it is shown that something takes a while. */
const PATIENCE = 1000;

/** Does it; when it takes a while that is shown, and can be cancelled. Gives undefined when the user did. */
async function withProgress<T>(title: string, run: (signal: AbortSignal) => Promise<T>, patience = PATIENCE): Promise<T | undefined> {
  const stop = new AbortController();
  const cancelled = new Promise<undefined>((resolve) => stop.signal.addEventListener('abort', () => resolve(undefined), { once: true }));
  // What it says after it was cancelled is nobody's concern.
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
