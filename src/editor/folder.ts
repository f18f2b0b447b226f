import * as vscode from 'vscode';
import { keyOfFile } from '../protocols/paths.ts';
import { commandTitle } from './commandTitle.ts';
import type { QuickInputs } from './quickInputs.ts';

/** The folder a new session works in: that of the active editor, the only one, or the one the user picks. Undefined when there is none. */
export async function sessionFolder(inputs: QuickInputs, ask: boolean): Promise<string | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file');
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active && vscode.workspace.getWorkspaceFolder(active);
  if (own?.uri.scheme === 'file') return own.uri.fsPath;
  if (folders.length > 1 && ask) {
    return inputs.pick(
      folders.map((folder) => ({ label: folder.name, description: folder.uri.fsPath, value: folder.uri.fsPath })),
      { title: commandTitle('newSession'), placeholder: vscode.l10n.t('In which folder should the agent work?') },
    );
  }
  return folders[0]?.uri.fsPath;
}

/** Explains what is missing and offers a remedy. */
export async function explainNoFolder(): Promise<void> {
  const open = vscode.l10n.t('Open');
  const choice = await vscode.window.showInformationMessage(vscode.l10n.t('An agent works in a folder. Open one first.'), open);
  if (choice === open) await vscode.commands.executeCommand('workbench.action.files.openFolder');
}

export function hasFolder(): boolean {
  return (vscode.workspace.workspaceFolders ?? []).some((folder) => folder.uri.scheme === 'file');
}

/** The other folders of the workspace, for agents that may work in several. */
export function otherFolders(cwd: string): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) =>
    uri.scheme === 'file' && keyOfFile(uri.fsPath) !== keyOfFile(cwd) ? [uri.fsPath] : [],
  );
}
