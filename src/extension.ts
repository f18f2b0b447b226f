import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import * as vscode from 'vscode';
import { setGuardedFiles } from './base/guardedFiles.ts';
import { setTranslator, type Translate } from './base/l10n.ts';
import { Lifetime } from './base/lifetime.ts';
import { Agents } from './editor/agents.ts';
import { Approvals } from './editor/approvals/approvals.ts';
import { Rules } from './editor/approvals/rules.ts';
import { bundlesIn } from './editor/bundles.ts';
import { Chat } from './editor/chat.ts';
import { chatAnswers } from './editor/chatAnswers.ts';
import { type CommandTable, commandTable, registerCommands } from './editor/commands.ts';
import { keepContextKeys } from './editor/contextKeys.ts';
import { editorFiles, unsavedText } from './editor/files.ts';
import { follow } from './editor/follow.ts';
import { Output } from './editor/output.ts';
import { outsidePorts } from './editor/outsidePorts.ts';
import { QuickInputs } from './editor/quickInputs.ts';
import { Changes, fileEffects } from './editor/review/changes.ts';
import { ReviewDocuments } from './editor/review/documents.ts';
import { showProposalLenses } from './editor/review/proposalLenses.ts';
import { Review } from './editor/review/review.ts';
import { Secrets } from './editor/secrets.ts';
import { approvalsOpenDiff, approvalsPopUp, followOn, guardedFiles, onSettings } from './editor/settings.ts';
import { Starter } from './editor/starter.ts';
import { showStatus } from './editor/status.ts';
import { TerminalPanel } from './editor/terminalPanel.ts';
import { Typing } from './editor/typing.ts';
import { warnOfUnsaved } from './editor/unsaved.ts';
import { childTerminals } from './live/childTerminals.ts';
import { Journal } from './live/journal/journal.ts';
import { ChangeSets } from './live/review/changeSets.ts';
import { Sessions } from './live/sessions.ts';

/** Milliseconds that settings which are written one after another are gathered. */
const SETTINGS_REST = 400;

let running: { readonly life: Lifetime; readonly sessions: Sessions } | undefined;

/** Builds everything once, in order, into one Lifetime. */
export function activate(context: vscode.ExtensionContext): void {
  const translateText = vscode.l10n.t;
  const translate: Translate = (english, ...args) => translateText(english, ...args);
  setTranslator(translate);
  setGuardedFiles(guardedFiles());
  const life = new Lifetime();
  context.subscriptions.push(life);
  const output = life.own(new Output());
  const { log } = output;
  const secrets = new Secrets(context.secrets);
  const inputs = life.own(new QuickInputs());
  const documents = life.own(new ReviewDocuments());
  const bundles = bundlesIn(context.extensionPath);
  const protocols = () => bundles.protocols().protocolsIn(translate, guardedFiles());
  const agents = new Agents({ secrets, protocols, extensionPath: context.extensionPath, log });
  const version = String((context.extension.packageJSON as { readonly version?: unknown }).version ?? '');
  let changeSets: ChangeSets | undefined;
  const sessions = life.own(
    new Sessions({
      get protocols() {
        return protocols();
      },
      profile: (id) => agents.find(id),
      launch: (profile, session) => agents.launch(profile, session),
      ports: ({ cwd, profile }) => ({
        ...outsidePorts,
        secrets: secrets.forAgent(profile),
        ...bundles
          .editorTools()
          .sessionTools({ cwd, lsp: bundles.languageTools, documents, files: editorFiles, terminals: childTerminals({ cwd }) }),
        files: editorFiles,
        terminals: childTerminals({ cwd }),
      }),
      rules: (id) => rules.of(id),
      client: { name: 'Parley', version },
      log,
      trace: output.trace,
      now: Date.now,
      newId: randomUUID,
      journal: new Journal(path.join(context.globalStorageUri.fsPath, 'sessions'), log),
      beforePrompt: async (id, turnId) => changeSets?.beforePrompt(id, turnId),
      windowKey: windowKey(),
    }),
  );
  running = { life, sessions };
  const rules: Rules = new Rules(sessions, inputs, context.workspaceState);
  const review = life.own(new Review(sessions, documents, log));
  changeSets = life.own(new ChangeSets(sessions, path.join(context.globalStorageUri.fsPath, 'review'), fileEffects, log));
  const changes = life.own(new Changes(sessions, changeSets, inputs, log));
  void changeSets.prune(Date.now()).catch((error: unknown) => log.error('Old changes could not be removed', error));
  const starter = new Starter(sessions, agents, inputs, log);
  const failed = (what: string) => (error: unknown) => log.error(what, error);
  const typing = new Typing(Date.now);
  life.own(
    vscode.window.onDidChangeTextEditorSelection(({ kind }) => kind === vscode.TextEditorSelectionChangeKind.Keyboard && typing.noted()),
  );
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
      addSessionRule: (sessionId, rule) => rules.addForSession(sessionId, rule),
      makeRule: (sessionId, ask) => rules.make(sessionId, ask),
      manageRules: () => void rules.manage().catch(failed('The approval rules could not be shown')),
      restoreFocus: () => (chat.focused ? () => chat.goBack().catch(failed('The chat could not be focused')) : undefined),
      shown: (on) => void vscode.commands.executeCommand('setContext', 'parley.approvalShown', on),
    }),
  );
  life.own(vscode.commands.registerCommand('parley.setAside', () => approvals.setAside()));
  let table: CommandTable | undefined;
  const terminals = life.own(new TerminalPanel(sessions));
  const answers = chatAnswers({
    sessions,
    agents,
    approvals,
    review,
    changeSets,
    starter,
    terminals,
    newId: randomUUID,
    run: (id) => table?.[id](),
  });
  const chat: Chat = life.own(
    new Chat(context.extensionUri, {
      desk: sessions,
      answers,
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
      ready: () => void starter.chatShown().catch(failed('A session could not be started')),
      log,
    }),
  );
  const extensionId = context.extension.id;
  table = commandTable({
    sessions,
    agents,
    starter,
    approvals,
    review,
    changes,
    changeSets,
    chat,
    inputs,
    secrets,
    output,
    extensionId,
    newId: randomUUID,
    rules,
  });
  life.own(registerCommands(table, log));
  life.own(keepContextKeys(sessions, review));
  life.own(showProposalLenses(sessions, review));
  life.own(follow({ on: followOn, onSetting: (changed) => onSettings('parley.follow', changed), now: Date.now, log })(sessions));
  life.own(warnOfUnsaved(sessions));
  life.own(showStatus(sessions, (count, approvals) => chat.setWaiting(count, approvals)));
  let rest: NodeJS.Timeout | undefined;
  const modelChanged = () => {
    clearTimeout(rest);
    rest = setTimeout(() => void starter.modelChanged().catch(failed('The model settings could not be applied')), SETTINGS_REST);
  };
  life.onEnd(() => clearTimeout(rest));
  life.own(onSettings('parley.model', modelChanged));
  life.own(secrets.onModelKey(modelChanged));
  const guardedFilesChanged = () => {
    setGuardedFiles(guardedFiles());
    protocols();
  };
  life.own(onSettings('parley.approvals.guardedFiles', guardedFilesChanged));
  life.own(onSettings('parley.trace', () => output.settingsChanged()));
  const agentsChanged = () => {
    chat.agentsChanged();
    void starter.agentsChanged().catch(failed('The default agent could not be started'));
  };
  life.own(onSettings('parley.agents', agentsChanged));
  life.own(onSettings('parley.defaultAgent', agentsChanged));
  life.own(vscode.workspace.onDidGrantWorkspaceTrust(() => void starter.chatShown().catch(failed('Sessions could not be restored'))));
}

/** The editor waits for this: agents end with the window. */
export async function deactivate(): Promise<void> {
  const ending = running;
  running = undefined;
  ending?.life.dispose();
  await ending?.sessions.gone();
}

/** The same window after a reload, whichever way it was opened: by the folders it shows. */
function windowKey(): string {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
  return createHash('sha256').update(folders.sort().join('\n')).digest('hex').slice(0, 16);
}
