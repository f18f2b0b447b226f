import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { Tool } from '../../protocols/ports.ts';
import type { ToolContext } from './context.ts';
import { fine, toolOf } from './toolOf.ts';

/** Most of a selection that is answered, in UTF-16 units. */
const LONGEST_SELECTION = 32 * 1024;
const MOST_EDITORS = 200;

/** Tools that tell what the user has before them. */
export function lookingTools({ cwd, lsp }: ToolContext): readonly Tool[] {
  return [
    toolOf({
      cwd,
      kind: 'read',
      name: 'get_selection',
      description:
        'The selection of the editor that the user used last: path, LSP range (0-based lines and characters), text and language. The text is empty when only a cursor is there.',
      input: z.strictObject({}),
      run: async () => {
        const editor = vscode.window.activeTextEditor;
        if (!editor) return fine('No text editor is open.');
        const { document, selection } = editor;
        const text = document.getText(selection);
        return fine({
          path: nameOf(document.uri),
          language: document.languageId,
          unsaved: document.isDirty,
          range: lsp().range(selection),
          text: text.slice(0, LONGEST_SELECTION),
          ...(text.length > LONGEST_SELECTION ? { cut: true } : {}),
        });
      },
    }),
    toolOf({
      cwd,
      kind: 'read',
      name: 'get_open_editors',
      description: 'The files that are open in the editor, with which one is active and which have unsaved changes.',
      input: z.strictObject({}),
      run: async () => {
        const tabs = vscode.window.tabGroups.all.flatMap((group) =>
          group.tabs.map((tab) => ({ tab, active: tab.isActive && group.isActive })),
        );
        const files = new Map<string, { path: string; active: boolean; unsaved: boolean }>();
        for (const { tab, active } of tabs) {
          const uri = uriOf(tab.input);
          if (!uri) continue;
          const path = nameOf(uri);
          const known = files.get(path);
          files.set(path, { path, active: active || known?.active === true, unsaved: tab.isDirty || known?.unsaved === true });
        }
        return fine({
          editors: [...files.values()].slice(0, MOST_EDITORS),
          ...(files.size > MOST_EDITORS ? { more: files.size - MOST_EDITORS } : {}),
        });
      },
    }),
  ];
}

function uriOf(input: unknown): vscode.Uri | undefined {
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook || input instanceof vscode.TabInputCustom)
    return input.uri;
  return input instanceof vscode.TabInputTextDiff && input.modified.scheme === 'file' ? input.modified : undefined;
}

function nameOf(uri: vscode.Uri): string {
  return uri.scheme === 'file' ? uri.fsPath : uri.toString();
}
