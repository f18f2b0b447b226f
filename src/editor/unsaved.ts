import path from 'node:path';
import * as vscode from 'vscode';
import type { Disposable } from '../base/lifetime.ts';
import type { SessionHost } from '../live/surface.ts';
import { isForeign, keyOfFile, realPathNow } from '../protocols/paths.ts';
import type { Warn } from './endWork.ts';

const warn: Warn = (text, action) => vscode.window.showWarningMessage(text, action);

/**
 * Warns when an agent wants to change a file with unsaved text in the editor: most agents change the file on disk, and the two would silently
 * diverge. One button saves; the ask stays open in any case.
 */
export function warnOfUnsaved(host: SessionHost, ask = warn): Disposable {
  return host.onChange((_, { event, now }) => {
    if (event.type !== 'ask.opened' || event.ask.kind !== 'approval' || event.ask.detail.type !== 'edit') return;
    const keyOf = (file: string) => keyOfFile(realPathNow(file));
    const named = event.ask.detail.diffs.map((diff) => path.resolve(now.cwd, diff.path));
    const files = new Set(named.filter((file) => !isForeign(file, [now.cwd])).map(keyOf));
    const unsaved = vscode.workspace.textDocuments.filter(
      (document) => document.isDirty && document.uri.scheme === 'file' && files.has(keyOf(document.uri.fsPath)),
    );
    if (unsaved.length > 0) void offerToSave(unsaved, now.agent.name, ask);
  });
}

async function offerToSave(documents: readonly vscode.TextDocument[], agent: string, ask: Warn): Promise<void> {
  const names = documents.map((document) => vscode.workspace.asRelativePath(document.uri)).join(', ');
  const save = vscode.l10n.t('Save');
  const text = vscode.l10n.t('{0} wants to change {1}, which has unsaved changes. The proposal may not contain them.', agent, names);
  if ((await ask(text, save)) !== save) return;
  for (const document of documents) await document.save();
}
