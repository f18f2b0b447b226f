import * as vscode from 'vscode';
import type { Content } from '../session/model.ts';

/** Most of a selection that travels with a prompt, in UTF-16 units. */
const LONGEST = 256 * 1024;

/** The selection of the active editor, or its whole line when nothing is selected. Undefined when there is no editor on a file. */
export function selectionContent(): Content | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : new vscode.Range(selection.start, selection.end);
  const text = document.getText(range).slice(0, LONGEST);
  if (document.uri.scheme !== 'file') return { type: 'text', text };
  // A selection that ends before the first character of a line does not reach into that line.
  const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
  return { type: 'file', path: document.uri.fsPath, text, lines: [range.start.line + 1, last + 1] };
}

/** What a menu was opened on (several, from the explorer), or else the file in front. Folders and what is not on disk are left out. */
export async function fileContents(clicked: unknown, selected: unknown): Promise<readonly Content[]> {
  const many = Array.isArray(selected) ? selected.filter((one: unknown) => one instanceof vscode.Uri) : [];
  const one = clicked instanceof vscode.Uri ? clicked : vscode.window.activeTextEditor?.document.uri;
  const uris = many.length > 0 ? many : one ? [one] : [];
  const files = await Promise.all(uris.map(async (uri) => ((await isFile(uri)) ? uri : undefined)));
  return files.flatMap((uri) => (uri ? [{ type: 'file', path: uri.fsPath } as const] : []));
}

async function isFile(uri: vscode.Uri): Promise<boolean> {
  if (uri.scheme !== 'file') return false;
  try {
    return ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) !== 0;
  } catch {
    return false;
  }
}
