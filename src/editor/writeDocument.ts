import { access, constants, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import { plain } from '../session/diffs.ts';
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
 * Makes an open document say `text`, and its file. `from` is what the text was made of: what the user has typed since stays; where that overlaps, it
 * throws. What extensions and settings do to a text that is saved does not count: the agent has to find what it has written (acp.md §10.2).
 */
export async function writeDocument(document: vscode.TextDocument, text: string, from?: string): Promise<void> {
  let before: string;
  let made: string;
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    const now = plain(document.getText());
    before = now;
    const wanted = from === undefined ? plain(text) : mergedInto(now, plain(from), plain(text));
    if (wanted === undefined) throw new Error(`${document.fileName} was changed meanwhile`);
    made = wanted;
    if (wanted === now || (await replaced(document, wanted))) break;
    if (performance.now() > end) throw new Error(`The editor did not take the change of ${document.fileName}`);
  }
  if (!document.isDirty) return;
  let typed = false;
  const hand = vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
    typed ||= textEditor.document === document && kind !== undefined && kind !== vscode.TextEditorSelectionChangeKind.Command;
  });
  const wanted = document.getText();
  try {
    await save(document);
  } catch (error) {
    // What was not written does not stand in the editor either.
    const back = mergedInto(plain(document.getText()), made, before);
    if (back !== undefined) await replaced(document, back);
    throw error;
  } finally {
    hand.dispose();
  }
  // What differs now has been changed by the saving, or typed: then it is the user's.
  // The editor takes over what it watches: the workspace.
  const watched = vscode.workspace.getWorkspaceFolder(document.uri) !== undefined;
  if (watched && !typed && !document.isDirty && !isActive(document) && document.getText() !== wanted) await putBack(document, wanted);
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

/** The text goes to the disk itself, where no formatter stands in between; the editor takes it over from there. */
async function putBack(document: vscode.TextDocument, wanted: string): Promise<void> {
  const bytes = await vscode.workspace.encode(wanted, { encoding: document.encoding });
  await new Promise<void>((resolve, reject) => {
    const over = () => {
      clearTimeout(timer);
      changes.dispose();
      resolve();
    };
    const timer = setTimeout(over, TAKE_OVER_MS);
    const changes = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document === document && document.getText() === wanted) over();
    });
    writeFile(document.fileName, bytes).catch((error: unknown) => {
      over();
      reject(error);
    });
  });
}
