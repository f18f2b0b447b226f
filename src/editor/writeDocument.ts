import { access, constants } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import { readTextFile, writeTextFile } from '../protocols/textFile.ts';
import { inMannerOf, plain } from '../session/diffs.ts';
import { mergedInto } from '../session/merge.ts';
import { smallestChange } from './textChange.ts';

/** Milliseconds a step is tried for, while the user types in the same text and each key makes it too late. */
const PATIENCE_MS = 20_000;
const BETWEEN_SAVES_MS = 50;
/** Saves the active editor, and nothing is done to its text. There is none for another. */
const SAVE_AS_IT_IS = 'workbench.action.files.saveWithoutFormatting';
/** Milliseconds the editor has to take over what is on disk. */
const TAKE_OVER_MS = 3000;

/**
 * Makes an open document and its file say `text`. `from` is what the text was made of: what the user has typed since stays; where that overlaps, it
 * throws. What extensions and settings do to a text that is saved does not count: the agent has to find what it has written (acp.md §10.2).
 * `real` is the real path that was checked: it throws when the file's path leads elsewhere by now.
 */
export async function writeDocument(document: vscode.TextDocument, text: string, from?: string, real?: string): Promise<void> {
  const wantedOf = (now: string): string => {
    const wanted = from === undefined ? plain(text) : mergedInto(now, plain(from), plain(text));
    if (wanted === undefined) throw new Error(`${document.fileName} was changed meanwhile`);
    return wanted;
  };
  // A save runs formatters, and the editor may save a changed document by itself at any moment: unchanged ones are written on disk alone.
  if (await overwritten(document, wantedOf(plain(document.getText())), real)) return;
  let before: string;
  let wanted: string;
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    before = plain(document.getText());
    wanted = wantedOf(before);
    if (wanted === before || (await replaced(document, wanted))) break;
    if (performance.now() > end) throw new Error(`The editor did not take the change of ${document.fileName}`);
  }
  if (!document.isDirty) return;
  let typed = false;
  const hand = vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
    typed ||= textEditor.document === document && kind !== undefined && kind !== vscode.TextEditorSelectionChangeKind.Command;
  });
  try {
    await save(document);
  } catch (error) {
    // What was not written does not stand in the editor either.
    const back = mergedInto(plain(document.getText()), wanted, before);
    if (back !== undefined) await replaced(document, back);
    throw error;
  } finally {
    hand.dispose();
  }
  // What differs now was changed by the save, or typed: then it is the user's.
  if (!typed && plain(document.getText()) !== wanted) await overwritten(document, wanted, real);
}

/** Only what differs is replaced: cursors and breakpoints stay. False when the document has changed meanwhile. */
async function replaced(document: vscode.TextDocument, wanted: string): Promise<boolean> {
  const text = document.eol === vscode.EndOfLine.CRLF ? wanted.replace(/\n/g, '\r\n') : wanted;
  const change = smallestChange(document.getText(), text);
  if (!change) return true;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(document.positionAt(change.from), document.positionAt(change.to)), change.text);
  return vscode.workspace.applyEdit(edit);
}

/** Settles when what the document says now is on disk, although the user may have typed more by then. */
async function save(document: vscode.TextDocument): Promise<void> {
  let saved = false;
  const saves = vscode.workspace.onDidSaveTextDocument((one) => {
    saved ||= one === document;
  });
  try {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
      const { version } = document;
      if (isActive(document)) await vscode.commands.executeCommand(SAVE_AS_IT_IS);
      if (saved || !document.isDirty || (await document.save()) || saved) return;
      // Nobody typed into it: another try ends as this one.
      if (document.version === version) break;
      await pause(BETWEEN_SAVES_MS);
    }
  } finally {
    saves.dispose();
  }
  await access(document.fileName, constants.W_OK);
  throw new Error(`${document.fileName} could not be saved: it holds unsaved changes and has changed on disk, too`);
}

/** The user may type into it at any moment. */
function isActive(document: vscode.TextDocument): boolean {
  return vscode.window.activeTextEditor?.document === document;
}

/**
 * Writes the file on disk, where no formatter stands in between, and waits until the editor has taken it over. False when that is not safe: the
 * document has unsaved changes, is in front of the user, differs from the file, or lies where the editor watches no files.
 */
async function overwritten(document: vscode.TextDocument, wanted: string, real?: string): Promise<boolean> {
  const quiet = () => !document.isDirty && !document.isClosed && !isActive(document);
  if (!quiet() || !vscode.workspace.getWorkspaceFolder(document.uri)) return false;
  const there = await readTextFile(document.fileName).catch(() => undefined);
  if (there === undefined || there.replace(/^\uFEFF/, '') !== document.getText() || !quiet()) return false;
  if (plain(document.getText()) === wanted) return true;
  let changes: vscode.Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  const takenOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, TAKE_OVER_MS);
    changes = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document === document) resolve();
    });
  });
  try {
    await writeTextFile(document.fileName, inMannerOf(wanted, there), real);
    await takenOver;
  } finally {
    clearTimeout(timer);
    changes?.dispose();
  }
  return plain(document.getText()) === wanted;
}
