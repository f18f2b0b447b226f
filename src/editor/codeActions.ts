import * as vscode from 'vscode';
import type { Disposable } from '../base/lifetime.ts';
import { editorActionsOn } from './settings.ts';

/** Lightbulbs on problems and selections, while the setting is on. */
export function offerCodeActions(): Disposable {
  return vscode.languages.registerCodeActionsProvider(
    { scheme: 'file' },
    { provideCodeActions: (document, range, { diagnostics }) => codeActions(document, range, diagnostics) },
    { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.Refactor] },
  );
}

/** For a problem, actions to fix and explain it; otherwise actions for a selection or a word. None while the setting is off. */
export function codeActions(
  document: vscode.TextDocument,
  range: vscode.Range,
  diagnostics: readonly vscode.Diagnostic[],
): vscode.CodeAction[] {
  if (!editorActionsOn() || !vscode.workspace.isTrusted) return [];
  const action = (title: string, command: string, kind: vscode.CodeActionKind, where: vscode.Range) => {
    const made = new vscode.CodeAction(title, kind);
    made.command = { title, command, arguments: [document.uri, where] };
    return made;
  };
  const { QuickFix, Refactor } = vscode.CodeActionKind;
  const [problem] = diagnostics;
  const word = document.getWordRangeAtPosition(range.start);
  if (problem) {
    const fix = action(vscode.l10n.t('Fix with Parley'), 'parley.fix', QuickFix, problem.range);
    fix.diagnostics = [...diagnostics];
    return [fix, action(vscode.l10n.t('Explain with Parley'), 'parley.explain', QuickFix, problem.range)];
  }
  if (range.isEmpty && !word) return [];
  return [
    action(vscode.l10n.t('Explain with Parley'), 'parley.explain', Refactor, range),
    action(vscode.l10n.t('Add Test with Parley'), 'parley.addTest', Refactor, range),
  ];
}
