import path from 'node:path';
import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { Tool } from '../../protocols/ports.ts';
import { presentText } from '../files.ts';
import type { ToolContext } from './context.ts';
import { documentAt, fine, lineField, pathField, resolved, toolOf } from './toolOf.ts';

/** Tools that show something to the user. They change nothing. */
export function showingTools({ cwd, documents }: ToolContext): readonly Tool[] {
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
        return fine(`Opened ${file}${line === undefined ? '' : ` at line ${line}`}${beyond}`);
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
        return fine('The diff is shown. Nothing was written.');
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
