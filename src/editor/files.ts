import { realpath } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import { KeyedQueue } from '../base/keyedQueue.ts';
import { keyOfFile, realPathNow } from '../protocols/paths.ts';
import type { Files } from '../protocols/ports.ts';
import { readTextFile, writeTextFile } from '../protocols/textFile.ts';
import { inMannerOf } from '../session/diffs.ts';
import { PlaceChanged } from '../transport/realFiles.ts';
import { writeDocument } from './writeDocument.ts';

/** Writing takes steps, and agents do not wait for one write before the next. */
const inTurn = new KeyedQueue();

/** Files that are saved for an agent at the moment, by their keys. */
const saving = new Set<string>();
const typed = new Emitter<{ readonly file: string; readonly text: string }>();
/** An agent is about to save a file in which the user has typed that text. */
export const onSavesTyped = typed.listen;

/** True while a file is saved for an agent or by Parley, and not by the user. */
export function isSavedForAgent(file: string): boolean {
  return saving.has(keyOfFile(realPathNow(file)));
}

/** The files port: unsaved text first; writing goes through the open document, so that undo works and nothing of the user's is overwritten unseen. */
export const editorFiles: Files = {
  async read(file) {
    return inTurn.run(await keyOf(file), () => textNow(file));
  },
  async write(file, text, from, real) {
    return inTurn.run(await keyOf(file), async () => {
      if (real !== undefined && realPathNow(path.resolve(file)) !== real) throw new PlaceChanged(file);
      const document = openDocument(file);
      if (document) return saveDocument(document, text, from, real);
      const there = await textOnDisk(file);
      await writeTextFile(file, there === undefined ? text : inMannerOf(text, there), real);
    });
  },
};

/**
 * What is saved is read from the disk: an open document may not have followed what an agent wrote there. Only the editor reads other encodings than
 * UTF-8.
 */
async function textNow(file: string): Promise<string> {
  const document = openDocument(file);
  if (document?.isDirty) return document.getText();
  try {
    return (await readTextFile(file)).replace(/^\uFEFF/, '');
  } catch (error) {
    if (!document || codeOf(error) === 'ENOENT') throw error;
    return document.getText();
  }
}

async function saveDocument(
  document: vscode.TextDocument,
  text: string,
  from: string | undefined,
  real: string | undefined,
): Promise<void> {
  const key = keyOfFile(realPathNow(document.fileName));
  if (document.isDirty) typed.fire({ file: document.fileName, text: document.getText() });
  saving.add(key);
  try {
    await writeDocument(document, text, from, real);
  } finally {
    saving.delete(key);
  }
}

/** The text as the user has it now: null when there is no such file, undefined when it cannot be read as text. */
export async function presentText(file: string): Promise<string | null | undefined> {
  try {
    return await editorFiles.read(file);
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? null : undefined;
  }
}

/**
 * The open document of a file, under whichever of its names it is open: agents name files as links lead. Addresses are compared as the editor does it,
 * not as text: drive letters have no case.
 */
export function openDocument(file: string): vscode.TextDocument | undefined {
  const open = vscode.workspace.textDocuments.filter((document) => !document.isClosed);
  const named = (name: string) => open.find((document) => document.uri.toString() === vscode.Uri.file(name).toString());
  const real = realPathNow(file);
  const key = keyOfFile(real);
  return named(file) ?? named(real) ?? open.find(({ uri }) => uri.scheme === 'file' && keyOfFile(realPathNow(uri.fsPath)) === key);
}

/** The text of a file with changes that are not on disk yet. */
export function unsavedText(file: string): string | undefined {
  const document = openDocument(file);
  return document?.isDirty ? document.getText() : undefined;
}

/** One file, by whichever of its names. */
async function keyOf(file: string): Promise<string> {
  return keyOfFile(await realpath(file).catch(() => path.resolve(file)));
}

/** undefined when there is no such file. */
async function textOnDisk(file: string): Promise<string | undefined> {
  try {
    return await readTextFile(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
