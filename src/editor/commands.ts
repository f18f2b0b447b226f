import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { LiveSession } from '../live/liveSession.ts';
import type { ChangeSets } from '../live/review/changeSets.ts';
import type { Sessions } from '../live/sessions.ts';
import { changedFiles } from '../session/select.ts';
import { copySession, deleteEarlier, signOut } from './agentSessions.ts';
import type { Agents } from './agents.ts';
import type { Approvals } from './approvals/approvals.ts';
import type { Rules } from './approvals/rules.ts';
import { fileContents, selectionContent } from './attach.ts';
import type { Chat } from './chat.ts';
import { configureModel } from './configureModel.ts';
import { closeSession, restartAgent } from './endWork.ts';
import type { Output } from './output.ts';
import { pickAgent } from './pickAgent.ts';
import { switchSession } from './pickSession.ts';
import type { QuickInputs } from './quickInputs.ts';
import type { Changes } from './review/changes.ts';
import { revertFile } from './review/revert.ts';
import type { Review } from './review/review.ts';
import type { Secrets } from './secrets.ts';
import { changeOptions, switchMode } from './sessionChoices.ts';
import { openSettings, setFollow, setTrace } from './settings.ts';
import { runSlashCommand } from './slashCommand.ts';
import type { Starter } from './starter.ts';

export interface CommandDeps {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly starter: Starter;
  readonly approvals: Approvals;
  readonly review: Review;
  readonly changes: Changes;
  readonly changeSets: ChangeSets;
  readonly chat: Chat;
  readonly inputs: QuickInputs;
  readonly secrets: Secrets;
  readonly output: Output;
  readonly rules: Rules;
  readonly extensionId: string;
  readonly newId: () => string;
}

/** Every command of the manifest and what it does. */
export function commandTable(deps: CommandDeps) {
  const { sessions, approvals, review, chat, inputs, starter } = deps;
  const active = (): LiveSession | undefined => (sessions.active === undefined ? undefined : sessions.get(sessions.active));
  const othersOf = (session: LiveSession): readonly LiveSession[] =>
    sessions.all.flatMap((id) => sessions.get(id) ?? []).filter((one) => one !== session && one.profile === session.profile);
  const started = async (id: Promise<string | undefined>) => {
    if ((await id) !== undefined) await chat.focus();
  };
  const decideDiff = async (how: 'accept' | 'reject', uri: unknown) => {
    const subject = review.subjectOf(uri);
    if (subject?.kind !== 'ask') return;
    if (!(await approvals.decide(subject.sessionId, subject.askId, how))) approvals.show(subject.sessionId, subject.askId);
  };
  const decideAll = async (how: 'accept' | 'reject') => {
    const session = active();
    const count = session ? await approvals.decideAll(session.id, how) : 0;
    if (count === 0) void vscode.window.showInformationMessage(vscode.l10n.t('Nothing waits for your approval.'));
  };
  return {
    'parley.focusChat': () => chat.focus(),
    'parley.newSession': () => started(starter.start()),
    'parley.pickAgent': async () => {
      const profile = await pickAgent(deps.agents, inputs);
      if (profile) await started(starter.start(profile));
    },
    'parley.switchSession': async () => {
      await starter.restore();
      const chosen = await switchSession(sessions, deps.agents, inputs);
      if (chosen === 'new') await started(starter.start());
      if (chosen === 'switched') await chat.focus();
    },
    'parley.closeSession': async () => {
      const session = active();
      if (session) await closeSession(sessions, session);
    },
    'parley.restartAgent': async () => {
      const session = active();
      if (session) await restartAgent(session);
    },
    'parley.stop': () => active()?.send({ type: 'cancel' }),
    'parley.switchMode': async () => {
      const session = active();
      if (session) await switchMode(session, inputs);
    },
    'parley.sessionOptions': async () => {
      const session = active();
      if (session) await changeOptions(session, inputs);
    },
    'parley.copySession': async () => {
      const session = active();
      const profile = session && deps.agents.find(session.profile);
      const copy = profile && (await copySession(session));
      if (!copy) return;
      sessions.open(profile, session.store.now.cwd, copy);
      await chat.focus();
    },
    'parley.deleteEarlier': async () => {
      const session = active();
      if (session) await deleteEarlier(session, inputs, () => othersOf(session));
    },
    'parley.signOut': async () => {
      const session = active();
      if (!session) return;
      await signOut(session, othersOf(session));
    },
    'parley.follow': () => setFollow(true),
    'parley.stopFollowing': () => setFollow(false),
    'parley.runSlashCommand': async () => {
      const session = active();
      if (session && (await runSlashCommand(session, inputs, deps.newId))) await chat.focus();
    },
    'parley.addSelection': async () => {
      const content = selectionContent();
      if (content) await chat.insert([content]);
    },
    'parley.addFile': async (clicked?: unknown, selected?: unknown) => chat.insert(await fileContents(clicked, selected)),
    'parley.showPending': () => {
      if (!approvals.showPending()) void vscode.window.showInformationMessage(vscode.l10n.t('Nothing waits for your approval.'));
    },
    'parley.acceptAll': () => decideAll('accept'),
    'parley.rejectAll': () => decideAll('reject'),
    'parley.acceptDiff': (uri?: unknown) => decideDiff('accept', uri),
    'parley.rejectDiff': (uri?: unknown) => decideDiff('reject', uri),
    'parley.diffAnswers': (uri?: unknown) => {
      const subject = review.subjectOf(uri);
      if (subject?.kind === 'ask') approvals.show(subject.sessionId, subject.askId);
    },
    'parley.diffFeedback': async (uri?: unknown) => {
      const subject = review.subjectOf(uri);
      if (subject?.kind !== 'ask') return;
      if (!(await approvals.rejectWithFeedback(subject.sessionId, subject.askId))) approvals.show(subject.sessionId, subject.askId);
    },
    'parley.manageRules': () => deps.rules.manage(),
    'parley.reviewChanges': async () => {
      const session = active();
      const turn = session?.store.now.turns.findLast((one) => changedFiles(one).length > 0);
      if (session && turn) await review.openTurn(session.id, turn.id);
    },
    'parley.keepHunk': (uri?: unknown, line?: unknown) => deps.changes.settleHunk('keep', uri, line),
    'parley.undoHunk': (uri?: unknown, line?: unknown) => deps.changes.settleHunk('undo', uri, line),
    'parley.nextHunk': () => deps.changes.go(1),
    'parley.previousHunk': () => deps.changes.go(-1),
    'parley.keepFile': (row?: unknown) => deps.changes.settleFile('keep', row),
    'parley.undoFile': (row?: unknown) => deps.changes.settleFile('undo', row),
    'parley.keepAllChanges': () => deps.changes.settleAll('keep'),
    'parley.undoAllChanges': () => deps.changes.settleAll('undo'),
    'parley.openChange': (row?: unknown) => deps.changes.open(row),
    'parley.restoreFiles': () => deps.changes.restoreFiles(),
    'parley.undoRestoreFiles': () => deps.changes.undoRestore(),
    'parley.revertDiff': async (uri?: unknown) => {
      const subject = review.subjectOf(uri);
      const session = subject && sessions.get(subject.sessionId);
      if (subject?.kind === 'turn' && session) {
        await revertFile(session.store.now, subject.turnId, subject.file, deps.changeSets.of(session.id));
      }
    },
    'parley.configureModel': () => configureModel(inputs, deps.secrets),
    'parley.forgetModelKey': async () => {
      await deps.secrets.setModelKey(undefined);
      void vscode.window.showInformationMessage(vscode.l10n.t('The key is forgotten.'));
    },
    'parley.openSettings': () => openSettings(`@ext:${deps.extensionId}`),
    'parley.showLog': () => deps.output.show(),
    'parley.toggleTrace': async () => {
      const on = !deps.output.tracing;
      await setTrace(on);
      if (on) deps.output.showProtocol();
      else void vscode.window.showInformationMessage(vscode.l10n.t('The protocol log is off.'));
    },
    'parley.openWalkthrough': () => vscode.commands.executeCommand('workbench.action.openWalkthrough', `${deps.extensionId}#start`, false),
  } satisfies Readonly<Record<string, (...args: unknown[]) => unknown>>;
}
export type CommandTable = ReturnType<typeof commandTable>;
export type CommandId = keyof CommandTable;

/** Registers the table. What a command throws is shown once, with its message. */
export function registerCommands(table: CommandTable, log: Log): Disposable {
  const life = new Lifetime();
  for (const [id, run] of Object.entries<(...args: unknown[]) => unknown>(table)) {
    life.own(
      vscode.commands.registerCommand(id, async (...args: unknown[]) => {
        try {
          await run(...args);
        } catch (error) {
          log.error(`The command ${id} failed`, error);
          void vscode.window.showErrorMessage(messageOf(error));
        }
      }),
    );
  }
  return life;
}
