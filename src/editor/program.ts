import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import * as vscode from 'vscode';
import { setGuardedFiles } from '../base/guardedFiles.ts';
import { filled, setTranslator } from '../base/l10n.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { messageOf } from '../base/log.ts';
import { childTerminals } from '../live/childTerminals.ts';
import { reconnectHosted, settingsId } from '../live/hostedAgents.ts';
import { Journal } from '../live/journal/journal.ts';
import { Amendments } from '../live/review/amendments.ts';
import { ChangeSets, type PublishEvent } from '../live/review/changeSets.ts';
import { Sessions } from '../live/sessions.ts';
import { AgentHostProcess } from './agentHost.ts';
import { Agents } from './agents.ts';
import { Approvals } from './approvals/approvals.ts';
import { pickRoom, type WindowSize } from './approvals/pickRoom.ts';
import { ApprovalRules, RuleStore } from './approvals/rules.ts';
import { Attention } from './attention.ts';
import { bundlesIn, outsidePorts } from './bundles.ts';
import { ChatView } from './chat.ts';
import { chatAnswers } from './chatAnswers.ts';
import { ChatPanels, FrontSessions } from './chatPanels.ts';
import { CodeColouring } from './codeColouring.ts';
import type { CommandTable } from './commands.ts';
import { editorFiles, fileEffects, unsavedText } from './files.ts';
import { sessionFolder } from './folder.ts';
import { Inspector } from './inspector.ts';
import { OutputChannels } from './output.ts';
import { QuickInputs } from './quickInputs.ts';
import { RecentCommands } from './recentCommands.ts';
import { ChangesReview } from './review/changes.ts';
import type { ReviewDocuments } from './review/documents.ts';
import { FileHunks } from './review/fileHunks.ts';
import { wayBackFromDiff, wayOutOfDiff } from './review/leaveDiff.ts';
import { showProposalLenses } from './review/proposalLenses.ts';
import { ProposedFiles } from './review/proposedFiles.ts';
import { restoreText } from './review/restoredTexts.ts';
import { Review } from './review/review.ts';
import { closeRemovedFiles } from './review/reviewTabs.ts';
import { SavedTexts } from './review/savedTexts.ts';
import { followSaves } from './review/userSaves.ts';
import { EditorSecrets } from './secrets.ts';
import { SessionList } from './sessionList.ts';
import {
  approvalsOpenDiff,
  approvalsPopUp,
  editorLineHeight,
  followOn,
  guardedFiles,
  migrateEditorActions,
  notifies,
  onSettings,
  windowZoom,
} from './settings.ts';
import { Starter } from './starter.ts';
import { keepContextKeys, showStatus } from './status.ts';
import { TerminalPanel } from './terminalPanel.ts';
import { Traffic } from './traffic.ts';
import { Typing } from './typing.ts';
import { warnOfUnsaved } from './unsaved.ts';

/** Milliseconds in which consecutive settings changes are gathered. */
const SETTINGS_REST = 400;

/** The entry points of the running program, for everything the editor opens or runs. */
export interface Program {
  showChat(view: vscode.WebviewView): void;
  /** Restores this window's sessions when the list of changes is on the screen, as the chat does. */
  showChanges(): Promise<void>;
  /** Fills the list of sessions when it is first on the screen, in place of its stand-in. */
  showSessions(standIn: Disposable): Promise<void>;
  /** Fills a tab that the editor restores with the window. */
  restorePanel(panel: vscode.WebviewPanel, state: unknown): Promise<void>;
  /** Puts back a text of ours that a diff of an earlier window shows. */
  restoreText(uri: vscode.Uri): Promise<void>;
  /** Runs a command of the manifest. Never rejects: errors are logged and shown. */
  run(command: string, args: readonly unknown[]): Promise<void>;
  /** Settles when the agents have ended; they start ending when `life` ends. */
  agentsEnded(): Promise<void>;
}

/** Texts that are not on disk: what is proposed, and what was there before the changes under review. */
export interface Texts {
  readonly proposed: ReviewDocuments;
  readonly bases: ReviewDocuments;
}

/** Builds everything once, in order, into one Lifetime: each part after the parts it needs. */
export function startProgram(context: vscode.ExtensionContext, life: Lifetime, texts: Texts): Program {
  const core = buildSessions(context, life, texts.proposed);
  const surfaces = buildSurfaces(context, life, core, texts.bases);
  const commands = serveChat(context, life, core, surfaces);
  applySettings(life, core, surfaces);
  return {
    showChat: (view) => surfaces.chat.show(view),
    showChanges: () => surfaces.starter.restore(),
    showSessions: sessionsOnDemand(life, core, surfaces),
    restorePanel: async (panel, state) => {
      await surfaces.starter.restore();
      await surfaces.panels.restore(panel, state);
    },
    restoreText: async (uri) => {
      await surfaces.starter.restore();
      await restoreText(uri, core.changeSets, surfaces.review, surfaces.hunks);
    },
    run: async (command, args) => {
      try {
        const table: Readonly<Record<string, (...args: unknown[]) => unknown>> = await commands();
        await table[command]?.(...args);
      } catch (error) {
        core.log.error(`The command ${command} failed`, error);
        void vscode.window.showErrorMessage(messageOf(error));
      }
    },
    agentsEnded: () => core.sessions.agentsEnded(),
  };
}

type BuiltSessions = ReturnType<typeof buildSessions>;
type Surfaces = ReturnType<typeof buildSurfaces>;

/** The sessions, with everything their agents may use of the editor. */
function buildSessions(context: vscode.ExtensionContext, life: Lifetime, documents: ReviewDocuments) {
  const translate = vscode.l10n.t;
  setTranslator((english, ...args) => filled(translate(english), args));
  setGuardedFiles(guardedFiles());
  const output = life.own(new OutputChannels());
  const traffic = new Traffic(Date.now);
  const { log } = output;
  const secrets = new EditorSecrets(context.secrets);
  const rules = new RuleStore(context.workspaceState);
  const bundles = bundlesIn(context.extensionPath);
  const protocols = () => bundles.protocols().protocols;
  const version = String((context.extension.packageJSON as { readonly version?: unknown }).version ?? '');
  const client = { name: 'Parley', version };
  const agents = new Agents({ secrets, protocols, extensionPath: context.extensionPath, log });
  const data = path.join(context.globalStorageUri.fsPath, 'host');
  const agentHost = new AgentHostProcess({ data, extensionPath: context.extensionPath, agents, protocols, client, log });
  const sessions = life.own(
    new Sessions({
      protocols,
      profile: (id) => agentHost.find(id),
      launch: (profile, session) => agentHost.launch(profile, session),
      ports: ({ cwd, profile }) => {
        const terminals = childTerminals({ cwd });
        const tools = { cwd, lsp: bundles.languageTools, documents, files: editorFiles, terminals };
        return {
          ...outsidePorts,
          secrets: secrets.forAgent(settingsId(profile)),
          ...bundles.editorTools().sessionTools(tools),
          files: editorFiles,
          terminals,
        };
      },
      rules: (id, profile) => rules.of(settingsId(profile), id),
      client,
      log,
      trace: (id, way, message) => {
        output.trace(id, way, message);
        traffic.message(id, way, message);
      },
      now: Date.now,
      newId: randomUUID,
      journal: new Journal(path.join(context.globalStorageUri.fsPath, 'sessions'), log),
      windowKey,
    }),
  );
  documents.saveIn(new SavedTexts(path.join(context.globalStorageUri.fsPath, 'proposed'), log));
  const publish: PublishEvent = (id, event) => sessions.get(id)?.publish(event);
  const contents = path.join(context.globalStorageUri.fsPath, 'review');
  const changeSets = life.own(new ChangeSets(sessions, contents, () => bundles.review().ChangeSet, fileEffects, publish, log));
  life.own(new Amendments(sessions, changeSets, fileEffects, publish, log));
  sessions.holdPrompts((id, turnId) => changeSets.beforePrompt(id, turnId));
  life.own(
    agentHost.onStarted(({ isNew }) =>
      reconnectHosted(
        sessions.all.flatMap((id) => sessions.get(id) ?? []),
        isNew,
      ),
    ),
  );
  void changeSets.prune(Date.now()).catch((error: unknown) => log.error('Old changes could not be removed', error));
  return { output, traffic, log, documents, secrets, rules, agents, agentHost, protocols, client, sessions, changeSets };
}

/** The parts that show the sessions and send the user's requests to them. */
function buildSurfaces(
  context: vscode.ExtensionContext,
  life: Lifetime,
  { sessions, agents, agentHost, log, ...core }: BuiltSessions,
  bases: ReviewDocuments,
) {
  const failed = (what: string) => (error: unknown) => log.error(what, error);
  const chat = life.own(new ChatView(context.extensionUri, log));
  const restoreFocus = (requested = false) =>
    chat.focused || (requested && chat.focusedBefore) ? () => chat.goBack().catch(failed('The chat could not be focused')) : undefined;
  // Most come up on a command from the palette, which has taken the keyboard from the page by then.
  const inputs = life.own(new QuickInputs(() => restoreFocus(true)));
  const rules = life.own(new ApprovalRules(core.rules, sessions, inputs));
  const review = life.own(new Review(sessions, core.documents, log, core.changeSets));
  const proposed = life.own(new ProposedFiles(sessions));
  const hunks = life.own(new FileHunks(core.changeSets, bases, log));
  life.own(followSaves(core.changeSets));
  const changes = life.own(new ChangesReview(sessions, core.changeSets, hunks, inputs, log));
  life.own(closeRemovedFiles(core.changeSets, log));
  const starter = new Starter(sessions, { default: () => agents.default(), placeOf: (profile) => agentHost.placeOf(profile) }, inputs, log);
  const typing = new Typing(Date.now);
  const panels = life.own(new ChatPanels(context.extensionUri, sessions, log));
  const front = new FrontSessions(sessions, panels);
  const list = new SessionList(sessions, agentHost, context.globalState, Date.now);
  const size: { window?: WindowSize } = {};
  const approvals = life.own(
    new Approvals({
      host: sessions,
      inputs,
      popUp: approvalsPopUp,
      openDiffToo: approvalsOpenDiff,
      room: () => pickRoom(size.window, editorLineHeight(), windowZoom()),
      idleIn: () => typing.idleIn(),
      openDiff: (sessionId, askId, file) => review.openAsk(sessionId, askId, file).catch(failed('A diff could not be opened')),
      nothingOpen: () => vscode.window.tabGroups.activeTabGroup.activeTab === undefined,
      enterDiff: (sessionId, askId) => void review.look(sessionId, askId, {}).catch(failed('A diff could not be opened')),
      look: (sessionId, askId, at) => void review.look(sessionId, askId, at).catch(failed('What is asked could not be opened')),
      openText: (title, text) => void review.openText(title, text).catch(failed('A text could not be opened')),
      diffsClosed: async (sessionId, askId) => void (await review.diffsClosed(sessionId, askId)),
      edited: (sessionId, askId) => proposed.compare(sessionId, askId).then(() => review.edited(sessionId, askId)),
      keep: (text) => void chat.insert([{ type: 'text', text }]).catch(failed('Feedback could not be kept')),
      addSessionRule: (sessionId, rule) => void core.rules.addForSession(sessionId, rule).catch(failed('A rule could not be kept')),
      makeRule: (sessionId, ask, shown) => rules.make(sessionId, ask, shown),
      manageRules: () => void rules.manage().catch(failed('The approval rules could not be shown')),
      restoreFocus: restoreFocus,
      wayBackFromDiff: () => wayBackFromDiff(chat),
      wayOutOfDiff: () => wayOutOfDiff(review, chat),
      shown: (ask) => {
        chat.showPick(ask);
        panels.showPick(ask);
        void vscode.commands.executeCommand('setContext', 'parley.approvalShown', ask !== undefined);
      },
      covered: (isCovered) => void vscode.commands.executeCommand('setContext', 'parley.approvalCovered', isCovered),
      // The editor runs one of its own commands after everything it received before.
      drawn: async () => void (await vscode.commands.executeCommand('setContext', 'parley.approvalShown', true)),
    }),
  );
  life.own(
    onTyped(() => {
      typing.noted();
      approvals.typedElsewhere();
    }),
  );
  life.own(
    new Attention({
      host: sessions,
      focused: () => vscode.window.state.focused,
      onFocus: (listener) => vscode.window.onDidChangeWindowState(({ focused }) => focused && listener()),
      notifies,
    }),
  );
  life.own(review.onLeft((ask) => void approvals.diffClosed(ask)));
  const inspector = life.own(new Inspector(context.extensionUri, core.traffic, sessions));
  life.own(keepContextKeys(front, review));
  life.own(showProposalLenses(sessions, review));
  followWhenOn(life, sessions, log);
  life.own(warnOfUnsaved(sessions));
  life.own(showStatus(sessions, (count) => chat.setWaiting(count)));
  return { inputs, rules, review, hunks, changes, starter, typing, size, chat, panels, front, list, approvals, inspector };
}

function codeColouring(extensionPath: string, life: Lifetime): CodeColouring {
  const colouring = life.own(new CodeColouring(path.join(extensionPath, 'dist')));
  life.own(vscode.extensions.onDidChange(() => colouring.forget()));
  life.own(onSettings('editor.tokenColorCustomizations', () => colouring.forgetTheme()));
  return colouring;
}

/** The answers for the chat's pages, and the commands, which load when the first one runs. */
/** Tells when the user moves the caret of a text editor by a key. */
function onTyped(typed: () => void): vscode.Disposable {
  return vscode.window.onDidChangeTextEditorSelection(({ kind }) => kind === vscode.TextEditorSelectionChangeKind.Keyboard && typed());
}

function serveChat(context: vscode.ExtensionContext, life: Lifetime, core: BuiltSessions, surfaces: Surfaces): () => Promise<CommandTable> {
  const { sessions, agents, log } = core;
  const { approvals, chat, panels, size, starter, typing } = surfaces;
  let commands: Promise<CommandTable> | undefined;
  const commandsLoaded = (): Promise<CommandTable> => {
    commands ??= import('./commands.ts').then(({ commandTable }) =>
      commandTable({
        ...core,
        ...surfaces,
        extensionId: context.extension.id,
        newId: randomUUID,
      }),
    );
    return commands;
  };
  const terminals = life.own(new TerminalPanel(sessions));
  const link: Parameters<typeof panels.serve>[0] = {
    host: sessions,
    answers: chatAnswers({
      ...core,
      ...surfaces,
      terminals,
      colouring: codeColouring(context.extensionPath, life),
      recent: life.own(new RecentCommands()),
      newId: randomUUID,
      run: async (id, argument) => (await commandsLoaded())[id](argument),
    }),
    profiles: () => agents.lines(),
    typing: {
      noted: () => {
        typing.noted();
        approvals.typedElsewhere();
        starter.typed();
      },
      over: () => typing.over(),
    },
    sized: (window) => {
      size.window = window;
      approvals.resized();
    },
    unsaved: unsavedText,
    judge: (session, ask) => approvals.onCard(session, ask),
    asking: () => approvals.asking,
    answer: (sessionId, askId, answer) => approvals.answer(sessionId, askId, answer),
    ready: () => void starter.chatShown().catch((error: unknown) => log.error('A session could not be started', error)),
  };
  chat.serve(link);
  panels.serve(link);
  life.own(chat.onFocused(() => panels.leave()));
  surfaces.changes.restoreWhenShown(() => starter.restore());
  life.own(
    core.changeSets.onBroughtBack(({ sessionId, turnId }) => {
      for (const surface of [chat, panels]) surface.endEdit(sessionId, turnId);
    }),
  );
  return commandsLoaded;
}

function sessionsOnDemand(life: Lifetime, { sessions, log }: BuiltSessions, { inputs, list, starter }: Surfaces): Program['showSessions'] {
  let shown: Promise<void> | undefined;
  return (standIn) => {
    shown ??= Promise.all([import('./sessionsTree.ts'), starter.restore()]).then(async ([{ SessionsTree }]) => {
      standIn.dispose();
      // An older editor forgets the view by its name a moment later, and would forget the one that is made in between.
      await new Promise((resolve) => setImmediate(resolve));
      if (!life.ended) life.own(new SessionsTree({ sessions, list, folder: () => sessionFolder(inputs, false), log }));
    });
    return shown;
  };
}

/** Loads what follows the agent once the user turns it on. */
function followWhenOn(life: Lifetime, sessions: BuiltSessions['sessions'], log: BuiltSessions['log']): void {
  const off = life.own(new Lifetime());
  const start = async (): Promise<void> => {
    if (!followOn()) return;
    off.dispose();
    const { follow } = await import('./follow.ts');
    const deps = { on: followOn, onSetting: (changed: () => void) => onSettings('parley.follow', changed), now: Date.now, log };
    if (!life.ended) life.own(follow(deps)(sessions));
  };
  off.own(onSettings('parley.follow', () => void start()));
  void start();
}

/** Applies changes of the settings, the model's key and the trust of the workspace. */
function applySettings(life: Lifetime, { log, output, secrets, agentHost }: BuiltSessions, { chat, panels, starter }: Surfaces): void {
  const failed = (what: string) => (error: unknown) => log.error(what, error);
  const hostSettings = () => void agentHost.settingsChanged().catch(failed('The agent host was not told of the settings'));
  let rest: NodeJS.Timeout | undefined;
  const modelChanged = () => {
    chat.agentsChanged();
    panels.agentsChanged();
    clearTimeout(rest);
    rest = setTimeout(() => {
      hostSettings();
      void starter.modelChanged().catch(failed('The model settings could not be applied'));
    }, SETTINGS_REST);
  };
  life.onEnd(() => clearTimeout(rest));
  void migrateEditorActions().catch(failed('The setting parley.editorActions could not be migrated'));
  life.own(onSettings('parley.model', modelChanged));
  life.own(secrets.onModelKey(modelChanged));
  for (const section of ['parley.agents', 'parley.approvals.rules', 'parley.approvals.guardedFiles'])
    life.own(onSettings(section, hostSettings));
  life.own(onSettings('parley.approvals.guardedFiles', () => setGuardedFiles(guardedFiles())));
  life.own(onSettings('parley.trace', () => output.settingsChanged()));
  const agentsChanged = () => {
    chat.agentsChanged();
    panels.agentsChanged();
    void starter.agentsChanged().catch(failed('The default agent could not be started'));
  };
  life.own(onSettings('parley.agents', agentsChanged));
  life.own(onSettings('parley.defaultAgent', agentsChanged));
  life.own(vscode.workspace.onDidGrantWorkspaceTrust(() => void starter.chatShown().catch(failed('Sessions could not be restored'))));
  life.own(
    vscode.workspace.onDidChangeWorkspaceFolders(() => void starter.foldersChanged().catch(failed('A session could not be started'))),
  );
}

/** A key that stays the same across reloads, however the window was opened: the folders it shows. */
function windowKey(): string {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
  return createHash('sha256').update(folders.sort().join('\n')).digest('hex').slice(0, 16);
}
