import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { readJson } from '../base/json.ts';
import type { ContextKind, MentionedContext, Surroundings } from '../bridge/contract.ts';
import type { Content } from '../session/model.ts';
import { linesText } from '../session/select.ts';
import { repositories } from './git.ts';
import type { RecentCommand } from './recentCommands.ts';

/** Most of a text that travels with a prompt, in UTF-16 units; most problems and files. */
const LONGEST = 256 * 1024;
const MOST_PROBLEMS = 200;
const MOST_FILES = 50;

/** The contexts that the editor can put into a prompt; contexts that are empty now come last and say so. */
export async function availableContexts(terminal: RecentCommand | undefined): Promise<readonly MentionedContext[]> {
  const selection = selectionContent();
  const problems = problemList().length;
  const files = openFiles().length;
  const found: MentionedContext[] = [];
  const add = (kind: ContextKind, holds: boolean, label: string, detail = '') =>
    found.push(
      holds ? { kind, label, ...(detail ? { detail } : {}) } : { kind, label, detail: vscode.l10n.t('Nothing found'), empty: true },
    );
  add('selection', selection !== undefined, vscode.l10n.t('Selection'), selection?.type === 'file' ? placeOf(selection) : '');
  add('problems', problems > 0, vscode.l10n.t('Problems'), String(problems));
  add('changes', await hasChanges(), vscode.l10n.t('Uncommitted changes'));
  add('terminal', terminal !== undefined, vscode.l10n.t('Terminal'), terminal?.command.slice(0, 100));
  add('openEditors', files > 0, vscode.l10n.t('Open editors'), String(files));
  add('browse', true, vscode.l10n.t('Browse…'));
  return [...found.filter(({ empty }) => !empty), ...found.filter(({ empty }) => empty)];
}

export async function contextContent(kind: ContextKind, terminal: RecentCommand | undefined): Promise<readonly Content[]> {
  switch (kind) {
    case 'selection': {
      const content = selectionContent();
      return content ? [content] : [];
    }
    case 'problems': {
      const problems = problemList();
      return problems.length === 0 ? [] : [document(`${vscode.l10n.t('Problems')} (${problems.length})`, problems.join('\n'))];
    }
    case 'changes': {
      const diff = await changesText();
      return diff === '' ? [] : [document(`${vscode.l10n.t('Uncommitted changes')}.diff`, diff)];
    }
    case 'terminal':
      return terminal ? [terminalContent(terminal)] : [];
    case 'openEditors':
      return openFiles().map((file) => ({ type: 'file', path: file }));
    case 'browse': {
      const chosen = await vscode.window.showOpenDialog({ canSelectMany: true });
      return (chosen ?? []).slice(0, MOST_FILES).map((uri) => ({ type: 'file', path: uri.fsPath }));
    }
  }
}

/** Bytes of a package.json that is read. */
const LARGEST_MANIFEST = 1_000_000;

/** The possible subjects of a first prompt in a folder. */
export async function surroundings(folder: string | undefined): Promise<Surroundings> {
  if (folder === undefined) return { tests: false, changes: false, readme: false };
  const sizeOf = (name: string) =>
    stat(path.join(folder, name)).then(
      (found) => (found.isFile() ? found.size : 0),
      () => 0,
    );
  const [manifest, readme, changes] = await Promise.all([sizeOf('package.json'), sizeOf('README.md'), hasChanges()]);
  const fits = manifest > 0 && manifest <= LARGEST_MANIFEST;
  const tests = fits && hasTests(await readFile(path.join(folder, 'package.json'), 'utf8').catch(() => ''));
  return { tests, changes, readme: readme > 0 };
}

/** True for a manifest whose `npm test` is more than what `npm init` puts there. */
function hasTests(manifest: string): boolean {
  const { scripts } = (readJson(manifest) ?? {}) as { readonly scripts?: unknown };
  const { test } = (scripts ?? {}) as { readonly test?: unknown };
  return typeof test === 'string' && test.trim() !== '' && !test.includes('no test specified');
}

/** The selection of the editor in front, or its whole line when `line` and nothing is selected. Undefined when there is none. */
export function selectionContent(line = false): Content | undefined {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find((one) => !one.selection.isEmpty);
  if (!editor || (editor.selection.isEmpty && !line)) return undefined;
  const { document: shown, selection } = editor;
  const range = selection.isEmpty ? shown.lineAt(selection.active.line).range : new vscode.Range(selection.start, selection.end);
  const text = shown.getText(range).slice(0, LONGEST);
  if (shown.uri.scheme !== 'file') return { type: 'text', text };
  // A selection that ends before the first character of a line does not reach into that line.
  const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
  return { type: 'file', path: shown.uri.fsPath, text, lines: [range.start.line + 1, last + 1] };
}

/** A command of a terminal with its output. */
export function terminalContent({ command, output, exit }: RecentCommand): Content {
  const ended = exit === undefined ? '' : `exit ${exit}`;
  const printed = output === undefined ? `(${vscode.l10n.t('The output is unknown.')})` : output.trimEnd();
  const text = [`$ ${command}`, printed, ended].filter(Boolean).join('\n');
  return document(`${vscode.l10n.t('Terminal')}: ${command.split('\n', 1)[0]?.slice(0, 60)}`, text);
}

function document(name: string, text: string): Content {
  return { type: 'file', path: name, text: text.slice(0, LONGEST) };
}

function placeOf({ path: file, lines }: Extract<Content, { type: 'file' }>): string {
  return `${vscode.workspace.asRelativePath(file)}${linesText(lines)}`;
}

/** Errors and warnings, one line each, as compilers write them. */
function problemList(): readonly string[] {
  return vscode.languages
    .getDiagnostics()
    .flatMap(([uri, found]) => found.filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning).map((one) => ({ uri, one })))
    .slice(0, MOST_PROBLEMS)
    .map(({ uri, one }) => {
      const word = one.severity === vscode.DiagnosticSeverity.Error ? 'error' : 'warning';
      const { line, character } = one.range.start;
      return `${vscode.workspace.asRelativePath(uri)}:${line + 1}:${character + 1}: ${word}: ${one.message}`;
    });
}

/** The files in tabs: language services hold other documents open that the user does not see. */
export function openFiles(): readonly string[] {
  const files = vscode.window.tabGroups.all.flatMap(({ tabs }) =>
    tabs.flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri.fsPath] : [])),
  );
  return [...new Set(files)].slice(0, MOST_FILES);
}

async function hasChanges(): Promise<boolean> {
  return (await repositories()).some(({ state }) => state.workingTreeChanges.length + state.indexChanges.length > 0);
}

async function changesText(): Promise<string> {
  const diffs = await Promise.all((await repositories()).flatMap((one) => [one.diff(true), one.diff(false)]));
  return diffs.filter(Boolean).join('\n');
}

/** The files and folders a menu was opened on (several, from the explorer), or else the file in front. Leaves out those that are not on disk. */
export async function fileContents(clicked: unknown, selected: unknown): Promise<readonly Content[]> {
  const many = Array.isArray(selected) ? selected.filter((one: unknown) => one instanceof vscode.Uri) : [];
  const one = clicked instanceof vscode.Uri ? clicked : vscode.window.activeTextEditor?.document.uri;
  const uris = many.length > 0 ? many : one ? [one] : [];
  const found = await Promise.all(
    uris.map(async (uri): Promise<Content[]> => {
      const kind = await kindOf(uri);
      if ((kind & vscode.FileType.Directory) !== 0) return [{ type: 'file', path: `${uri.fsPath}${path.sep}` }];
      return (kind & vscode.FileType.File) !== 0 ? [{ type: 'file', path: uri.fsPath }] : [];
    }),
  );
  return found.flat();
}

async function kindOf(uri: vscode.Uri): Promise<vscode.FileType> {
  if (uri.scheme !== 'file') return vscode.FileType.Unknown;
  try {
    return (await vscode.workspace.fs.stat(uri)).type;
  } catch {
    return vscode.FileType.Unknown;
  }
}

/** Relative to the workspace folder, with a slash at the end: how folders are named in a prompt. */
export function folderLabel(folder: string): string {
  return `${vscode.workspace.asRelativePath(folder).split(path.sep).join('/')}/`;
}

/** Most of a text that travels with a prompt, in UTF-16 units. */
export const LONGEST_ATTACHED = 256 * 1024;

/** A text as an attachment with a name; nothing for a blank one. */
export function attached(name: string, text: string): readonly Content[] {
  return text.trim() === '' ? [] : [{ type: 'file', path: name, text: text.slice(0, LONGEST_ATTACHED) }];
}
