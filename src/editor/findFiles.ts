import * as vscode from 'vscode';
import { scoreOf } from './fileScore.ts';
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
