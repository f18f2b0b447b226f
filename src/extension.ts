import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import * as vscode from 'vscode';
import { setGuardedFiles } from './base/guardedFiles.ts';
import { setTranslator, type Translate } from './base/l10n.ts';
import { Lifetime } from './base/lifetime.ts';
import { Agents } from './editor/agents.ts';
import { Approvals } from './editor/approvals/approvals.ts';
import { RuleStore, Rules } from './editor/approvals/rules.ts';
import { Attention } from './editor/attention.ts';
import { bundlesIn, outsidePorts } from './editor/bundles.ts';
import { Chat } from './editor/chat.ts';
import { chatAnswers } from './editor/chatAnswers.ts';
import { ChatPanels } from './editor/chatPanels.ts';
import { commandTable, registerCommands } from './editor/commands.ts';
import { keepContextKeys } from './editor/contextKeys.ts';
import { offerCodeActions } from './editor/editorActions.ts';
import { editorFiles, unsavedText } from './editor/files.ts';
import { follow } from './editor/follow.ts';
import { Inspector } from './editor/inspector.ts';
import { Output } from './editor/output.ts';
import { QuickInputs } from './editor/quickInputs.ts';
import { RecentCommands } from './editor/recentCommands.ts';
import { Changes, fileEffects } from './editor/review/changes.ts';
import { ReviewDocuments } from './editor/review/documents.ts';
import { showProposalLenses } from './editor/review/proposalLenses.ts';
import { Review } from './editor/review/review.ts';
import { Secrets } from './editor/secrets.ts';
import { SessionList } from './editor/sessionList.ts';
import { approvalsOpenDiff, approvalsPopUp, followOn, guardedFiles, notifies, onSettings } from './editor/settings.ts';
import { Starter } from './editor/starter.ts';
import { showStatus } from './editor/status.ts';
import { TerminalPanel } from './editor/terminalPanel.ts';
import { Traffic } from './editor/traffic.ts';
import { Typing } from './editor/typing.ts';
import { warnOfUnsaved } from './editor/unsaved.ts';
import { childTerminals } from './live/childTerminals.ts';
import { Journal } from './live/journal/journal.ts';
import { Amendments } from './live/review/amendments.ts';
import { ChangeSets, type PublishEvent } from './live/review/changeSets.ts';
import { Sessions } from './live/sessions.ts';

/** Milliseconds that settings which are written one after another are gathered. */
const SETTINGS_REST = 400;

let running: { readonly life: Lifetime; readonly sessions: Sessions } | undefined;

/** Builds everything once, in order, into one Lifetime: what a part needs is built above it. */
export function activate(context: vscode.ExtensionContext): void {
  const life = new Lifetime();
  context.subscriptions.push(life);
  const core = buildSessions(context, life);
  running = { life, sessions: core.sessions };
  const surfaces = buildSurfaces(context, life, core);
  showChat(context, life, core, surfaces);
  applySettings(life, core, surfaces);
}

/** The editor waits for this: agents end with the window. */
export async function deactivate(): Promise<void> {
  const ending = running;
  running = undefined;
  ending?.life.dispose();
  await ending?.sessions.gone();
}

type Core = ReturnType<typeof buildSessions>;
type Surfaces = ReturnType<typeof buildSurfaces>;

/** The sessions, with all that their agents may use of the editor. */
function buildSessions(context: vscode.ExtensionContext, life: Lifetime) {
  const translateText = vscode.l10n.t;
  const translate: Translate = (english, ...args) => translateText(english, ...args);
  setTranslator(translate);
  setGuardedFiles(guardedFiles());
  const output = life.own(new Output());
  const traffic = new Traffic(Date.now);
  const { log } = output;
  const documents = life.own(new ReviewDocuments());
  const secrets = new Secrets(context.secrets);
  const rules = new RuleStore(context.workspaceState);
  const bundles = bundlesIn(context.extensionPath);
  const protocols = () => bundles.protocols().protocolsIn(translate, guardedFiles());
  const agents = new Agents({ secrets, protocols, extensionPath: context.extensionPath, log });
  const version = String((context.extension.packageJSON as { readonly version?: unknown }).version ?? '');
  const sessions = life.own(
    new Sessions({
      protocols,
      profile: (id) => agents.find(id),
      launch: (profile, session) => agents.launch(profile, session),
      ports: ({ cwd, profile }) => {
        const terminals = childTerminals({ cwd });
        const tools = { cwd, lsp: bundles.languageTools, documents, files: editorFiles, terminals };
        return {
          ...outsidePorts,
          secrets: secrets.forAgent(profile),
          ...bundles.editorTools().sessionTools(tools),
          files: editorFiles,
          terminals,
        };
      },
      rules: (id, profile) => rules.of(profile, id),
      client: { name: 'Parley', version },
      log,
      trace: (id, way, message) => {
        output.trace(id, way, message);
        traffic.message(id, way, message);
      },
      now: Date.now,
      newId: randomUUID,
      journal: new Journal(path.join(context.globalStorageUri.fsPath, 'sessions'), log),
      windowKey: windowKey(),
    }),
  );
  const publish: PublishEvent = (id, event) => sessions.get(id)?.publish(event);
  const changeSets = life.own(new ChangeSets(sessions, path.join(context.globalStorageUri.fsPath, 'review'), fileEffects, publish, log));
  life.own(new Amendments(sessions, changeSets, fileEffects, publish, log));
  sessions.holdPrompts((id, turnId) => changeSets.beforePrompt(id, turnId));
  void changeSets.prune(Date.now()).catch((error: unknown) => log.error('Old changes could not be removed', error));
  return { output, traffic, log, documents, secrets, rules, agents, protocols, sessions, changeSets };
}

/** What shows the sessions and sends what the user wants of them. */
function buildSurfaces(context: vscode.ExtensionContext, life: Lifetime, { sessions, agents, log, ...core }: Core) {
  const failed = (what: string) => (error: unknown) => log.error(what, error);
  const inputs = life.own(new QuickInputs());
  const rules = life.own(new Rules(core.rules, sessions, inputs));
  const review = life.own(new Review(sessions, core.documents, log, core.changeSets));
  const changes = life.own(new Changes(sessions, core.changeSets, inputs, log));
  const starter = new Starter(sessions, agents, inputs, log);
  const typing = new Typing(Date.now);
  life.own(
    vscode.window.onDidChangeTextEditorSelection(({ kind }) => kind === vscode.TextEditorSelectionChangeKind.Keyboard && typing.noted()),
  );
  const chat = life.own(new Chat(context.extensionUri, log));
  const panels = life.own(new ChatPanels(context.extensionUri, sessions, log));
  const list = new SessionList(sessions, context.globalState, Date.now);
  const approvals = life.own(
    new Approvals({
      host: sessions,
      inputs,
      popUp: approvalsPopUp,
      openDiffToo: approvalsOpenDiff,
      idleIn: () => typing.idleIn(),
      openDiff: (sessionId, askId, file) => void review.openAsk(sessionId, askId, file).catch(failed('A diff could not be opened')),
      openText: (title, text) => void review.openText(title, text).catch(failed('A text could not be opened')),
      edited: (sessionId, askId) => review.edited(sessionId, askId),
      addSessionRule: (sessionId, rule) => core.rules.addForSession(sessionId, rule),
      makeRule: (sessionId, ask) => rules.make(sessionId, ask),
      manageRules: () => void rules.manage().catch(failed('The approval rules could not be shown')),
      restoreFocus: () => (chat.focused ? () => chat.goBack().catch(failed('The chat could not be focused')) : undefined),
      shown: (on) => void vscode.commands.executeCommand('setContext', 'parley.approvalShown', on),
    }),
  );
  life.own(vscode.commands.registerCommand('parley.setAside', () => approvals.setAside()));
  // Only the links of notifications run it.
  life.own(
    vscode.commands.registerCommand('parley.decide', (sessionId: unknown, askId: unknown, how: unknown) => {
      if (typeof sessionId !== 'string' || typeof askId !== 'string' || (how !== 'accept' && how !== 'reject')) return undefined;
      return approvals.decide(sessionId, askId, how);
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
  const inspector = life.own(new Inspector(context.extensionUri, core.traffic, sessions));
  life.own(keepContextKeys(sessions, review));
  life.own(showProposalLenses(sessions, review));
  life.own(follow({ on: followOn, onSetting: (changed) => onSettings('parley.follow', changed), now: Date.now, log })(sessions));
  life.own(warnOfUnsaved(sessions));
  life.own(showStatus(sessions, (count, onlyApprovals) => chat.setWaiting(count, onlyApprovals)));
  return { inputs, rules, review, changes, starter, typing, chat, panels, list, approvals, inspector };
}

/** The commands, and the chat with what its page may ask, which includes some of them. */
function showChat(context: vscode.ExtensionContext, life: Lifetime, core: Core, surfaces: Surfaces): void {
  const { sessions, agents, log } = core;
  const { approvals, chat, panels, starter, typing } = surfaces;
  const commands = commandTable({
    ...core,
    ...surfaces,
    extensionId: context.extension.id,
    hostPlaces: { data: path.join(context.globalStorageUri.fsPath, 'host'), extensionPath: context.extensionPath },
    newId: randomUUID,
  });
  life.own(registerCommands(commands, log));
  life.own(offerCodeActions());
  const terminals = life.own(new TerminalPanel(sessions));
  const link: Parameters<typeof chat.serve>[0] = {
    desk: sessions,
    answers: chatAnswers({
      ...core,
      ...surfaces,
      terminals,
      recent: life.own(new RecentCommands()),
      newId: randomUUID,
      run: (id) => commands[id](),
    }),
    profiles: () => agents.lines(),
    typing: {
      noted: () => {
        typing.noted();
        starter.typed();
      },
      over: () => typing.over(),
    },
    unsaved: unsavedText,
    answer: (sessionId, askId, answer) => approvals.answer(sessionId, askId, answer),
    ready: () => void starter.chatShown().catch((error: unknown) => log.error('A session could not be started', error)),
  };
  chat.serve(link);
  panels.serve(link, () => starter.restore());
}

/** Settings, the model's key and the trust of the workspace take effect as they change. */
function applySettings(life: Lifetime, { log, output, secrets, protocols }: Core, { chat, panels, starter }: Surfaces): void {
  const failed = (what: string) => (error: unknown) => log.error(what, error);
  let rest: NodeJS.Timeout | undefined;
  const modelChanged = () => {
    chat.agentsChanged();
    panels.agentsChanged();
    clearTimeout(rest);
    rest = setTimeout(() => void starter.modelChanged().catch(failed('The model settings could not be applied')), SETTINGS_REST);
  };
  life.onEnd(() => clearTimeout(rest));
  life.own(onSettings('parley.model', modelChanged));
  life.own(secrets.onModelKey(modelChanged));
  const guardedFilesChanged = () => {
    setGuardedFiles(guardedFiles());
    // The protocols are a bundle of their own, with a list of their own.
    protocols();
  };
  life.own(onSettings('parley.approvals.guardedFiles', guardedFilesChanged));
  life.own(onSettings('parley.trace', () => output.settingsChanged()));
  const agentsChanged = () => {
    chat.agentsChanged();
    panels.agentsChanged();
    void starter.agentsChanged().catch(failed('The default agent could not be started'));
  };
  life.own(onSettings('parley.agents', agentsChanged));
  life.own(onSettings('parley.defaultAgent', agentsChanged));
  life.own(vscode.workspace.onDidGrantWorkspaceTrust(() => void starter.chatShown().catch(failed('Sessions could not be restored'))));
}

/** The same window after a reload, whichever way it was opened: by the folders it shows. */
function windowKey(): string {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
  return createHash('sha256').update(folders.sort().join('\n')).digest('hex').slice(0, 16);
}
