import path from 'node:path';
import * as vscode from 'vscode';
import type { UnsavedBeside } from '../../live/review/changeSet.ts';
import { readTextFile, writeTextFile } from '../../protocols/textFile.ts';
import { inMannerOf, plain } from '../../session/diffs.ts';
import { mergedInto } from '../../session/merge.ts';

/** The text with both; undefined where the user and the agent have changed the same lines. */
export function mergedUnsaved({ base, disk, unsaved }: UnsavedBeside): string | undefined {
  return mergedInto(unsaved, base, disk);
}

/**
 * Writes unsaved text and what an agent wrote to the same file meanwhile as one text. Rejects with a message for the user when either has changed by
 * then.
 */
export async function mergeUnsaved(document: vscode.TextDocument, beside: UnsavedBeside): Promise<void> {
  const file = document.uri.fsPath;
  const merged = mergedUnsaved(beside);
  const there = await readTextFile(file);
  await vscode.window.showTextDocument(document);
  const isAsRead = plain(there) === beside.disk && plain(document.getText()) === beside.unsaved;
  if (merged === undefined || !isAsRead)
    throw new Error(vscode.l10n.t('{0} has changed in the meantime. Look at the change again.', path.basename(file)));
  // The editor saves no text over a newer file: the file is written, and the editor takes it over.
  await writeTextFile(file, inMannerOf(merged, there));
  if (plain(document.getText()) === beside.unsaved) await vscode.commands.executeCommand('workbench.action.files.revert');
}
