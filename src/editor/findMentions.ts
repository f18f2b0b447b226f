import path from 'node:path';
import * as vscode from 'vscode';
import type { Mention, MentionedPlace } from '../bridge/contract.ts';
import { keyOfFile } from '../protocols/paths.ts';
import { availableContexts, folderLabel } from './context.ts';
import { scoreOf } from './fileScore.ts';
import type { RecentCommands } from './recentCommands.ts';
import { searchExcludes } from './settings.ts';

/** Files looked through at most, and for how many milliseconds a list of them is good. */
const MOST = 20_000;
const FRESH = 5_000;
const SHOWN = 50;
/** Symbols are asked for from so many characters on, shown at most, and waited for in milliseconds. */
const SYMBOL_QUERY = 2;
const MOST_SYMBOLS = 10;
const SYMBOL_LIMIT = 400;

interface Scored {
  readonly mention: MentionedPlace;
  readonly score: number;
}

/** Finds matches for the text after an @: contexts of the editor, then files and folders of the workspace by score, then symbols. */
export class MentionFinder {
  readonly #terminals: RecentCommands;
  #list: { readonly at: number; readonly files: Promise<readonly vscode.Uri[]> } | undefined;

  constructor(terminals: RecentCommands) {
    this.#terminals = terminals;
  }

  async find(query: string): Promise<readonly Mention[]> {
    const wanted = query.trim().toLowerCase();
    const [contexts, files, symbols] = await Promise.all([
      availableContexts(this.#terminals.last),
      this.#places(query),
      query.length < SYMBOL_QUERY ? [] : symbolsOf(query),
    ]);
    const fitting = contexts.filter(({ kind, label }) => label.toLowerCase().startsWith(wanted) || kind.toLowerCase().startsWith(wanted));
    return [...fitting, ...files, ...symbols];
  }

  async #places(query: string): Promise<readonly MentionedPlace[]> {
    const open = new Set(
      vscode.workspace.textDocuments
        .filter((document) => document.uri.scheme === 'file' && !document.isClosed)
        .map((document) => document.uri.fsPath),
    );
    const files = await this.#files();
    const scored: Scored[] = [];
    for (const uri of files) {
      const label = vscode.workspace.asRelativePath(uri);
      const score = scoreOf(label, query, open.has(uri.fsPath));
      if (score > 0) scored.push({ mention: { kind: 'file', path: uri.fsPath, label }, score });
    }
    if (query !== '') scored.push(...foldersOf(files, query));
    scored.sort(
      (a, b) => b.score - a.score || a.mention.label.length - b.mention.label.length || (a.mention.label < b.mention.label ? -1 : 1),
    );
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

/** Symbols with this name from the workspace's language services; none when they take too long. */
async function symbolsOf(query: string): Promise<readonly MentionedPlace[]> {
  const asked = vscode.commands.executeCommand<readonly vscode.SymbolInformation[] | undefined>(
    'vscode.executeWorkspaceSymbolProvider',
    query,
  );
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, SYMBOL_LIMIT, undefined));
  const found = await Promise.race([Promise.resolve(asked).catch(() => undefined), late]);
  return (found ?? [])
    .filter(({ location }) => location.uri.scheme === 'file')
    .slice(0, MOST_SYMBOLS)
    .map(({ name, location }) => {
      const line = location.range.start.line + 1;
      const detail = `${vscode.workspace.asRelativePath(location.uri)}:${line}`;
      return { kind: 'symbol', label: name, detail, path: location.uri.fsPath, line };
    });
}
