import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Disposable } from '../../base/lifetime.ts';
import type { Log } from '../../base/log.ts';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import { isSameFile } from '../../protocols/paths.ts';
import { diffsOf } from './severalDiffs.ts';

/** Closes the tabs of files that a decision has removed: nothing is left to be looked at there. What the user has typed in one stays. */
export function closeRemovedFiles(sets: Pick<ChangeSets, 'onWrote'>, log: Log): Disposable {
  return sets.onWrote((file) => {
    closeIfGone(file).catch((error: unknown) => log.warn(`A tab could not be closed: ${String(error)}`));
  });
}

async function closeIfGone(file: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => !tab.isDirty && shows(tab, file));
  if (tabs.length > 0 && !existsSync(file)) await vscode.window.tabGroups.close(tabs, true);
}

/** Closes the tabs that show this text of ours, alone or among others. */
export async function closeTabsOf(uri: vscode.Uri): Promise<void> {
  const isIt = ({ input }: vscode.Tab) => shownIn(input).some((one) => one.toString() === uri.toString());
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(isIt);
  if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
}

function shownIn(input: unknown): readonly vscode.Uri[] {
  if (input instanceof vscode.TabInputText) return [input.uri];
  if (input instanceof vscode.TabInputTextDiff) return [input.original, input.modified];
  return (diffsOf(input) ?? []).flatMap(({ original, modified }) => [original, modified]);
}

function shows({ input }: vscode.Tab, file: string): boolean {
  const uri = input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
  return uri?.scheme === 'file' && isSameFile(uri.fsPath, file);
}
