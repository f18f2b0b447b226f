import * as vscode from 'vscode';
import { commandTitle } from './commandTitle.ts';
import { editorActionOn } from './settings.ts';

/** For a problem, actions to fix it, explain it and add it to the chat; otherwise actions for a selection or a word. Only what the settings allow. */
export function codeActions(
  document: vscode.TextDocument,
  range: vscode.Range,
  diagnostics: readonly vscode.Diagnostic[],
): vscode.CodeAction[] {
  if (!vscode.workspace.isTrusted) return [];
  const { QuickFix, Refactor } = vscode.CodeActionKind;
  const [problem] = diagnostics;
  if (!problem && range.isEmpty && !document.getWordRangeAtPosition(range.start)) return [];
  const where = problem?.range ?? range;
  const action = (name: Parameters<typeof editorActionOn>[0], title: string): vscode.CodeAction[] => {
    if (!editorActionOn(name)) return [];
    const made = new vscode.CodeAction(title, problem ? QuickFix : Refactor);
    made.command = { title, command: `parley.${name}`, arguments: [document.uri, where] };
    if (name === 'fix') made.diagnostics = [...diagnostics];
    return [made];
  };
  const explain = action('explain', commandTitle('explain'));
  return problem
    ? [...action('fix', commandTitle('fix')), ...explain, ...action('addProblem', commandTitle('addProblem'))]
    : [...explain, ...action('addTest', commandTitle('addTest'))];
}
