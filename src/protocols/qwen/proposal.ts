import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import type { Diff } from '../../session/model.ts';
import type { Files } from '../ports.ts';
import { pathOf, type ToolUse } from './toolTable.ts';

/** A file as the user has it: null when there is none, undefined when it cannot be read. */
export type FileText = string | null | undefined;

const edit = z.object({
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.optional(z.nullable(z.boolean())),
});
type Edit = z.infer<typeof edit>;
const many = z.object({ edits: z.array(edit).check(z.maxLength(1000)) });
const write = z.object({ content: z.string() });
const notebook = z.object({
  cell_id: z.optional(z.nullable(z.string())),
  new_source: z.optional(z.nullable(z.string())),
  edit_mode: z.optional(z.nullable(z.string())),
});
const cells = z.object({
  cells: z.array(z.object({ id: z.optional(z.string()), source: z.union([z.string(), z.array(z.string())]) })),
});

/** Unsaved text first. */
export async function readFileText(files: Files, file: string): Promise<FileText> {
  try {
    return (await files.read(file)).replaceAll('\r\n', '\n');
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT' ? null : undefined;
  }
}

/**
 * What a call would do to its file, from its input and the file's text. The agent sends no diff (qwen.md §3.5). When it cannot be told
 * exactly, the pieces are shown as an excerpt. Empty for calls that change no file.
 */
export function proposalOf(use: ToolUse, text: FileText, cwd: string): readonly Diff[] {
  const path = pathOf(use.input, cwd);
  if (path === undefined) return [];
  if (use.work === 'write') {
    const parsed = write.safeParse(use.input);
    if (!parsed.success) return [];
    const after = unix(parsed.data.content);
    return [text === undefined ? { path, before: '', after, excerpt: {} } : { path, before: text, after }];
  }
  if (use.work === 'edit') return editProposal(editsOf(use.input), path, text);
  return use.work === 'notebook' ? cellProposal(use.input, path, text) : [];
}

/** The same before it is allowed: what is not certain of a file that cannot be read is said too. */
export function previewOf(use: ToolUse, text: FileText, cwd: string): readonly Diff[] {
  const diffs = proposalOf(use, text, cwd);
  return text === undefined && use.work !== 'notebook' ? diffs.map((diff) => ({ ...diff, excerpt: { unplaced: true } })) : diffs;
}

/** The text after some edits; undefined when one of them does not fit exactly. */
export function applyEdits(text: string | null, edits: readonly Edit[]): string | undefined {
  let now = text;
  for (const one of edits) {
    const from = unix(one.old_string);
    const to = unix(one.new_string);
    if (from === '') {
      if (now !== null && now !== '') return undefined;
      now = to;
      continue;
    }
    if (now === null) return undefined;
    const pieces = now.split(from);
    if (pieces.length === 1 || (pieces.length > 2 && !one.replace_all)) return undefined;
    now = pieces.join(to);
  }
  return now ?? undefined;
}

function editsOf(input: Readonly<Record<string, unknown>>): readonly Edit[] {
  const single = edit.safeParse(input);
  if (single.success) return [single.data];
  const several = many.safeParse(input);
  return several.success ? several.data.edits : [];
}

function editProposal(edits: readonly Edit[], path: string, text: FileText): readonly Diff[] {
  if (edits.length === 0) return [];
  const after = text === undefined ? undefined : applyEdits(text, edits);
  if (after !== undefined && text !== undefined) return [{ path, before: text, after }];
  const excerpt = text === undefined ? {} : { unplaced: true as const };
  return edits.map((one) => ({ path, before: unix(one.old_string), after: unix(one.new_string), excerpt }));
}

function cellProposal(input: Readonly<Record<string, unknown>>, path: string, text: FileText): readonly Diff[] {
  const parsed = notebook.safeParse(input);
  if (!parsed.success) return [];
  const { cell_id, new_source, edit_mode } = parsed.data;
  const before = edit_mode === 'insert' ? '' : (cellSource(text, cell_id) ?? '');
  return [{ path, before, after: edit_mode === 'delete' ? '' : unix(new_source ?? ''), excerpt: {} }];
}

function cellSource(text: FileText, id: string | null | undefined): string | undefined {
  if (!text) return undefined;
  try {
    const parsed = cells.safeParse(parseJson(text));
    const source = parsed.success ? parsed.data.cells.find((cell, at) => cell.id === id || `cell-${at}` === id)?.source : undefined;
    return typeof source === 'string' ? source : source?.join('');
  } catch {
    return undefined;
  }
}

/** The input that makes the call leave `text` behind instead of what it proposed; undefined where that cannot be said. */
export function inputFor(use: ToolUse, before: string | null, text: string): Readonly<Record<string, unknown>> | undefined {
  if (use.work === 'write') return { ...use.input, content: text };
  if (use.work !== 'edit') return undefined;
  if (before === null || before === '') return { ...use.input, old_string: '', new_string: text, replace_all: false };
  const change = smallestChange(before, text);
  return { ...use.input, ...(change ?? { old_string: before, new_string: text }), replace_all: false };
}

/** The changed lines, with as many lines around them as it takes to be found only once. */
function smallestChange(before: string, after: string): { readonly old_string: string; readonly new_string: string } | undefined {
  const old = before.split('\n');
  const now = after.split('\n');
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  for (; ; head -= 1, tail -= 1) {
    const [from, end] = [Math.max(0, head), Math.max(0, tail)];
    const old_string = old.slice(from, old.length - end).join('\n');
    if (old_string !== '' && before.split(old_string).length === 2) {
      return { old_string, new_string: now.slice(from, now.length - end).join('\n') };
    }
    if (from === 0 && end === 0) return undefined;
  }
}

function unix(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
