import path from 'node:path';
import * as vscode from 'vscode';
import { keyOfFile, pathBelow } from '../protocols/paths.ts';
import type { Session } from '../session/model.ts';
import { diffsOf } from '../session/select.ts';

/** True for a file inside one of the workspace's folders. */
export function inWorkspace(file: string): boolean {
  return vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path.resolve(file))) !== undefined;
}

/** True for an existing file inside one of the workspace's folders, or of these. */
export async function isWorkspaceFile(file: string, folders: readonly string[] = []): Promise<boolean> {
  if (!path.isAbsolute(file) || !(inWorkspace(file) || folders.some((folder) => pathBelow(folder, file)))) return false;
  try {
    return ((await vscode.workspace.fs.stat(vscode.Uri.file(path.resolve(file)))).type & vscode.FileType.File) !== 0;
  } catch {
    return false;
  }
}

/** True for an existing folder. */
export async function isFolder(file: string): Promise<boolean> {
  try {
    return ((await vscode.workspace.fs.stat(vscode.Uri.file(file))).type & vscode.FileType.Directory) !== 0;
  } catch {
    return false;
  }
}

/** True for a path without a file, on disk or as an open text. */
export async function doesNotExist(file: string): Promise<boolean> {
  const uri = vscode.Uri.file(file);
  if (vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString())) return false;
  try {
    await vscode.workspace.fs.stat(uri);
    return false;
  } catch (error) {
    // A path that may not be looked at may exist; the editor shows why it does not open it.
    return !(error instanceof vscode.FileSystemError && ['NoPermissions', 'Unavailable'].includes(error.code));
  }
}

/** True for a file that a session works on: inside its folder, or named by one of its calls or asks. */
export function isNamedBy(session: Session, file: string): boolean {
  const wanted = path.resolve(session.cwd, file);
  if (pathBelow(session.cwd, wanted)) return true;
  const same = (other: string) => keyOfFile(path.resolve(session.cwd, other)) === keyOfFile(wanted);
  return (
    session.turns.some((turn) =>
      turn.parts.some(
        (part) =>
          part.kind === 'call' &&
          (part.call.locations.some((location) => same(location.path)) || diffsOf(part.call).some((diff) => same(diff.path))),
      ),
    ) ||
    session.asks.some((ask) => ask.kind === 'approval' && ask.detail.type === 'edit' && ask.detail.diffs.some((diff) => same(diff.path)))
  );
}
