import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import type { Mention, MentionedPlace } from '../bridge/contract.ts';
import { keyOfFile } from '../protocols/paths.ts';
import { availableContexts, folderLabel, openFiles } from './context.ts';
import { compareLabels, scoreOf } from './fileScore.ts';
import type { RecentCommands } from './recentCommands.ts';
import { searchExcludes } from './settings.ts';

/** Files looked through at most, and for how many milliseconds a list of them is good. */
const MOST = 20_000;
const FRESH = 5_000;
const SHOWN = 50;
/** Symbols are asked for from so many characters on, and shown at most. */
const SYMBOL_QUERY = 2;
const MOST_SYMBOLS = 10;
/** Milliseconds that language services get to load, and between two questions meanwhile. */
const LOADING_LIMIT = 15_000;
const ASK_AGAIN = 400;
/** Files of languages whose services know symbols. */
const SOURCE = /\.(?:[cm]?[jt]sx?|py|go|rs|java|cs|c|cc|cpp|h|hpp|php|rb|swift|kt|dart|lua)$/i;

interface Scored {
  readonly mention: MentionedPlace;
  readonly score: number;
}

/** Finds matches for the text after an @: contexts of the editor, files and folders of the workspace by score, empty contexts; and symbols. */
export class MentionFinder {
  readonly #terminals: RecentCommands;
  /** Number of the last question for symbols. */
  #asked = 0;
  /** True once a language service has answered, or had its time: nothing found then means that there is nothing. */
  #loaded = false;
  #list: { readonly at: number; readonly files: Promise<readonly vscode.Uri[]> } | undefined;

  constructor(terminals: RecentCommands) {
    this.#terminals = terminals;
  }

  async find(query: string): Promise<readonly Mention[]> {
    const wanted = query.trim().toLowerCase();
    const [contexts, files] = await Promise.all([availableContexts(this.#terminals.last), this.#places(query)]);
    // Nothing is typed: the kinds come first, so that they are seen without scrolling. They are few.
    if (wanted === '') return [...contexts, ...files];
    const fitting = contexts.filter(({ kind, label }) => label.toLowerCase().startsWith(wanted) || kind.toLowerCase().startsWith(wanted));
    // Empty entries come last, because nobody looks for them first.
    return [...fitting.filter(({ empty }) => !empty), ...files, ...fitting.filter(({ empty }) => empty)];
  }

  /** Symbols with this name. Waits while the language services load, until there is a newer question. */
  async findSymbols(query: string): Promise<readonly MentionedPlace[]> {
    this.#asked += 1;
    const asked = this.#asked;
    if (query.length < SYMBOL_QUERY) return [];
    const end = Date.now() + LOADING_LIMIT;
    if (!this.#loaded) await this.#wake();
    for (;;) {
      const found = await symbolsOf(query, end - Date.now());
      this.#loaded ||= found.length > 0 || Date.now() >= end;
      if (this.#loaded || asked !== this.#asked) return found;
      await pause(ASK_AGAIN);
    }
  }

  /** Opens a source file of the workspace unseen, where none is in sight: language services load what belongs to their first file. */
  async #wake(): Promise<void> {
    const shown = vscode.window.visibleTextEditors.map(({ document }) => document.uri);
    if (shown.some((uri) => SOURCE.test(uri.path) && vscode.workspace.getWorkspaceFolder(uri))) return;
    const files = await this.#files().catch(() => []);
    const sources = files.filter(({ path: name }) => SOURCE.test(name));
    const [first] = sources.sort((a, b) => a.path.length - b.path.length);
    if (first) await Promise.resolve(vscode.workspace.openTextDocument(first)).catch(() => undefined);
  }

  async #places(query: string): Promise<readonly MentionedPlace[]> {
    const open = new Set(openFiles());
    const files = await this.#files();
    const scored: Scored[] = [];
    for (const uri of files) {
      const label = vscode.workspace.asRelativePath(uri);
      const score = scoreOf(label, query, open.has(uri.fsPath));
      if (score > 0) scored.push({ mention: { kind: 'file', path: uri.fsPath, label }, score });
    }
    if (query !== '') scored.push(...foldersOf(files, query));
    scored.sort((a, b) => b.score - a.score || compareLabels(a.mention.label, b.mention.label, query));
    return scored.slice(0, SHOWN).map(({ mention }) => mention);
  }

  #files(): Promise<readonly vscode.Uri[]> {
    const now = Date.now();
    if (!this.#list || now - this.#list.at > FRESH) {
      const excludes = ['**/.git/**', ...searchExcludes()].map((glob) => glob.replace(/[{}]/g, '?'));
      const files = Promise.resolve(vscode.workspace.findFiles('**/*', `{${excludes.join(',')}}`, MOST));
      this.#list = { at: now, files };
      files.catch(() => {
        this.#list = undefined;
      });
    }
    return this.#list.files;
  }
}

/** Folders that hold files, below the workspace's own. */
function foldersOf(files: readonly vscode.Uri[], query: string): readonly Scored[] {
  const folders = new Set(files.map(({ fsPath }) => path.dirname(fsPath)));
  return [...folders].flatMap((folder): readonly Scored[] => {
    const label = folderLabel(folder);
    if (
      label.startsWith('/') ||
      label === './' ||
      vscode.workspace.workspaceFolders?.some(({ uri }) => keyOfFile(uri.fsPath) === keyOfFile(folder))
    )
      return [];
    // A slash at the end selects a folder.
    const score = scoreOf(label.slice(0, -1), query.replace(/\/$/, ''), query.endsWith('/'));
    return score > 0 ? [{ mention: { kind: 'folder', path: `${folder}${path.sep}`, label }, score }] : [];
  });
}

/** Symbols with this name from the workspace's language services; none when they take longer than `limit`, in milliseconds. */
async function symbolsOf(query: string, limit: number): Promise<readonly MentionedPlace[]> {
  const asked = vscode.commands.executeCommand<readonly vscode.SymbolInformation[] | undefined>(
    'vscode.executeWorkspaceSymbolProvider',
    query,
  );
  const found = await Promise.race([Promise.resolve(asked).catch(() => undefined), pause(Math.max(0, limit), undefined, { ref: false })]);
  return (found ?? [])
    .filter(({ location }) => location.uri.scheme === 'file')
    .slice(0, MOST_SYMBOLS)
    .map(({ name, location }) => {
      const line = location.range.start.line + 1;
      const detail = `${vscode.workspace.asRelativePath(location.uri)}:${line}`;
      // The language service of TypeScript marks functions so.
      return { kind: 'symbol', label: name.replace(/\(\)$/, ''), detail, path: location.uri.fsPath, line };
    });
}
