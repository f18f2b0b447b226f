import path from 'node:path';
import * as vscode from 'vscode';
import { t } from '../../base/l10n.ts';
import type { UnsavedBeside } from '../../live/review/changeSet.ts';
import { readTextFile, writeTextFile } from '../../protocols/textFile.ts';
import { inMannerOf, plain } from '../../session/lineEnds.ts';
import { mergedInto } from '../../session/merge.ts';
import { shortLabel } from '../approvals/rowText.ts';
import { commandTitle } from '../commandTitle.ts';
import { lensTooltip } from './lenses.ts';

/** Command id that only CodeLenses run. */
export const MERGE_UNSAVED = 'parley.mergeUnsaved';

/** UTF-16 units of a session's name above a change or beside a file. */
export const LONGEST_NAME = 30;

export function bySession(name: string): string {
  return vscode.l10n.t('By {0}', shortLabel(name, LONGEST_NAME));
}

/** The command of a lens, with its keys in the tooltip. `words`: of a title that is an icon. */
export function lensCommand(title: string, command: string, args: readonly unknown[], words = title): vscode.Command {
  const isLocal = vscode.env.uiKind === vscode.UIKind.Desktop && vscode.env.remoteName === undefined;
  const tooltip = lensTooltip(words, command, isLocal ? (process.platform === 'darwin' ? 'mac' : 'other') : 'either');
  return { title, command, arguments: [...args], ...(tooltip === undefined ? {} : { tooltip }) };
}

/** Lenses for agent changes on disk that the unsaved text lacks: their places, and the ways to merge the two. */
export function besideLenses({ uri, lineCount }: vscode.TextDocument, beside: UnsavedBeside | undefined): readonly vscode.CodeLens[] {
  return [...new Set(beside?.lines)].flatMap((line) => {
    const range = new vscode.Range(Math.min(line, lineCount - 1), 0, Math.min(line, lineCount - 1), 0);
    const lens = (title: string, command: string) => new vscode.CodeLens(range, lensCommand(title, command, [uri]));
    return [
      lens(t('Changed {0|on disk|while no prompt ran}', 1), ''),
      ...(beside && mergedUnsaved(beside) !== undefined ? [lens(vscode.l10n.t('Merge'), MERGE_UNSAVED)] : []),
      lens(commandTitle('openChange'), 'workbench.files.action.compareWithSaved'),
    ];
  });
}

/** The merged text; undefined where the user and the agent have changed the same lines. */
function mergedUnsaved({ base, disk, unsaved }: UnsavedBeside): string | undefined {
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
