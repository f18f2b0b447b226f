import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import { PICTURE_KEPT } from '../bridge/contract.ts';
import type { HostedSession, SessionHost } from '../live/surface.ts';
import type { Content } from '../session/model.ts';
import { isRecorded, linesText } from '../session/select.ts';
import type { ChatView } from './chat.ts';
import { attached, LONGEST_ATTACHED } from './context.ts';
import { repositories, repositoryOf } from './git.ts';
import type { Starter } from './starter.ts';
import { type CommitMessageDeps, commitMessageCommands } from './writeCommitMessage.ts';

export interface EditorActionDeps extends CommitMessageDeps {
  readonly sessions: SessionHost;
  readonly starter: Pick<Starter, 'start'>;
  readonly chat: Pick<ChatView, 'focus' | 'insert' | 'keepPicture'>;
  readonly newId: () => string;
}

const MOST_PROBLEMS = 50;

/** The commands of editor menus and lightbulbs: each sends one prompt with its subject attached, or puts that into the composer. */
export function editorCommands(deps: EditorActionDeps) {
  const { chat } = deps;
  const question = new InlineQuestion<readonly Content[]>();
  const about = async (prompt: string, uri: unknown, range: unknown): Promise<void> => {
    const place = await placeOf(uri, range);
    if (place) await send(deps, prompt, place.content);
  };
  return {
    'parley.fix': async (uri?: unknown, range?: unknown) => {
      const place = await placeOf(uri, range);
      if (!place) return;
      const problems = problemContents(place);
      await send(deps, vscode.l10n.t('Find what is wrong here, and fix it.'), [...place.content, ...problems]);
    },
    'parley.explain': (uri?: unknown, range?: unknown) => about(vscode.l10n.t('Explain this code.'), uri, range),
    'parley.addTest': (uri?: unknown, range?: unknown) =>
      about(vscode.l10n.t('Write a test for this code, as this project writes its tests.'), uri, range),
    'parley.askHere': async (uri?: unknown, range?: unknown) => {
      const place = await placeOf(uri, range);
      if (place) await question.ask(place.document, place.range, place.label, place.content);
    },
    'parley.closeQuestion': () => question.take(),
    // Run by the box of the question, with what is typed there.
    'parley.sendQuestion': async (reply?: unknown) => {
      const { text } = (reply ?? {}) as { readonly text?: unknown };
      if (typeof text !== 'string' || text.trim() === '') return;
      const content = question.take();
      if (content) await send(deps, text, content);
    },
    'parley.addProblem': async (uri?: unknown, range?: unknown) => {
      const place = await placeOf(uri, range);
      if (place) await chat.insert(problemContents(place));
    },
    'parley.addTerminal': async (from?: unknown) => {
      // With a terminal, the editor itself says that nothing is selected.
      if (!vscode.window.activeTerminal) return void vscode.window.showInformationMessage(vscode.l10n.t('Nothing found'));
      // A clipboard without text may hold a picture. Only a page can restore it, so the page does and calls this command again.
      const isKept = from === PICTURE_KEPT || (await vscode.env.clipboard.readText()) !== '';
      if (!isKept && (await chat.keepPicture())) return;
      await chat.insert(attached(vscode.l10n.t('Terminal'), await terminalSelection(deps.newId(), from === PICTURE_KEPT)));
    },
    'parley.addTestFailure': async (failure?: unknown) => chat.insert(failureContent(failure)),
    'parley.addChange': async (...resources: unknown[]) => chat.insert(await changeContents(resources)),
    ...commitMessageCommands(deps),
  } satisfies Readonly<Record<string, (...args: unknown[]) => unknown>>;
}

/** Sends a prompt to the session in front, or to a new one, and shows the chat. */
async function send(deps: EditorActionDeps, text: string, content: readonly Content[]): Promise<void> {
  const session = await sessionInFront(deps);
  if (!session) return;
  session.send({ type: 'prompt', turnId: deps.newId(), content: [{ type: 'text', text }, ...content] });
  await deps.chat.focus();
}

/** Undefined when there can be none. */
async function sessionInFront({ sessions, starter }: EditorActionDeps): Promise<HostedSession | undefined> {
  const front = sessions.active === undefined ? undefined : sessions.get(sessions.active);
  if (front && !isRecorded(front.store.now)) return front;
  const sessionId = await starter.start();
  return sessionId === undefined ? undefined : sessions.get(sessionId);
}

interface EditorRange {
  readonly document: vscode.TextDocument;
  readonly range: vscode.Range;
  /** Such as "src/a.ts:3-9". */
  readonly label: string;
  readonly content: readonly Content[];
}

/** The arguments of a command, or else the editor in front: its selection, or the symbol around its cursor, or its line. */
async function placeOf(uri: unknown, range: unknown): Promise<EditorRange | undefined> {
  const editor = vscode.window.activeTextEditor;
  const document = uri instanceof vscode.Uri ? await vscode.workspace.openTextDocument(uri) : editor?.document;
  if (!document) return undefined;
  const own = editor?.document === document ? editor.selection : new vscode.Range(0, 0, 0, 0);
  const asked = range instanceof vscode.Range ? range : own;
  const whole = asked.isSingleLine ? await symbolAround(document, asked.start) : undefined;
  const lines = whole ?? asked;
  const last = lines.end.character === 0 && lines.end.line > lines.start.line ? lines.end.line - 1 : lines.end.line;
  const shown = new vscode.Range(lines.start.line, 0, last, document.lineAt(last).text.length);
  const text = document.getText(shown).slice(0, LONGEST_ATTACHED);
  const numbers = [shown.start.line + 1, last + 1] as const;
  const label = `${vscode.workspace.asRelativePath(document.uri)}${linesText(numbers)}`;
  const content: Content =
    document.uri.scheme === 'file' ? { type: 'file', path: document.uri.fsPath, text, lines: numbers } : { type: 'text', text };
  return { document, range: asked, label, content: [content] };
}

/** The smallest function, method or class around a position, as reported by the language's own extension. */
async function symbolAround(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Range | undefined> {
  const symbols = await vscode.commands.executeCommand<readonly vscode.DocumentSymbol[] | undefined>(
    'vscode.executeDocumentSymbolProvider',
    document.uri,
  );
  const kinds = [vscode.SymbolKind.Function, vscode.SymbolKind.Method, vscode.SymbolKind.Constructor, vscode.SymbolKind.Class];
  let found: vscode.Range | undefined;
  let level = symbols ?? [];
  for (let depth = 0; depth < 50 && level.length > 0; depth += 1) {
    const around = level.find(({ range }) => range?.contains(position));
    if (!around) break;
    if (kinds.includes(around.kind)) found = around.range;
    level = around.children ?? [];
  }
  return found;
}

/** The problems at a place as one attachment, a line each, as compilers write them. */
function problemContents({ document, range }: EditorRange): readonly Content[] {
  const problems = vscode.languages
    .getDiagnostics(document.uri)
    .filter((one) => one.range.start.line <= range.end.line && one.range.end.line >= range.start.line)
    .slice(0, MOST_PROBLEMS)
    .map(({ range: { start }, message, source }) => {
      const from = source === undefined ? '' : `${source}: `;
      return `${vscode.workspace.asRelativePath(document.uri)}:${start.line + 1}:${start.character + 1}: ${from}${message}`;
    });
  return attached(vscode.l10n.t('Problems'), problems.join('\n'));
}

/**
 * Reads the terminal's selection through the clipboard, the only way there is, and restores the clipboard. `mark` is put there meanwhile, as the same
 * words may be on it already. A clipboard without text may hold a picture: unless a page keeps that, nothing is written over it here.
 */
async function terminalSelection(mark: string, isPictureKept: boolean): Promise<string> {
  const held = await vscode.env.clipboard.readText();
  if (held !== '' || isPictureKept) await vscode.env.clipboard.writeText(mark);
  await vscode.commands.executeCommand('workbench.action.terminal.copySelection');
  const text = await vscode.env.clipboard.readText();
  if (held !== '' || isPictureKept) await vscode.env.clipboard.writeText(held);
  return text === mark ? '' : text;
}

/** The test and one message of it, from the menu of a failed test. */
function failureContent(value: unknown): readonly Content[] {
  const { test, message } = (value ?? {}) as { readonly test?: Partial<vscode.TestItem>; readonly message?: Partial<vscode.TestMessage> };
  if (!message) return [];
  const text = typeof message.message === 'string' ? message.message : (message.message?.value ?? '');
  const { location, expectedOutput, actualOutput } = message;
  const lines = [
    test?.label ?? '',
    location ? `${vscode.workspace.asRelativePath(location.uri)}:${location.range.start.line + 1}` : '',
    text,
    expectedOutput === undefined ? '' : `expected: ${expectedOutput}`,
    actualOutput === undefined ? '' : `actual: ${actualOutput}`,
  ];
  return attached(test?.label ?? vscode.l10n.t('Problems'), lines.filter(Boolean).join('\n'));
}

/** The diff of each chosen file in the list of changes. */
async function changeContents(resources: readonly unknown[]): Promise<readonly Content[]> {
  const all = await repositories();
  const uris = resources.flatMap((one) => {
    const { resourceUri } = (one ?? {}) as { readonly resourceUri?: unknown };
    return resourceUri instanceof vscode.Uri && resourceUri.scheme === 'file' ? [resourceUri] : [];
  });
  const diffs = await Promise.all(
    uris.map(async (uri): Promise<readonly Content[]> => {
      const diff = await repositoryOf(all, uri)
        ?.diffWithHEAD(uri.fsPath)
        .catch(() => '');
      // A file that git does not know yet has no diff.
      return diff ? attached(`${vscode.workspace.asRelativePath(uri)}.diff`, diff) : [{ type: 'file', path: uri.fsPath }];
    }),
  );
  return diffs.flat();
}

/** The id of the controller, as the conditions in the manifest name it. */
const CONTROLLER = 'parley.question';
/** Milliseconds in which the editor asks where comments may be written. */
const LONGEST_WAIT = 3000;

/** A box for one question below the line it is about, as comments are written: the only input that an extension may put into a text. */
class InlineQuestion<T> {
  #open: { readonly controller: vscode.CommentController; readonly about: T } | undefined;

  /**
   * Shows the box in the editor in front, with the keyboard in it: only the editor's own command puts it there, on lines that may be commented.
   * A box that is open closes: there is one question at a time.
   */
  async ask(document: vscode.TextDocument, range: vscode.Range, label: string, about: T): Promise<void> {
    this.#close();
    if (vscode.window.activeTextEditor?.document !== document) await vscode.window.showTextDocument(document);
    const controller = vscode.comments.createCommentController(CONTROLLER, 'Parley');
    const mine = { controller, about };
    this.#open = mine;
    controller.options = { placeHolder: `${vscode.l10n.t('Ask {0}', 'Parley')} · ${label}` };
    let isShown = false;
    const asked = new Promise<void>((resolve) => {
      controller.commentingRangeProvider = {
        provideCommentingRanges: ({ uri }) => {
          if (isShown || uri.toString() !== document.uri.toString()) return [];
          resolve();
          return [range];
        },
      };
    });
    // Where the editor does not ask, it says next why there is no box.
    await Promise.race([asked, pause(LONGEST_WAIT, undefined, { ref: false })]);
    // The editor asks for the range twice, and draws every box anew with each answer. It has them all once it has run commands that came after them.
    for (let round = 0; round < 2; round += 1) await vscode.commands.executeCommand('setContext', 'parley.asksInline', true);
    if (this.#open !== mine) return;
    const { start, end } = range;
    await vscode.commands.executeCommand('workbench.action.addComment', {
      range: {
        startLineNumber: start.line + 1,
        startColumn: start.character + 1,
        endLineNumber: end.line + 1,
        endColumn: end.character + 1,
      },
    });
    // No other question begins at the margin.
    isShown = true;
  }

  /** Closes the box, and returns what it was about. */
  take(): T | undefined {
    const about = this.#open?.about;
    this.#close();
    return about;
  }

  #close(): void {
    this.#open?.controller.dispose();
    this.#open = undefined;
  }
}
