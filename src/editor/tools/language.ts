import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { Tool } from '../../protocols/ports.ts';
import type { ToolContext } from './context.ts';
import { documentAt, lineField, pathField, resolved, succeeded, toolOf } from './toolOf.ts';
import { wordAt } from './wordAt.ts';

const MOST_DIAGNOSTICS = 200;
const MOST_LOCATIONS = 200;
/** Milliseconds for a language server to report on a file that was not open. */
const FIRST_LOOK = 5000;
const QUIET = 1000;
const POSITIONS = 'Input lines and columns are 1-based. Positions in the answer are LSP: 0-based lines and characters.';

const place = z.strictObject({
  path: pathField,
  line: lineField('Line of the symbol.'),
  column: z.optional(z.int().check(z.gte(1), z.describe('Column of the symbol, 1-based. Leave it out when `symbol` is given.'))),
  symbol: z.optional(
    z.string().check(z.minLength(1), z.maxLength(500), z.describe('The name as it stands on that line, instead of a column.')),
  ),
});
const severities = { error: 0, warning: 1, information: 2, hint: 3 } as const;

/** Tools that ask the editor's language services. */
export function languageTools({ cwd, lsp }: ToolContext): readonly Tool[] {
  return [
    toolOf({
      cwd,
      kind: 'read',
      name: 'get_diagnostics',
      description: `Errors and warnings the editor knows, of one file or of the whole workspace, as LSP diagnostics. ${POSITIONS}`,
      input: z.strictObject({
        path: z.optional(pathField),
        severity: z.optional(
          z.enum(['error', 'warning', 'information', 'hint']).check(z.describe('The least severe kind wanted; hint when left out.')),
        ),
      }),
      run: async ({ path, severity = 'hint' }, signal) => {
        const all = path === undefined ? vscode.languages.getDiagnostics() : [await diagnosticsOf(cwd, path, signal)];
        const files: { path: string; diagnostics: readonly unknown[] }[] = [];
        let count = 0;
        let left = MOST_DIAGNOSTICS;
        for (const [uri, list] of all) {
          const wanted = list.filter((one) => one.severity <= severities[severity]);
          count += wanted.length;
          const shown = wanted.slice(0, left);
          left -= shown.length;
          if (shown.length > 0)
            files.push({ path: uri.scheme === 'file' ? uri.fsPath : uri.toString(), diagnostics: lsp().diagnostics(shown) });
        }
        const unseen = path !== undefined && count === 0 && !inTab(resolved(cwd, path));
        return succeeded({
          count,
          files,
          ...(count > MOST_DIAGNOSTICS ? { cut: `only the first ${MOST_DIAGNOSTICS} are listed` } : {}),
          ...(unseen
            ? { note: 'The file is not open in the editor; many language servers only check files that are. Open it first.' }
            : {}),
        });
      },
    }),
    toolOf({
      cwd,
      kind: 'search',
      name: 'go_to_definition',
      description: `Where a symbol is defined, as LSP locations. Give its line and either its column or its name. ${POSITIONS}`,
      input: place,
      run: async (input) => located(cwd, input, (uri, at) => lsp().definitions(uri, at)),
    }),
    toolOf({
      cwd,
      kind: 'search',
      name: 'find_references',
      description: `Where a symbol is used, as LSP locations. Give its line and either its column or its name. ${POSITIONS}`,
      input: place,
      run: async (input) => located(cwd, input, (uri, at) => lsp().references(uri, at)),
    }),
    toolOf({
      cwd,
      kind: 'read',
      name: 'document_symbols',
      description: `The outline of a file as LSP document symbols; kinds are the numbers of the LSP. ${POSITIONS}`,
      input: z.strictObject({ path: pathField }),
      run: async ({ path }) => {
        const document = await documentAt(cwd, path);
        return succeeded({ path: document.uri.fsPath, symbols: await lsp().symbols(document.uri) });
      },
    }),
  ];
}

async function located(
  cwd: string,
  input: z.output<typeof place>,
  find: (uri: vscode.Uri, at: vscode.Position) => Promise<readonly unknown[]>,
) {
  const document = await documentAt(cwd, input.path);
  if (input.line > document.lineCount) return { ok: false, text: `${input.path} has only ${document.lineCount} lines` };
  const line = document.lineAt(input.line - 1);
  const column = input.symbol === undefined ? (input.column ?? 0) - 1 : wordAt(line.text, input.symbol);
  if (column < 0) {
    const why =
      input.symbol === undefined
        ? 'Give a column or a symbol'
        : `"${input.symbol}" does not stand on line ${input.line}: ${line.text.trim()}`;
    return { ok: false, text: why };
  }
  const all = await find(document.uri, line.range.start.translate(0, Math.min(column, line.text.length)));
  return succeeded({ count: all.length, locations: all.slice(0, MOST_LOCATIONS), ...(all.length > MOST_LOCATIONS ? { cut: true } : {}) });
}

/** Waits a moment for the language server when nothing is known of a file: it may just have been opened or changed. */
async function diagnosticsOf(cwd: string, path: string, signal: AbortSignal): Promise<[vscode.Uri, vscode.Diagnostic[]]> {
  const { uri } = await documentAt(cwd, path);
  if (vscode.languages.getDiagnostics(uri).length === 0) await firstDiagnostics(uri, signal);
  return [uri, vscode.languages.getDiagnostics(uri)];
}

function inTab(file: string): boolean {
  const wanted = vscode.Uri.file(file).toString();
  return vscode.window.tabGroups.all.some((group) =>
    group.tabs.some(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === wanted),
  );
}

/** Servers report in pieces, the first often empty: a finding is enough, otherwise a moment of silence after the last report. */
function firstDiagnostics(uri: vscode.Uri, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let quiet: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(limit);
      clearTimeout(quiet);
      heard.dispose();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const limit = setTimeout(end, FIRST_LOOK);
    const heard = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      if (!uris.some((one) => one.toString() === uri.toString())) return;
      clearTimeout(quiet);
      quiet = setTimeout(end, vscode.languages.getDiagnostics(uri).length > 0 ? 0 : QUIET);
    });
    signal.addEventListener('abort', end);
  });
}
