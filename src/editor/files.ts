import { access, constants, realpath } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import { KeyedQueue } from '../base/keyedQueue.ts';
import { isMissing } from '../base/log.ts';
import type { FileEffects } from '../live/review/changeSet.ts';
import { isForeign, isSameFile, keyOfFile, realPathNow } from '../protocols/paths.ts';
import type { Files } from '../protocols/ports.ts';
import { readTextFile, writeInManner, writeTextFile } from '../protocols/textFile.ts';
import { inMannerOf, losesEnds, plain } from '../session/lineEnds.ts';
import { mergedInto, mergedWithEnds, smallestChange } from '../session/merge.ts';
import { ContentChanged, PlaceChanged } from '../transport/realFiles.ts';
import { otherFolders } from './folder.ts';

/** Queues writes: each takes several steps, and agents do not wait for one write before the next. */
const inTurn = new KeyedQueue();

/** Keys of the files being saved for an agent at the moment. */
const saving = new Set<string>();
const typed = new Emitter<{ readonly file: string; readonly text: string }>();
/** Fires before an agent saves a file in which the user has typed that text. */
export const onSavesTyped = typed.listen;

/** Makes a function that tells, of each change of a document, whether nothing was unsaved in it before. */
export function firstEdits(): (change: vscode.TextDocumentChangeEvent) => boolean {
  /** The versions with which documents had unsaved text first, by address. */
  const first = new Map(vscode.workspace.textDocuments.flatMap(({ isDirty, uri }) => (isDirty ? [[uri.toString(), 0]] : [])));
  return ({ document: { uri, version, isDirty }, contentChanges }) => {
    const address = uri.toString();
    const known = first.get(address);
    // That a text is unsaved may be told before its first change.
    if (!isDirty) first.delete(address);
    else if (known === undefined) first.set(address, contentChanges.length > 0 ? version : version + 1);
    return known === undefined || version <= known;
  };
}

/** True while a file is being saved for an agent or by Parley, and not by the user. */
export function isSavedForAgent(file: string): boolean {
  return saving.has(keyOfFile(realPathNow(file)));
}

/** The files port: unsaved text first; writes go through the open document, so that undo works and the user's text is never overwritten unseen. */
export const editorFiles: Files = {
  async read(file) {
    return inTurn.run(await keyOf(file), () => textNow(file));
  },
  async write(file, text, from, real) {
    return inTurn.run(await keyOf(file), async () => {
      if (real !== undefined && realPathNow(path.resolve(file)) !== real) throw new PlaceChanged(file);
      const document = openDocument(file);
      if (document) return saveDocument(document, text, from, real);
      // A program may have written the file since that text was read.
      if (
        from !== undefined &&
        (await writtenBeneath(file, (there) => inMannerOf(withChange(file, plain(there), from, text), there), real))
      )
        return;
      await writeInManner(file, text, real, vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file))?.uri.fsPath);
    });
  },
};

/**
 * Reads saved text from the disk: an open document may not have followed an agent's write there. Only the editor reads other encodings than UTF-8.
 */
async function textNow(file: string): Promise<string> {
  const document = openDocument(file);
  try {
    return await utf8Now(file);
  } catch (error) {
    if (!document || isMissing(error)) throw error;
    return document.getText();
  }
}

/** Unsaved text, or what the disk holds; rejects where that is no UTF-8. */
async function utf8Now(file: string): Promise<string> {
  return unsavedText(file) ?? (await readTextFile(file)).replace(/^\uFEFF/, '');
}

async function saveDocument(
  document: vscode.TextDocument,
  text: string,
  from: string | undefined,
  real: string | undefined,
): Promise<void> {
  if (document.isDirty) typed.fire({ file: document.fileName, text: document.getText() });
  await whileSaving(document.fileName, () => writeDocument(document, text, from, real));
}

async function whileSaving(file: string, write: () => Promise<void>): Promise<void> {
  const key = keyOfFile(realPathNow(file));
  saving.add(key);
  try {
    await write();
  } finally {
    saving.delete(key);
  }
}

/** The text as the user has it now: null when there is no such file, undefined when it cannot be read as text. */
export function presentText(file: string): Promise<string | null | undefined> {
  return orMissing(editorFiles.read(file));
}

function orMissing(text: Promise<string>): Promise<string | null | undefined> {
  return text.catch((error: unknown) => (isMissing(error) ? null : undefined));
}

/**
 * The open document of a file, under whichever of its names it is open: agents name files as links lead. Compares addresses as the editor does, not
 * as text: drive letters have no case.
 */
export function openDocument(file: string): vscode.TextDocument | undefined {
  const open = vscode.workspace.textDocuments.filter((document) => !document.isClosed);
  const named = (name: string) => open.find((document) => document.uri.toString() === vscode.Uri.file(name).toString());
  if (isOutOfReach(file)) return named(file);
  const real = realPathNow(file);
  const key = keyOfFile(real);
  return named(file) ?? named(real) ?? open.find(({ uri }) => uri.scheme === 'file' && keyOfFile(realPathNow(uri.fsPath)) === key);
}

/** True for a file on another server than the workspace: not looked at before the user has allowed it. */
export function isOutOfReach(file: string, folder?: string): boolean {
  const folders = vscode.workspace.workspaceFolders?.map(({ uri }) => uri.fsPath) ?? [];
  return isForeign(file, folder === undefined ? folders : [folder, ...folders]);
}

/** The text to compare a reported change with; undefined as well where the file is out of reach and not open. */
export async function comparedText(file: string, folder: string): Promise<string | null | undefined> {
  return isOutOfReach(file, folder) ? openDocument(file)?.getText() : presentText(file);
}

/** The text of a file with changes that are not on disk yet. */
export function unsavedText(file: string): string | undefined {
  const document = openDocument(file);
  return document?.isDirty ? document.getText() : undefined;
}

/** The key of a file, the same for each of its names. */
async function keyOf(file: string): Promise<string> {
  return keyOfFile(await realpath(file).catch(() => path.resolve(file)));
}

/** Milliseconds to retry a step while the user types in the same text and each key outdates it. */
const PATIENCE_MS = 20_000;
const BETWEEN_SAVES_MS = 50;
/** Saves the active editor without changing its text. No such command exists for other editors. */
const SAVE_AS_IT_IS = 'workbench.action.files.saveWithoutFormatting';
/** Milliseconds the editor has to pick up the text on disk. */
const TAKE_OVER_MS = 3000;

const BETWEEN_LOOKS_MS = 200;
/** Retries when another program keeps writing the file. */
const MOST_TRIES = 5;

/**
 * Writes `text` to an open document and its file. `from` is the text it was made from: text the user has typed since stays; throws where the two
 * overlap. Undoes changes that extensions and settings make on save: the agent has to find what it has written (acp.md §10.2). `real` is the real
 * path that was checked: throws when the file's path leads elsewhere by now.
 */
async function writeDocument(document: vscode.TextDocument, text: string, from?: string, real?: string): Promise<void> {
  const wantedOf = (now: string) => (from === undefined ? plain(text) : withChange(document.fileName, now, from, text));
  for (let tries = 1; ; tries += 1) {
    // In a large folder, or during many writes, the editor learns late of changes on the disk, and saves over none of them. Its save may change
    // line ends.
    if (!document.isDirty && (tries > 1 || !(await hasFollowed(document)) || (await losesEndsOnSave(document.fileName)))) {
      if (await writtenBeneath(document.fileName, (there) => inMannerOf(wantedOf(plain(there)), there), real)) return;
    }
    const clean = document.isDirty ? undefined : document.getText();
    try {
      return await writeThrough(document, wantedOf, real);
    } catch (error) {
      const isTakenBack = clean !== undefined && (await takenBack(document, clean));
      // Only a refusal because the file has changed meanwhile is worth another try.
      if (!isTakenBack || document.getText() === clean || tries === MOST_TRIES) throw error;
    }
  }
}

/** The present text, which has \n line ends, with the change from one text to another. Throws where the file was changed in the same place. */
function withChange(file: string, now: string, from: string, text: string): string {
  const wanted = mergedInto(now, plain(from), plain(text));
  if (wanted === undefined) throw new Error(`${file} was changed meanwhile`);
  return wanted;
}

async function writeThrough(document: vscode.TextDocument, wantedOf: (now: string) => string, real: string | undefined): Promise<void> {
  // A save runs formatters, and the editor may save a changed document at any moment: unchanged documents are written on disk only.
  if (await overwritten(document, wantedOf(plain(document.getText())), real)) return;
  const { before, wanted } = await typedInto(document, wantedOf);
  if (!document.isDirty) return saveReadOnly(document, before, wantedOf, real);
  let typed = false;
  const hand = vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
    typed ||= textEditor.document === document && kind !== undefined && kind !== vscode.TextEditorSelectionChangeKind.Command;
  });
  try {
    // The editor follows a link that has come into the place of the file.
    checkPlaceNow(document, real);
    await save(document);
    checkPlaceNow(document, real);
  } catch (error) {
    // Removes text from the editor that could not be saved.
    const back = mergedInto(plain(document.getText()), wanted, before);
    if (back !== undefined) await replaced(document, back);
    throw error;
  } finally {
    hand.dispose();
  }
  // A difference now comes from the save, or from typing: then it is the user's.
  if (!typed && plain(document.getText()) !== wanted) await overwritten(document, wanted, real);
}

/** Throws when the path leads elsewhere by now than to `real`, where it led when it was checked. */
function checkPlaceNow({ fileName }: vscode.TextDocument, real: string | undefined): void {
  const now = realPathNow(fileName);
  if (real !== undefined && keyOfFile(now) !== keyOfFile(real)) throw new PlaceChanged(`${fileName} → ${now}`);
}

async function typedInto(document: vscode.TextDocument, wantedOf: (now: string) => string) {
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    const before = plain(document.getText());
    const wanted = wantedOf(before);
    if (wanted === before || (await replaced(document, wanted))) return { before, wanted };
    if (performance.now() > end) throw new Error(`The editor did not take the change of ${document.fileName}`);
  }
}

/** Writes the file of a document that settings make read-only: the editor shows the change but cannot save it, so the document is put back. */
async function saveReadOnly(
  document: vscode.TextDocument,
  before: string,
  wantedOf: (now: string) => string,
  real: string | undefined,
): Promise<void> {
  const there = await readTextFile(document.fileName).catch(() => undefined);
  const wanted = wantedOf(before);
  // Otherwise the editor has saved it by itself, perhaps with more that was typed.
  const isOnScreenOnly = there !== undefined && plain(there) === before && plain(document.getText()) === wanted;
  if (wanted === before || !isOnScreenOnly || document.isDirty) return;
  await replaced(document, before);
  const isWritten = await writtenBeneath(document.fileName, (now) => inMannerOf(wantedOf(plain(now)), now), real);
  if (!isWritten) throw new Error(`${document.fileName} could not be saved: it is read-only in the editor`);
}

/** Waits a limited time for the document to match its file. True also where only the editor can read the file. */
async function hasFollowed(document: vscode.TextDocument): Promise<boolean> {
  for (const end = performance.now() + TAKE_OVER_MS; ; ) {
    const there = await readTextFile(document.fileName).catch(() => undefined);
    if (there === undefined || document.isDirty || oneLineEnd(there) === oneLineEnd(document.getText())) return true;
    const left = end - performance.now();
    if (left <= 0) return false;
    await nextChange(document, Math.min(left, BETWEEN_LOOKS_MS));
  }
}

/** Normalizes line ends, which are uniform in a document but not in its file. */
function oneLineEnd(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
}

/** Writes a file below its document; the editor picks up the change, with others that it has not followed. False where the user has unsaved text. */
async function writtenBeneath(file: string, wantedOf: (there: string) => string, real: string | undefined): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const there = await readTextFile(file).catch(() => undefined);
    const document = openDocument(file);
    if (there === undefined || document?.isDirty) return false;
    const wanted = wantedOf(there);
    if (wanted === there) return true;
    const takenOver = document && nextChange(document, TAKE_OVER_MS);
    try {
      await writeTextFile(file, wanted, real, there);
    } catch (error) {
      if (!(error instanceof ContentChanged) || tries === MOST_TRIES) throw error;
      continue;
    }
    await takenOver;
    // Where the editor hears of no changes on the disk.
    if (document && isActive(document) && !document.isDirty && oneLineEnd(document.getText()) !== oneLineEnd(wanted))
      await vscode.commands.executeCommand('workbench.action.files.revert');
    return true;
  }
}

/** The editor can neither show which line ends such a file has nor save them. */
async function losesEndsOnSave(file: string): Promise<boolean> {
  return losesEnds(await readTextFile(file).catch(() => ''));
}

/** Writes a text, which has the line ends of its file or \n, below its document: a save by the editor would follow a link that has come meanwhile. */
async function writeBeneath(file: string, text: string, from: string, real: string | undefined): Promise<void> {
  const wantedOf = (there: string): string => {
    const wanted = mergedWithEnds(there, from, text);
    if (wanted === undefined) throw new Error(`${file} was changed meanwhile`);
    return wanted;
  };
  if (await writtenBeneath(file, wantedOf, real)) return;
  throw openDocument(file)?.isDirty ? new Error(unsavedIn(file)) : new ContentChanged(file);
}

/**
 * After a save was refused because the file had changed: makes the document match its file, which also clears the editor's message about it. False
 * where the user has typed.
 */
async function takenBack(document: vscode.TextDocument, clean: string): Promise<boolean> {
  const isUsers = document.getText() !== clean;
  if (document.isDirty && !isUsers && isActive(document)) await vscode.commands.executeCommand('workbench.action.files.revert');
  return !document.isDirty;
}

/** Replaces only the difference: cursors and breakpoints stay. False when the document has changed meanwhile. */
async function replaced(document: vscode.TextDocument, wanted: string): Promise<boolean> {
  const text = document.eol === vscode.EndOfLine.CRLF ? wanted.replace(/\n/g, '\r\n') : wanted;
  const change = smallestChange(document.getText(), text);
  if (!change) return true;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(document.positionAt(change.from), document.positionAt(change.to)), change.text);
  return vscode.workspace.applyEdit(edit);
}

/** Settles when the document's present text is on disk, although the user may have typed more by then. */
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
      // The text is unchanged: another try would end the same way.
      if (document.version === version) break;
      await pause(BETWEEN_SAVES_MS);
    }
  } finally {
    saves.dispose();
  }
  await access(document.fileName, constants.W_OK);
  throw new Error(`${document.fileName} could not be saved: it holds unsaved changes and has changed on disk, too`);
}

/** True for the active document, into which the user may type at any moment. */
function isActive(document: vscode.TextDocument): boolean {
  return vscode.window.activeTextEditor?.document === document;
}

/**
 * Writes the file on disk, bypassing formatters, and waits until the editor has picked it up. False when that is not safe: the document has unsaved
 * changes, is in front of the user, differs from the file, or lies where the editor watches no files.
 */
async function overwritten(document: vscode.TextDocument, wanted: string, real?: string): Promise<boolean> {
  const quiet = () => !document.isDirty && !document.isClosed && !isActive(document);
  if (!quiet() || !vscode.workspace.getWorkspaceFolder(document.uri)) return false;
  const there = await readTextFile(document.fileName).catch(() => undefined);
  if (there === undefined || there.replace(/^\uFEFF/, '') !== document.getText() || !quiet()) return false;
  if (plain(document.getText()) === wanted) return true;
  const takenOver = nextChange(document, TAKE_OVER_MS);
  try {
    await writeTextFile(document.fileName, inMannerOf(wanted, there), real, there);
  } catch (error) {
    if (error instanceof ContentChanged) return false;
    throw error;
  }
  await takenOver;
  return plain(document.getText()) === wanted;
}

/** Settles when the document changes, or after `most` milliseconds. */
async function nextChange(document: vscode.TextDocument, most: number): Promise<void> {
  let changes: vscode.Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, most);
    changes = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document === document) resolve();
    });
  });
  clearTimeout(timer);
  changes?.dispose();
}

export const fileEffects: FileEffects = {
  // The editor shows any bytes as a text, and those that it cannot read would be gone once that is written.
  readText: async (file) => orMissing(inTurn.run(await keyOf(file), () => utf8Now(file))),
  async writeText(file, text, from, real) {
    const isUnsaved = openDocument(file)?.isDirty === true;
    if (openNotebook(file)?.isDirty || (isUnsaved && (await losesEndsOnSave(file)))) throw new Error(unsavedIn(file));
    if (isUnsaved) return editorFiles.write(file, text, from, real);
    await inTurn.run(await keyOf(file), () => whileSaving(file, () => writeBeneath(file, text, from, real)));
  },
  async typeText(file, text, from) {
    const document = openDocument(file);
    if (!document || openNotebook(file)?.isDirty || (await losesEndsOnSave(file))) throw new Error(unsavedIn(file));
    await inTurn.run(await keyOf(file), () => typedInto(document, (now) => withChange(file, now, from, text)));
    void vscode.window.showInformationMessage(vscode.l10n.t('{0} has unsaved text of yours, so it is not saved yet.', path.basename(file)));
  },
  hasUnsaved: (file) => openDocument(file)?.isDirty === true || openNotebook(file)?.isDirty === true,
  encoding: (file) => openDocument(file)?.encoding ?? vscode.workspace.getConfiguration('files', vscode.Uri.file(file)).get('encoding'),
  folders: otherFolders,
};

function unsavedIn(file: string): string {
  return vscode.l10n.t('{0} has unsaved changes. Save or revert it first.', path.basename(file));
}

/** The open notebook of a file; a notebook's cells are documents of their own, so its file is not among the open texts. */
function openNotebook(file: string): vscode.NotebookDocument | undefined {
  return vscode.workspace.notebookDocuments.find(({ uri, isClosed }) => !isClosed && uri.scheme === 'file' && isSameFile(uri.fsPath, file));
}
