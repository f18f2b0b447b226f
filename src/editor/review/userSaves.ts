import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import { isSavedForAgent, onSavesTyped } from '../files.ts';

/**
 * Tells what the user saves in the editor, texts and notebooks, and which files they make, move and remove there: that is not the agent's. A save waits
 * for a look at what it replaces.
 */
export function followSaves(sets: Pick<ChangeSets, 'userSaves' | 'userSaved' | 'userMoved'>): Disposable {
  const life = new Lifetime();
  const isUsers = (uri: vscode.Uri) => uri.scheme === 'file' && !isSavedForAgent(uri.fsPath);
  const saves = ({ uri }: { readonly uri: vscode.Uri }, wait: (look: Thenable<void>) => void) => {
    if (isUsers(uri)) wait(sets.userSaves(uri.fsPath));
  };
  const saved = ({ uri }: { readonly uri: vscode.Uri }) => isUsers(uri) && sets.userSaved(uri.fsPath);
  const { workspace } = vscode;
  life.own(workspace.onWillSaveTextDocument((save) => saves(save.document, (look) => save.waitUntil(look))));
  life.own(workspace.onWillSaveNotebookDocument((save) => saves(save.notebook, (look) => save.waitUntil(look))));
  for (const event of [workspace.onDidSaveTextDocument, workspace.onDidSaveNotebookDocument]) life.own(event(saved));
  const moved = (uris: readonly vscode.Uri[]) => sets.userMoved(uris.flatMap(({ scheme, fsPath }) => (scheme === 'file' ? [fsPath] : [])));
  for (const event of [workspace.onDidCreateFiles, workspace.onDidDeleteFiles]) life.own(event(({ files }) => moved(files)));
  life.own(workspace.onDidRenameFiles(({ files }) => moved(files.flatMap(({ oldUri, newUri }) => [oldUri, newUri]))));
  life.own(onSavesTyped(({ file, text }) => sets.userSaved(file, text)));
  return life;
}
