import * as vscode from 'vscode';
import { searchExcludes } from './settings.ts';

/** Files looked through at most, and for how many milliseconds a list of them is good. */
const MOST = 20_000;
const FRESH = 5_000;
const SHOWN = 50;

/** Files of the workspace whose path fits what was typed, best first: open ones, then those whose name fits, then the rest. */
export class FileFinder {
  #list: { readonly at: number; readonly files: Promise<readonly vscode.Uri[]> } | undefined;

  async find(query: string): Promise<readonly { readonly path: string; readonly label: string }[]> {
    const open = new Set(
      vscode.workspace.textDocuments
        .filter((document) => document.uri.scheme === 'file' && !document.isClosed)
        .map((document) => document.uri.fsPath),
    );
    const scored: { readonly path: string; readonly label: string; readonly score: number }[] = [];
    for (const uri of await this.#files()) {
      const label = vscode.workspace.asRelativePath(uri);
      const score = scoreOf(label, query, open.has(uri.fsPath));
      if (score > 0) scored.push({ path: uri.fsPath, label, score });
    }
    scored.sort((a, b) => b.score - a.score || a.label.length - b.label.length || (a.label < b.label ? -1 : 1));
    return scored.slice(0, SHOWN).map(({ path, label }) => ({ path, label }));
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

/** 0 means that it does not fit: all characters of the query, in order. */
export function scoreOf(label: string, query: string, open: boolean): number {
  const text = label.toLowerCase();
  const wanted = query.trim().toLowerCase().replaceAll('\\', '/');
  const bonus = open ? 5 : 0;
  if (wanted === '') return 1 + bonus;
  const name = text.slice(text.lastIndexOf('/') + 1);
  if (name === wanted) return 100 + bonus;
  if (name.startsWith(wanted)) return 80 + bonus;
  if (name.includes(wanted)) return 60 + bonus;
  if (text.includes(wanted)) return 40 + bonus;
  let at = 0;
  for (const character of wanted) {
    at = text.indexOf(character, at) + 1;
    if (at === 0) return 0;
  }
  return 10 + bonus;
}
