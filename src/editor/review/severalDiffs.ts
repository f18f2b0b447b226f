import * as vscode from 'vscode';
import { plain } from '../../session/lineEnds.ts';
import { type ChangedPlace, columnOf } from '../../session/merge.ts';
import { compareTexts, hunksOfSegments, type PlacedHunk } from '../../session/segments.ts';

/** Milliseconds for the keyboard to be in the diff that the editor was led to, before it is led there again. */
const LANDS_WITHIN = 200;
/** Times that the editor is led on, besides once for each diff on the way. */
const MOST_TRIES = 10;

type Diff = Pick<vscode.TabInputTextDiff, 'original' | 'modified'>;
type Way = 1 | -1;

/** The diffs of a tab that shows several in one editor, in their order; undefined for any other tab. The editor's types do not know its class yet. */
export function diffsOf(input: unknown): readonly Diff[] | undefined {
  if (typeof input !== 'object' || input === null || !('textDiffs' in input) || !Array.isArray(input.textDiffs)) return undefined;
  return input.textDiffs.filter((one: unknown) => one instanceof vscode.TabInputTextDiff);
}

/**
 * Goes to the next or previous change of several diffs in one editor, past those that show none any more. The editor's own command leads only from
 * diff to diff: right after a decision it goes by the changes before it, and into a diff that is not drawn yet it does not take the keyboard along.
 * False where it has no such command, as older editors.
 */
export async function goInDiffs(diffs: readonly Diff[], way: Way): Promise<boolean> {
  if (!(await vscode.commands.getCommands()).includes(commandOf(way))) return false;
  await go(diffs, way);
  return true;
}

async function go(diffs: readonly Diff[], way: Way): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const from = diffs.findIndex((one) => isIn(editor, one));
  const here = diffs[from];
  if (!editor || !here) return void (await vscode.commands.executeCommand(commandOf(way)));
  const places = await changedPlaces(here, editor);
  const { line } = editor.selection.active;
  const next = way === 1 ? places.find((one) => one.line > line) : places.findLast((one) => one.line < line);
  if (next !== undefined) return reveal(editor, next);
  for (let step = 1; step <= diffs.length; step += 1) {
    const target = diffs.at((from + way * step) % diffs.length);
    if (!target || (await changedPlaces(target)).length === 0) continue;
    const landed = target === here ? editor : await leadTo(target, way, MOST_TRIES + step);
    const end = landed && (await changedPlaces(target, landed)).at(way === 1 ? 0 : -1);
    if (landed && end !== undefined) reveal(landed, end);
    return;
  }
}

/** Moves the cursor to that place, and the place into sight. */
export function reveal(editor: vscode.TextEditor, { line, column }: ChangedPlace): void {
  const target = editor.document.validatePosition(new vscode.Position(Math.min(line, editor.document.lineCount - 1), column));
  editor.selection = new vscode.Selection(target, target);
  editor.revealRange(new vscode.Range(target, target), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Where a hunk begins in the text that has it. */
export function startOf({ hunk, afterLine }: PlacedHunk): ChangedPlace {
  return { line: afterLine, column: columnOf(hunk) };
}

function commandOf(way: Way): string {
  return way === 1 ? 'multiDiffEditor.goToNextChange' : 'multiDiffEditor.goToPreviousChange';
}

function isIn(editor: vscode.TextEditor | undefined, { original, modified }: Diff): boolean {
  const shown = editor?.document.uri.toString();
  return shown === original.toString() || shown === modified.toString();
}

/** The places where a change begins, in the side that the editor shows. Empty also for what is no text. */
async function changedPlaces({ original, modified }: Diff, editor?: vscode.TextEditor): Promise<readonly ChangedPlace[]> {
  try {
    const [before, after] = await Promise.all([original, modified].map((uri) => vscode.workspace.openTextDocument(uri)));
    const hunks = hunksOfSegments(compareTexts(plain(before?.getText() ?? ''), plain(after?.getText() ?? '')));
    const isBefore = editor?.document.uri.toString() === original.toString();
    return hunks.map((one) => ({ line: isBefore ? one.beforeLine : one.afterLine, column: columnOf(one.hunk) }));
  } catch {
    return [];
  }
}

async function leadTo(target: Diff, way: Way, most: number): Promise<vscode.TextEditor | undefined> {
  for (let tries = 0; tries < most; tries += 1) {
    await vscode.commands.executeCommand(commandOf(way));
    // Draws the keyboard into the diff that came into sight by that.
    if (!isIn(vscode.window.activeTextEditor, target)) await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    const landed = vscode.window.activeTextEditor;
    if (isIn(landed, target)) return landed;
    const came = await editorCame(target);
    if (came) return came;
  }
  return undefined;
}

function editorCame(target: Diff): Promise<vscode.TextEditor | undefined> {
  return new Promise((resolve) => {
    const end = (editor?: vscode.TextEditor) => {
      clearTimeout(timer);
      changes.dispose();
      resolve(editor);
    };
    const timer = setTimeout(end, LANDS_WITHIN);
    const changes = vscode.window.onDidChangeActiveTextEditor((editor) => isIn(editor, target) && end(editor));
  });
}
