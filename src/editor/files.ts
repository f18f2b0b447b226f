import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import type { Files } from '../protocols/ports.ts';
import { readTextFile } from '../protocols/textFile.ts';
import { inMannerOf } from '../session/diffs.ts';
import { smallestChange } from './textChange.ts';

/** The files port: unsaved text first; writing goes through the open document, so that undo works and nothing of the person's is overwritten unseen. */
export const editorFiles: Files = {
  async read(file) {
    return openDocument(file)?.getText() ?? (await readTextFile(file)).replace(/^\uFEFF/, '');
  },
  async write(file, text) {
    const document = openDocument(file);
    if (document) return writeDocument(document, text);
    await mkdir(path.dirname(file), { recursive: true });
    const there = await textOnDisk(file);
    await writeFile(file, there === undefined ? text : inMannerOf(text, there));
  },
};

/** The text as the person has it now: null when there is no such file, undefined when it cannot be read as text. */
export async function presentText(file: string): Promise<string | null | undefined> {
  try {
    return await editorFiles.read(file);
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? null : undefined;
  }
}

/** Addresses are compared as the editor does it, not as text: drive letters have no case. */
export function openDocument(file: string): vscode.TextDocument | undefined {
  const wanted = vscode.Uri.file(file).toString();
  return vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === wanted);
}

/** The text of a file with changes that are not on disk yet. */
export function unsavedText(file: string): string | undefined {
  const document = openDocument(file);
  return document?.isDirty ? document.getText() : undefined;
}

async function writeDocument(document: vscode.TextDocument, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  const change = smallestChange(document.getText(), inMannerOf(text, document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n'));
  if (change) {
    edit.replace(document.uri, new vscode.Range(document.positionAt(change.from), document.positionAt(change.to)), change.text);
    if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`The editor did not take the change of ${document.fileName}`);
  }
  if (document.isDirty && !(await document.save())) throw new Error(`${document.fileName} could not be saved`);
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
