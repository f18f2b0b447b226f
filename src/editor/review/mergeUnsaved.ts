import path from 'node:path';
import * as vscode from 'vscode';
import type { UnsavedBeside } from '../../live/review/changeSet.ts';
import { readTextFile, writeTextFile } from '../../protocols/textFile.ts';
import { inMannerOf, plain } from '../../session/diffs.ts';
import { mergedInto } from '../../session/merge.ts';

/** The merged text; undefined where the user and the agent have changed the same lines. */
export function mergedUnsaved({ base, disk, unsaved }: UnsavedBeside): string | undefined {
  return mergedInto(unsaved, base, disk);
}

/** Merges unsaved text with an agent's write to the same file. Rejects with a message for the user when either has changed meanwhile. */
export async function mergeUnsaved(document: vscode.TextDocument, beside: UnsavedBeside): Promise<void> {
  const file = document.uri.fsPath;
  const merged = mergedUnsaved(beside);
  const there = await readTextFile(file);
  await vscode.window.showTextDocument(document);
  const isAsRead = plain(there) === beside.disk && plain(document.getText()) === beside.unsaved;
  if (merged === undefined || !isAsRead)
    throw new Error(vscode.l10n.t('{0} has changed in the meantime. Look at the change again.', path.basename(file)));
  // The editor refuses to save over a newer file: the file is written first, and the editor picks it up.
  await writeTextFile(file, inMannerOf(merged, there));
  if (plain(document.getText()) === beside.unsaved) await vscode.commands.executeCommand('workbench.action.files.revert');
}
