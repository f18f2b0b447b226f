import path from 'node:path';
import * as vscode from 'vscode';
import { type Answers, PICTURE_KEPT, type SetupLine } from '../bridge/contract.ts';
import type { LiveSession } from '../live/liveSession.ts';
import type { ChangeSets } from '../live/review/changeSets.ts';
import type { Sessions } from '../live/sessions.ts';
import type { ChangedPlace } from '../session/merge.ts';
import type { Remedy, SessionId } from '../session/model.ts';
import { findAsk } from '../session/select.ts';
import { shortened } from '../session/visible.ts';
import type { Agents } from './agents.ts';
import { lookedAt } from './approvals/approvalPick.ts';
import type { Approvals } from './approvals/approvals.ts';
import type { ChatPanels } from './chatPanels.ts';
import type { CodeColouring } from './codeColouring.ts';
import type { CommandId } from './commands.ts';
import { runningEndpoints } from './endpoints.ts';
import { restartAtOnce } from './endWork.ts';
import type { MentionFinder } from './findMentions.ts';
import { sessionFolder } from './folder.ts';
import { listModels } from './models.ts';
import type { QuickInputs } from './quickInputs.ts';
import type { RecentCommands } from './recentCommands.ts';
import type { ChangesReview } from './review/changes.ts';
import { settleTurnFile } from './review/revert.ts';
import type { Review } from './review/review.ts';
import type { EditorSecrets } from './secrets.ts';
import type { SessionList } from './sessionList.ts';
import { modelSettings, setModel } from './settings.ts';
import type { Starter } from './starter.ts';
import type { TerminalPanel } from './terminalPanel.ts';
import { doesNotExist, inWorkspace, isFolder, isNamedBy, isWorkspaceFile } from './workspaceFiles.ts';

export interface ChatAnswersDeps {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly approvals: Approvals;
  readonly review: Review;
  readonly changes: Pick<ChangesReview, 'restoreFiles' | 'firstPlace'>;
  readonly changeSets: ChangeSets;
  readonly starter: Starter;
  readonly terminals: TerminalPanel;
  readonly recent: RecentCommands;
  readonly secrets: EditorSecrets;
  readonly list: SessionList;
  readonly panels: Pick<ChatPanels, 'open'>;
  readonly inputs: QuickInputs;
  readonly colouring: CodeColouring;
  readonly newId: () => string;
  readonly run: (command: CommandId, argument?: unknown) => unknown;
}

/** Answers the calls of the chat view. Message shapes were checked on receipt; this code checks that the things exist and may be touched. */
export function chatAnswers(deps: ChatAnswersDeps): Answers {
  return { ...sessionAnswers(deps), ...changeAnswers(deps), ...editorAnswers(deps) };
}

function sessionAnswers(deps: ChatAnswersDeps) {
  const { sessions, agents, starter } = deps;
  return {
    models: async () => {
      const { baseUrl } = modelSettings();
      return baseUrl === '' ? [] : listModels(baseUrl, await deps.secrets.modelKey());
    },
    findSetups: () => findSetups(agents),
    useSetup: async ({ kind, id }) => {
      if (kind === 'endpoint') await deps.run('parley.configureModel', id);
      else {
        const found = agents.find(id) ?? (await agents.known()).find(({ agent, file }) => agent.id === id && file !== undefined)?.agent;
        if (found) await starter.start('args' in found && 'env' in found ? found : await agents.add(found));
      }
      return null;
    },
    useModel: async ({ name }) => {
      const { baseUrl } = modelSettings();
      await setModel({ baseUrl, name });
      return null;
    },
    hints: ({ sessionId, text, cursor }) => known(sessions, sessionId).hints(text, Math.min(cursor, text.length)),
    copySession: async ({ sessionId, turnId }) => {
      sessions.switchTo(known(sessions, sessionId).id);
      await deps.run('parley.copySession', turnId);
      return null;
    },
    newSession: async ({ profile: id, pick, ifNone }) => {
      if (pick) await deps.run('parley.pickAgent');
      else if (ifNone) await starter.startIfNone();
      else await starter.start(id === undefined ? undefined : agents.find(id));
      return null;
    },
    findSessions: async ({ query }) => deps.list.find(query, await sessionFolder(deps.inputs, false)),
    renameSession: async ({ sessionId, title }) => {
      await deps.list.rename(sessionId, title);
      return null;
    },
    pinSession: async ({ sessionId, on }) => {
      await deps.list.pin(sessionId, on);
      return null;
    },
    deleteSession: async ({ sessionId }) => {
      await deps.list.remove(sessionId);
      return null;
    },
    exportSession: async ({ sessionId }) => {
      await deps.list.exportMarkdown(sessionId);
      return null;
    },
    openInEditor: async ({ sessionId }) => {
      await deps.panels.open(sessionId);
      return null;
    },
    switchSession: async ({ sessionId }) => {
      await deps.list.show(sessionId);
      return null;
    },
    remedy: async ({ sessionId, remedy }) => {
      await heal(known(sessions, sessionId), remedy, deps);
      return null;
    },
  } satisfies Partial<Answers>;
}

function changeAnswers(deps: ChatAnswersDeps) {
  const { sessions, approvals, review } = deps;
  return {
    review: async ({ sessionId, path: file, askId, turnId }) => {
      const { now } = known(sessions, sessionId).store;
      const ask = askId === undefined ? undefined : findAsk(now, askId);
      if (ask?.kind === 'approval' && ask.detail.type !== 'edit') await review.look(sessionId, ask.id, { text: lookedAt(ask, now.cwd) });
      else if (askId !== undefined) await review.openAsk(sessionId, askId, file, true);
      else if (turnId !== undefined) await review.openTurn(sessionId, turnId, file);
      return null;
    },
    settleFile: async ({ sessionId, turnId, path: file, how }) => {
      const { now } = known(sessions, sessionId).store;
      await deps.changeSets.lookAll();
      if (file === undefined) await deps.changeSets.of(sessionId)?.settleTurn(turnId, how);
      else await settleTurnFile(now, turnId, file, how, deps.changeSets);
      return null;
    },
    restoreFiles: async ({ sessionId, turnId }) => {
      const restored = await deps.changes.restoreFiles({ sessionId: known(sessions, sessionId).id, turnId });
      return restored?.conversation === true;
    },
    showAsk: async ({ sessionId, askId }) => {
      deps.approvals.show(sessionId, askId);
      return null;
    },
    allowMore: async ({ sessionId, askId, how }) => {
      known(sessions, sessionId);
      if (how === 'always') await approvals.alwaysAllow(sessionId, askId);
      else await approvals.allowForSession(sessionId, askId);
      return null;
    },
  } satisfies Partial<Answers>;
}

/** The paths of which it is true. */
async function those(paths: readonly string[], isTrue: (file: string) => Promise<boolean>): Promise<readonly string[]> {
  const found = await Promise.all(paths.map(async (file) => ((await isTrue(file)) ? [file] : [])));
  return found.flat();
}

function editorAnswers(deps: ChatAnswersDeps) {
  const { sessions, terminals } = deps;
  let finder: Promise<MentionFinder> | undefined;
  const mentions = () => {
    finder ??= import('./findMentions.ts').then((found) => new found.MentionFinder(deps.recent));
    return finder;
  };
  return {
    findMentions: async ({ query }) => (await mentions()).find(query),
    findSymbols: async ({ query }) => (await mentions()).findSymbols(query),
    lookAround: async () => (await import('./context.ts')).surroundings(await sessionFolder(deps.inputs, false)),
    attach: async ({ kind }) => (await import('./context.ts')).contextContent(kind, deps.recent.last),
    addTerminal: async () => {
      await deps.run('parley.addTerminal', PICTURE_KEPT);
      return null;
    },
    open: async ({ path: file, line, column }) => {
      const wanted = absolute(file, sessions);
      if (!inWorkspace(wanted) && !sessions.all.some((id) => isNamedBy(known(sessions, id).store.now, wanted))) {
        throw new Error(vscode.l10n.t('{0} (outside the workspace)', file));
      }
      if (await doesNotExist(wanted)) throw new Error(vscode.l10n.t('{0} does not exist.', file));
      if (await isFolder(wanted)) await vscode.commands.executeCommand('revealInExplorer', vscode.Uri.file(wanted));
      else if (line === undefined) await openAtChange(wanted, await deps.changes.firstPlace(wanted));
      else await reveal(wanted, line, column);
      return null;
    },
    openLink: async ({ uri }) => {
      const parsed = vscode.Uri.parse(uri, true);
      if (!['http', 'https', 'mailto'].includes(parsed.scheme))
        throw new Error(vscode.l10n.t('“{0}” is not an http or https address.', shortened(uri, LONGEST_LINK)));
      await vscode.env.openExternal(parsed);
      return null;
    },
    colourCode: ({ text, language, theme }) => deps.colouring.colour(text, language, theme),
    existing: ({ paths }) => {
      const folders = sessions.all.flatMap((id) => sessions.get(id)?.store.now.cwd ?? []);
      return those(paths, (file) => isWorkspaceFile(file, folders));
    },
    folders: ({ paths }) => those(paths, async (file) => inWorkspace(file) && isFolder(file)),
    insertAtCursor: async ({ text }) => {
      const editor = vscode.window.activeTextEditor;
      if (!editor) throw new Error(vscode.l10n.t('Open a file first; the text goes to its cursor.'));
      await editor.edit((edit) => {
        for (const selection of editor.selections) edit.replace(selection, text);
      });
      await vscode.window.showTextDocument(editor.document, { viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active, preview: false });
      return null;
    },
    openTerminal: async ({ sessionId, terminalId }) => {
      if (!terminals.show(known(sessions, sessionId).id, terminalId))
        throw new Error(vscode.l10n.t('{0} does not exist.', vscode.l10n.t('Terminal')));
      return null;
    },
    trustWorkspace: async () => {
      await vscode.commands.executeCommand('workbench.trust.manage');
      return null;
    },
  } satisfies Partial<Answers>;
}

function known(sessions: Sessions, id: SessionId): LiveSession {
  const session = sessions.get(id);
  if (!session) throw new Error(vscode.l10n.t('The session is open in another window or can no longer be read.'));
  return session;
}

async function heal(session: LiveSession, remedy: Remedy, deps: ChatAnswersDeps): Promise<void> {
  const last = session.store.now.turns.at(-1);
  switch (remedy) {
    case 'retry':
      if (last) session.send({ type: 'prompt', turnId: deps.newId(), content: last.prompt, again: last.id });
      return;
    case 'continue':
      return session.send({ type: 'prompt', turnId: deps.newId(), content: [{ type: 'text', text: vscode.l10n.t('Continue') }] });
    case 'restart':
      return restartAtOnce(session);
    case 'signIn': {
      const { agent, cwd } = session.store.now;
      const { openSignIn } = await import('./agentCheck.ts');
      return openSignIn(deps.agents.find(session.profile) ?? { name: agent.name }, cwd);
    }
    case 'showLog':
    case 'pickAgent':
    case 'openSettings':
    case 'configureModel':
      await deps.run(`parley.${remedy}`);
      return;
    default: {
      const unknown: never = remedy;
      return unknown;
    }
  }
}

function absolute(file: string, sessions: Sessions): string {
  const cwd = sessions.active === undefined ? undefined : sessions.get(sessions.active)?.store.now.cwd;
  return path.resolve(cwd ?? '/', file);
}

/** `place`: of the file's first change, 0-based. */
async function openAtChange(file: string, place: ChangedPlace | undefined): Promise<void> {
  const selection = place === undefined ? {} : { selection: new vscode.Range(place.line, place.column, place.line, place.column) };
  await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file), { preview: true, ...selection });
}

/** Places of a file that has become shorter lead to its end, and columns beyond a line to the end of that. */
async function reveal(file: string, line: number, column = 1): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  const at = document.validatePosition(new vscode.Position(Math.min(line, document.lineCount) - 1, Math.max(0, column - 1)));
  await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(at, at) });
}

const MOST_AGENTS = 3;
/** Characters of a refused link in its message. */
const LONGEST_LINK = 200;

/** Agents and model servers on this computer that a user without a model could use at once. */
async function findSetups(agents: Pick<Agents, 'all' | 'known'>): Promise<readonly SetupLine[]> {
  const [found, running] = await Promise.all([agents.known().catch(() => []), runningEndpoints()]);
  const own = agents.all().filter(({ command, url }) => command !== undefined || url !== undefined);
  const here = found.flatMap(({ agent, file, version }) =>
    file === undefined
      ? []
      : [
          {
            kind: 'agent',
            id: agent.id,
            name: agent.name,
            detail: [vscode.l10n.t('Installed'), version].filter(Boolean).join(' · '),
          } as const,
        ],
  );
  return [
    ...[...own.map(({ id, name }) => ({ kind: 'agent', id, name, detail: vscode.l10n.t('in your settings') }) as const), ...here].slice(
      0,
      MOST_AGENTS,
    ),
    ...running.map(
      ({ endpoint, models }) =>
        ({ kind: 'endpoint', id: endpoint.baseUrl, name: endpoint.name, detail: vscode.l10n.t('running, {0} models', models) }) as const,
    ),
  ];
}
