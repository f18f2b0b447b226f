import * as vscode from 'vscode';
import { LONGEST_TITLE } from '../bridge/contract.ts';
import { settingsId } from '../live/hostedAgents.ts';
import { stopHost } from '../live/hostProcess.ts';
import type { LiveSession } from '../live/liveSession.ts';
import type { Profile } from '../live/profiles.ts';
import type { ChangeSets } from '../live/review/changeSets.ts';
import type { Sessions } from '../live/sessions.ts';
import { answersIn } from '../session/approvalAnswers.ts';
import type { AskRef, Content, SessionId, Turn, TurnId } from '../session/model.ts';
import { answerText, findAsk, isRecorded, promptText, turnFiles } from '../session/select.ts';
import { isAllLeftOut } from '../session/shownApproval.ts';
import type { AgentHostDeps, AgentHostProcess } from './agentHost.ts';
import { branchFrom, copySession, deleteEarlier, signOut } from './agentSessions.ts';
import type { Agents } from './agents.ts';
import type { Approvals } from './approvals/approvals.ts';
import type { ApprovalRules } from './approvals/rules.ts';
import { AsideAgents } from './asideAgents.ts';
import type { ChatView } from './chat.ts';
import type { ChatPanels, FrontSessions } from './chatPanels.ts';
import { commandTitle } from './commandTitle.ts';
import { configureModel } from './configureModel.ts';
import { fileContents, selectionContent } from './context.ts';
import { editorCommands } from './editorActions.ts';
import { endpointAt } from './endpoints.ts';
import { closeSession, restartAgent } from './endWork.ts';
import { explainNoFolder, sessionFolder } from './folder.ts';
import type { Inspector } from './inspector.ts';
import type { OutputChannels } from './output.ts';
import { pickAgent } from './pickAgent.ts';
import { switchSession } from './pickSession.ts';
import type { QuickInputs } from './quickInputs.ts';
import type { ChangesReview } from './review/changes.ts';
import { wayOutOfDiff } from './review/leaveDiff.ts';
import { settleTurnFile } from './review/revert.ts';
import type { Review } from './review/review.ts';
import type { EditorSecrets } from './secrets.ts';
import { changeOptions, runSlashCommand, switchMode } from './sessionChoices.ts';
import type { SessionList } from './sessionList.ts';
import { isListedRow, type ListedRow } from './sessionsTree.ts';
import { openAllSettings, setFollow, setTrace } from './settings.ts';
import type { Starter } from './starter.ts';

export interface CommandDeps {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly starter: Starter;
  readonly approvals: Approvals;
  readonly review: Review;
  readonly changes: ChangesReview;
  readonly changeSets: ChangeSets;
  readonly chat: ChatView;
  readonly inputs: QuickInputs;
  readonly secrets: EditorSecrets;
  readonly output: OutputChannels;
  readonly rules: ApprovalRules;
  readonly list: SessionList;
  readonly inspector: Inspector;
  readonly panels: ChatPanels;
  readonly front: FrontSessions;
  readonly extensionId: string;
  readonly agentHost: AgentHostProcess;
  readonly newId: () => string;
  readonly protocols: AgentHostDeps['protocols'];
  readonly client: AgentHostDeps['client'];
  readonly log: AgentHostDeps['log'];
}

/** Milliseconds after an answer in a diff in which its end leaves the keyboard nowhere; later the user may be elsewhere. */
const LEFT_BY_DIFF = 2000;

type Commands = Readonly<Record<string, (...args: unknown[]) => unknown>>;

/** Every command of the manifest with its implementation. */
export function commandTable(deps: CommandDeps) {
  const aside = new AsideAgents(deps.agents, deps);
  return {
    ...editorCommands({
      ...deps,
      sessions: deps.front,
      chat: chatInFront(deps),
      isGuide: (id) => hasNoModel(deps.agents, id),
      profileInFront: () => deps.agents.find(settingsId(activeOf(deps)?.profile ?? '')) ?? deps.agents.default(),
      askAside: (...asked) => aside.ask(...asked),
    }),
    ...sessionCommands(deps, aside),
    ...rowCommands(deps),
    ...addCommands(deps),
    ...messageCommands(deps),
    ...approvalCommands(deps),
    ...changeCommands(deps),
    ...settingsCommands(deps),
  };
}

/** True for the bundled agent without a model. */
function hasNoModel(agents: Agents, profile: string): boolean {
  return agents.lines().find(({ id }) => id === profile)?.model === '';
}

/** The chat the user is in: a tab, or the view in the side bar. */
function chatInFront(deps: CommandDeps) {
  const { chat, panels } = deps;
  return {
    focus: async () => {
      if (!panels.focusFront()) await chat.focus();
    },
    keepPicture: async () => panels.keepPictureFront() || chat.keepPicture(),
    insert: async (contents: readonly Content[]) => {
      if (contents.length === 0) return;
      // A recording has no composer; new sessions open in the side bar.
      const active = activeOf(deps);
      if (active && isRecorded(active.store.now)) {
        if ((await deps.starter.start()) !== undefined) await chat.insert(contents);
      } else if (!panels.insertFront(contents)) await chat.insert(contents);
    },
  };
}

function sessionCommands(deps: CommandDeps, aside: AsideAgents) {
  const { sessions, agents, agentHost, chat, inputs, starter } = deps;
  const active = () => activeOf(deps);
  const othersOf = (session: LiveSession): readonly LiveSession[] =>
    sessions.all.flatMap((id) => sessions.get(id) ?? []).filter((one) => one !== session && one.profile === session.profile);
  const start = async (profile?: Profile) => {
    if ((await starter.start(profile)) !== undefined) await chat.focus();
  };
  return {
    'parley.focusChat': (sessionId?: unknown) => focusChat(deps, sessionId),
    'parley.newSession': () => start(),
    'parley.pickAgent': async () => {
      const profile = await pickAgent(agents, inputs, (chosen) => aside.check(chosen));
      if (profile) await start(profile);
    },
    'parley.switchSession': async (row?: unknown) => {
      await starter.restore();
      if (isListedRow(row)) {
        await deps.list.show(row.line.id);
        return chat.focus();
      }
      const chosen = await switchSession(sessions, deps.list, agentHost, inputs);
      if (chosen === 'new') await start();
      if (chosen === 'switched') await chat.focus();
    },
    'parley.openInEditor': async (row?: unknown) => {
      const id = isListedRow(row) ? row.line.id : active()?.id;
      if (id !== undefined) await deps.panels.open(id);
    },
    'parley.exportSession': async (row?: unknown) => {
      const id = isListedRow(row) ? row.line.id : active()?.id;
      if (id !== undefined) await deps.list.exportMarkdown(id);
    },
    'parley.importSession': async () => {
      const cwd = await sessionFolder(inputs, true);
      if (cwd === undefined) return explainNoFolder();
      if (await deps.list.importRecording(agents.default(), cwd, deps.newId)) await chat.focus();
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
    'parley.copySession': async (turnId?: unknown) => {
      const session = active();
      const profile = session && agentHost.find(session.profile);
      const edit = (id: SessionId, turn: TurnId) => chat.edit(id, turn);
      if (profile && typeof turnId === 'string') return branchFrom(session, profile, turnId, { sessions, newId: deps.newId, edit });
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
      if (session) await signOut(session, othersOf(session));
    },
    'parley.runSlashCommand': async () => {
      const session = active();
      if (session && (await runSlashCommand(session, inputs, deps.newId))) await chat.focus();
    },
  } satisfies Commands;
}

/** Run by the rows of the list of sessions. */
function rowCommands({ list, inputs }: CommandDeps) {
  const onRow = (run: (line: ListedRow['line']) => Promise<void>) => async (row?: unknown) => {
    if (isListedRow(row)) await run(row.line);
  };
  return {
    'parley.renameSession': onRow(async ({ id, title }) => {
      const typed = (await inputs.input({ title: commandTitle('renameSession'), value: title }))?.trim().slice(0, LONGEST_TITLE);
      if (typed && typed !== title) await list.rename(id, typed);
    }),
    'parley.pinSession': onRow(({ id }) => list.pin(id, true)),
    'parley.unpinSession': onRow(({ id }) => list.pin(id, false)),
    'parley.deleteSession': onRow(({ id }) => list.remove(id)),
  } satisfies Commands;
}

/** Put into the composer what the editor or a menu is about. */
function addCommands(deps: CommandDeps) {
  const add = async (clicked?: unknown, selected?: unknown) => chatInFront(deps).insert(await fileContents(clicked, selected));
  return {
    'parley.addSelection': async () => {
      const content = selectionContent(true);
      if (content) await chatInFront(deps).insert([content]);
    },
    'parley.addFile': add,
    'parley.addFolder': add,
  } satisfies Commands;
}

/** The notification of a finished turn passes its session. */
function focusChat({ sessions, chat }: CommandDeps, sessionId: unknown) {
  if (typeof sessionId === 'string' && sessions.get(sessionId)) sessions.switchTo(sessionId);
  return chat.focus();
}

/** Run by the chat's context menu. */
function messageCommands(deps: CommandDeps) {
  const { chat, panels } = deps;
  return {
    'parley.copyMessage': (place?: unknown) => copyText(textAt(deps, place, promptText)),
    'parley.copyAnswer': (place?: unknown) => copyText(textAt(deps, place, answerText)),
    'parley.retryMessage': (place?: unknown) => {
      const { session, turn } = turnAt(deps, place) ?? {};
      if (!session || !turn || isRecorded(session.store.now)) return;
      const { link } = session.store.now;
      const replaces = link.state === 'ready' && link.offers.edit === true ? { replaces: turn.id } : {};
      session.send({ type: 'prompt', turnId: deps.newId(), content: turn.prompt, ...replaces });
      if (link.state !== 'ready' || link.offers.edit === true) return;
      const text = vscode.l10n.t('This agent cannot go back: it gets this as a new message and remembers what was said before.');
      void vscode.window.showInformationMessage(text);
    },
    'parley.editMessage': async (place?: unknown) => {
      const { session, turn } = turnAt(deps, place) ?? {};
      if (session && turn && !panels.editFront(session.id, turn.id)) await chat.edit(session.id, turn.id);
    },
  } satisfies Commands;
}

/** The turn that the chat's context menu names. */
function turnAt({ sessions }: Pick<CommandDeps, 'sessions'>, place: unknown) {
  const { session: sessionId, turn: id } = (place ?? {}) as { readonly session?: unknown; readonly turn?: unknown };
  const session = typeof sessionId === 'string' ? sessions.get(sessionId) : undefined;
  const turn = session?.store.now.turns.find((one) => one.id === id);
  return session && turn && { session, turn };
}

/** The text of a turn's message, or its answer as Markdown; undefined when there is none. */
function textAt(deps: CommandDeps, place: unknown, textOf: (turn: Turn) => string): string | undefined {
  const found = turnAt(deps, place);
  return found && textOf(found.turn);
}

async function copyText(text: string | undefined): Promise<void> {
  if (text) await vscode.env.clipboard.writeText(text);
}

/** True where the user has left every change out of the edit: said in words, as no answer that allows it is shown any more. */
function allowsNothing({ sessions }: CommandDeps, ref: AskRef | undefined): boolean {
  const session = ref && sessions.get(ref.sessionId)?.store.now;
  const ask = session && findAsk(session, ref.askId);
  if (!session || ask?.kind !== 'approval' || !isAllLeftOut(ask) || answersIn(session, ask).once) return false;
  void vscode.window.showInformationMessage(vscode.l10n.t('All changes are left out. Put one back to allow it, or reject the edit.'));
  return true;
}

function approvalCommands(deps: CommandDeps) {
  const { approvals, review, rules, inputs } = deps;
  const nothingWaits = () => void vscode.window.showInformationMessage(`${commandTitle('showPending')}: ${vscode.l10n.t('Nothing found')}`);
  const askInFront = (uri: unknown) => {
    const subject = review.subjectOf(uri);
    return subject && subject.kind !== 'turn' ? subject : undefined;
  };
  // Only the answers over a change pass its line.
  const leaveProposal = async (uri: unknown, line: unknown) => {
    if (typeof line === 'number') await review.leaveProposal(uri);
  };
  const answerInDiff = async (uri: unknown, answer: (ask: AskRef) => Promise<boolean>): Promise<void> => {
    const ask = askInFront(uri);
    if (!ask) return;
    const began = performance.now();
    const leave = wayOutOfDiff(review, deps.chat);
    if (!(await answer(ask))) return void approvals.show(ask.sessionId, ask.askId);
    const isElsewhere = () => deps.chat.hasFocusSince(began) || approvals.asking !== undefined;
    if (!isElsewhere() && (await review.diffsClosed(ask.sessionId, ask.askId, LEFT_BY_DIFF)) && !isElsewhere()) await leave();
  };
  const decideDiff = (how: 'accept' | 'reject', uri: unknown) =>
    answerInDiff(uri, ({ sessionId, askId }) => approvals.decide(sessionId, askId, how));
  const decideAll = async (how: 'accept' | 'reject') => {
    const session = activeOf(deps);
    const count = session ? await approvals.decideAll(session.id, how) : 0;
    if (count === 0) nothingWaits();
  };
  return {
    // `covered`: Esc has closed another quick input, which had closed a pick.
    'parley.setAside': async (covered?: unknown) => {
      if (covered === true) return approvals.comeBack();
      // A pick that has come up meanwhile keeps the keyboard.
      if (!approvals.asking) await inputs.dismissed();
      await approvals.dismissed();
    },
    // Run by the links of notifications.
    'parley.decide': async (sessionId?: unknown, askId?: unknown, how?: unknown) => {
      if (typeof sessionId !== 'string' || typeof askId !== 'string' || (how !== 'accept' && how !== 'reject')) return;
      await approvals.decide(sessionId, askId, how);
    },
    // A notification passes its own ask.
    'parley.showPending': async (sessionId?: unknown, askId?: unknown) => {
      if (typeof sessionId === 'string' && typeof askId === 'string' && approvals.show(sessionId, askId)) return;
      if (!approvals.showPending()) nothingWaits();
    },
    'parley.acceptAll': () => decideAll('accept'),
    'parley.rejectAll': () => decideAll('reject'),
    'parley.acceptDiff': async (uri?: unknown, line?: unknown) => {
      await leaveProposal(uri, line);
      if (!allowsNothing(deps, askInFront(uri))) await decideDiff('accept', uri);
    },
    'parley.rejectDiff': async (uri?: unknown, line?: unknown) => {
      await leaveProposal(uri, line);
      await decideDiff('reject', uri);
    },
    // The keybindings of the answers pass their letter.
    'parley.diffAnswers': async (uri?: unknown, line?: unknown) => {
      const ask = askInFront(uri);
      await leaveProposal(uri, line);
      if (ask) approvals.showFromDiff(ask.sessionId, ask.askId, typeof uri === 'string' ? uri : undefined);
    },
    'parley.diffFeedback': async (uri?: unknown, line?: unknown) => {
      await leaveProposal(uri, line);
      await answerInDiff(uri, ({ sessionId, askId }) => approvals.rejectWithFeedback(sessionId, askId));
    },
    'parley.toggleHunk': async (uri?: unknown, line?: unknown, shown?: unknown) => {
      await review.toggleHunk(uri, line, shown);
      if (typeof line === 'number') approvals.renewPick();
    },
    'parley.manageRules': () => rules.manage(),
  } satisfies Commands;
}

function changeCommands(deps: CommandDeps) {
  const { sessions, review, changes, changeSets, chat } = deps;
  const go = (way: 1 | -1) => (review.active?.kind === 'ask' ? goInDiff(way) : changes.go(way));
  return {
    'parley.reviewChanges': async () => {
      const session = activeOf(deps);
      const turn = session?.store.now.turns.findLast((one) => turnFiles(one).length > 0);
      if (session && turn) await review.openTurn(session.id, turn.id);
    },
    'parley.keepHunk': (uri?: unknown, place?: unknown, index?: unknown) => changes.settleHunk('keep', uri, place, index),
    'parley.undoHunk': (uri?: unknown, place?: unknown, index?: unknown) => changes.settleHunk('undo', uri, place, index),
    'parley.nextHunk': () => go(1),
    'parley.previousHunk': () => go(-1),
    'parley.keepFile': (row?: unknown) => changes.settleFile('keep', row),
    'parley.undoFile': (row?: unknown) => changes.settleFile('undo', row),
    'parley.keepAllChanges': () => changes.settleAll('keep'),
    'parley.undoAllChanges': () => changes.settleAll('undo'),
    'parley.openAllChanges': () => changes.openAll(),
    'parley.toggleReviewed': () => changes.toggleReviewed(),
    'parley.openChange': (row?: unknown) => changes.open(row),
    'parley.restoreFiles': async () => {
      const chosen = await changes.choosePrompt();
      const restored = chosen && (await changes.restoreFiles(chosen));
      if (restored?.conversation) await chat.edit(restored.sessionId, restored.turnId);
    },
    'parley.undoRestoreFiles': () => changes.undoRestore(),
    'parley.revertDiff': async (uri?: unknown) => {
      const subject = review.subjectOf(uri);
      const session = subject && sessions.get(subject.sessionId);
      if (subject?.kind === 'turn' && session) {
        await settleTurnFile(session.store.now, subject.turnId, subject.file, 'undo', changeSets);
      }
    },
  } satisfies Commands;
}

async function goInDiff(way: 1 | -1): Promise<void> {
  await vscode.commands.executeCommand(`workbench.action.compareEditor.${way === 1 ? 'next' : 'previous'}Change`);
}

/** VS Code's own setting for agent hosts. */
const REMOTE_HOSTS = 'chat.remoteAgentHosts';
/** How that setting names it. */
const HOST_NAME = 'Parley';

type OwnHost = Pick<AgentHostProcess, 'own' | 'start' | 'reconnect' | 'isBusy'>;

function settingsCommands(deps: CommandDeps) {
  const { inputs, secrets, output, inspector, extensionId, agentHost, chat } = deps;
  return {
    'parley.startAgentHost': () => startAgentHost(agentHost),
    'parley.stopAgentHost': () => stopAgentHost(agentHost),
    'parley.connectChat': () => connectChat(agentHost),
    'parley.follow': () => setFollow(true),
    'parley.stopFollowing': () => setFollow(false),
    // The welcome passes the address of an endpoint that was found.
    'parley.configureModel': async (start?: unknown) => {
      const keep = await configureModel(inputs, secrets, endpointAt(start, vscode.env.language));
      if (!keep) return;
      await chat.focus();
      await keep();
    },
    'parley.forgetModelKey': async () => {
      await secrets.setModelKey(undefined);
      void vscode.window.showInformationMessage(`${commandTitle('forgetModelKey')}: ${vscode.l10n.t('Done')}`);
    },
    'parley.openSettings': () => openAllSettings(inputs, extensionId),
    'parley.showLog': () => output.show(),
    'parley.inspect': () => {
      const session = activeOf(deps);
      if (session) inspector.open(session);
    },
    'parley.toggleTrace': async () => {
      const on = !output.tracing;
      await setTrace(on);
      if (on) output.showProtocol();
      else void vscode.window.showInformationMessage(`${commandTitle('toggleTrace')}: ${vscode.l10n.t('off')}`);
    },
    'parley.openWalkthrough': () => vscode.commands.executeCommand('workbench.action.openWalkthrough', `${extensionId}#start`, false),
  } satisfies Commands;
}

/** The session the user is in. */
function activeOf({ sessions, front }: Pick<CommandDeps, 'sessions' | 'front'>): LiveSession | undefined {
  return front.active === undefined ? undefined : sessions.get(front.active);
}

export type CommandTable = ReturnType<typeof commandTable>;
export type CommandId = keyof CommandTable;

async function startAgentHost(own: OwnHost): Promise<void> {
  const wasRunning = own.own !== undefined;
  const host = await own.start();
  if (wasRunning) own.reconnect();
  const connect = commandTitle('connectChat');
  // The message stays when the host has ended: it tells what happened, not what is.
  const text = vscode.l10n.t('The agent host was started at {0}. Closing this window does not stop it.', host.address);
  if ((await vscode.window.showInformationMessage(text, connect)) === connect) await connectChat(own);
}

/** Ends the host, after asking while an agent works in it. */
async function stopAgentHost(own: OwnHost): Promise<void> {
  const host = own.own;
  if (host && (await own.isBusy(host)) && !(await mayStop())) return;
  if (host) stopHost(host);
  void vscode.window.showInformationMessage(vscode.l10n.t('The agent host was stopped.'));
}

async function mayStop(): Promise<boolean> {
  const stop = vscode.l10n.t('Stop');
  const detail = vscode.l10n.t('Agents are working in it, maybe for other windows. Their turns end.');
  const options = { modal: true, detail };
  return (await vscode.window.showWarningMessage(`${commandTitle('stopAgentHost')}?`, options, stop)) === stop;
}

/** Writes the host into VS Code's setting once the user has agreed. Without that setting, tells the user what to do. */
async function connectChat(own: OwnHost): Promise<void> {
  const { address, token } = await own.start();
  const entry = { name: HOST_NAME, address: address.replace(/^ws:\/\//, ''), connectionToken: token };
  const setting = vscode.workspace.getConfiguration();
  const known = setting.inspect(REMOTE_HOSTS);
  if (known?.defaultValue === undefined) return showHowToConnect(entry);
  const write = vscode.l10n.t('Save');
  const question = `${commandTitle('connectChat')}?`;
  const detail = vscode.l10n.t('This adds Parley, with the token of its host, to {0} in your user settings.', REMOTE_HOSTS);
  if ((await vscode.window.showInformationMessage(question, { modal: true, detail }, write)) !== write) return;
  const before: unknown = known.globalValue;
  const others = Array.isArray(before) ? before.filter((one: unknown) => !isOurs(one)) : [];
  await setting.update(REMOTE_HOSTS, [...others, entry], vscode.ConfigurationTarget.Global);
  void vscode.window.showInformationMessage(
    vscode.l10n.t('Parley is in the settings. Its agents are in the window of “Chat: Open Agents Window”.'),
  );
}

/** Settings that are not registered cannot be written by an extension. A VS Code in the browser learns of a host from its server. */
async function showHowToConnect(entry: {
  readonly name: string;
  readonly address: string;
  readonly connectionToken: string;
}): Promise<void> {
  const copy = vscode.l10n.t('Copy');
  const port = entry.address.slice(entry.address.lastIndexOf(':') + 1);
  const options = `--agent-host-bridge-port ${port} --agent-host-bridge-connection-token`;
  const text = vscode.l10n.t(
    'This window has no setting {0}. If your VS Code has “Chat: Open Agents Window”, copy the entry into your user settings. In the browser, copy the options with which its server is to be started: {1}',
    REMOTE_HOSTS,
    `${options} …`,
  );
  if ((await vscode.window.showWarningMessage(text, copy)) !== copy) return;
  if (vscode.env.uiKind === vscode.UIKind.Web) return vscode.env.clipboard.writeText(`${options} ${entry.connectionToken}`);
  await vscode.env.clipboard.writeText(JSON.stringify({ [REMOTE_HOSTS]: [entry] }, undefined, 2));
  await vscode.commands.executeCommand('workbench.action.openSettingsJson');
}

function isOurs(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'name' in value && value.name === HOST_NAME;
}
