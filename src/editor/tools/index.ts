import path from 'node:path';
import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { Tool } from '../../protocols/ports.ts';
import { presentText } from '../files.ts';
import type { ToolContext } from './context.ts';
import { languageTools } from './language.ts';
import { type RemoteToolsContext, remoteTools } from './remoteTools.ts';
import { documentAt, lineField, pathField, resolved, succeeded, toolOf } from './toolOf.ts';

/** The list of editor tools: an agent is offered exactly these. */
export function editorTools(context: ToolContext): readonly Tool[] {
  return [...showingTools(context), ...lookingTools(context), ...languageTools(context)];
}

/** The tools of one session: those for every agent, and those for agents that cannot reach the files of this machine. */
export function sessionTools(context: ToolContext & RemoteToolsContext): {
  readonly tools: readonly Tool[];
  readonly remoteFileTools: readonly Tool[];
} {
  return { tools: editorTools(context), remoteFileTools: remoteTools(context) };
}

/** Tools that show something to the user. They change nothing. */
function showingTools({ cwd, documents }: ToolContext): readonly Tool[] {
  return [
    toolOf({
      cwd,
      kind: 'read',
      name: 'open_in_ide',
      description: 'Open a file in the editor for the user, optionally at a line or with a range of lines selected. Lines are 1-based.',
      input: z.strictObject({
        path: pathField,
        line: z.optional(lineField('Line to show.')),
        endLine: z.optional(lineField('Last line of the range to select; not before `line`.')),
      }),
      run: async ({ path: file, line, endLine }) => {
        const document = await documentAt(cwd, file);
        if (endLine !== undefined && (line === undefined || endLine < line))
          return { ok: false, text: 'endLine needs a line that is not after it' };
        const options = line === undefined ? {} : { selection: linesOf(document, line, endLine) };
        await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true, ...options });
        const beyond = line !== undefined && line > document.lineCount ? `; it has only ${document.lineCount} lines` : '';
        return succeeded(`Opened ${file}${line === undefined ? '' : ` at line ${line}`}${beyond}`);
      },
    }),
    toolOf({
      cwd,
      kind: 'read',
      name: 'show_diff',
      description:
        'Show the user how a file would change: its text now beside the proposed text. Only shows; nothing is written and no answer is awaited.',
      input: z.strictObject({
        path: pathField,
        text: z.string().check(z.maxLength(1024 * 1024), z.describe('The whole proposed text of the file.')),
      }),
      run: async ({ path: file, text }) => {
        const wanted = resolved(cwd, file);
        const present = await presentText(wanted);
        if (present === undefined) return { ok: false, text: `${file} cannot be read as text` };
        const left = documents.put('show_diff/before', wanted, present ?? '');
        const right = documents.put('show_diff/after', wanted, text);
        const title = `${path.basename(wanted)} (${vscode.l10n.t('shown by the agent')})`;
        await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true, preserveFocus: true });
        return succeeded('The diff is shown. Nothing was written.');
      },
    }),
  ];
}

/** line and endLine are 1-based. A single line becomes a cursor, a range a selection of whole lines. */
function linesOf(document: vscode.TextDocument, line: number, endLine: number | undefined): vscode.Range {
  const at = (one: number) => Math.min(one, document.lineCount) - 1;
  const start = new vscode.Position(at(line), 0);
  return endLine === undefined ? new vscode.Range(start, start) : new vscode.Range(start, document.lineAt(at(endLine)).range.end);
}

/** Most of a selection that is answered, in UTF-16 units. */
const LONGEST_SELECTION = 32 * 1024;
const MOST_EDITORS = 200;

/** Tools that report what the user has in view. */
function lookingTools({ cwd, lsp }: ToolContext): readonly Tool[] {
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
        if (!editor) return succeeded('No text editor is open.');
        const { document, selection } = editor;
        const text = document.getText(selection);
        return succeeded({
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
        return succeeded({
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
