import { resolvePath } from '../../base/paths.ts';
import type { Diff } from '../../session/model.ts';
import type { DiffItem } from './schema.ts';

/**
 * The text of a file now; null when it does not exist, undefined when it could not be read.
 * Agents send whole files or fragments of them under the same name; this finds out which.
 */
export type Current = string | null | undefined;

/** Files longer than this are shown as excerpts: both whole sides travel with every change. */
const WHOLE_LIMIT = 256 * 1024;

/** All the diffs of one path in one message, as one diff of the whole file, or as excerpts when they cannot be placed. */
export function locate(items: readonly DiffItem[], current: Current, done: boolean): readonly Diff[] {
  const path = items[0]?.path ?? '';
  const sentences = items.filter((item) => item.summary);
  if (sentences.length > 0) {
    const others = items.filter((item) => !item.summary);
    return [...sentences.map(asItCame), ...(others.length > 0 ? locate(others, current, done) : [])];
  }
  const text = typeof current === 'string' ? lines(current) : current;
  const search: SearchBudget = { left: MOST_SEARCHED };
  const hunks = items.map((item): Hunk => ({ before: lines(item.oldText ?? ''), after: lines(item.newText), at: item.lines }));
  if (items.length === 1 && items[0] && hunks[0]) {
    const whole = wholeFile(items[0], hunks[0], text, done);
    if (whole) return [{ path, ...whole }];
  }
  if (typeof text === 'string') {
    const after = done ? undefined : replaceAll(text, hunks, search);
    if (after !== undefined) return placed(path, text, after, hunks);
    const before = replaceAll(
      text,
      hunks.map(({ before, after, at }) => ({ before: after, after: before, at: at && [at[1], at[0]] })),
      search,
    );
    if (before !== undefined) return placed(path, before, text, hunks);
    const late = done ? replaceAll(text, hunks, search) : undefined;
    if (late !== undefined) return placed(path, text, late, hunks);
  }
  // Of a file that could not be read, an agent that names lines is believed.
  return hunks.map(({ before, after, at }) => ({
    path,
    before,
    after,
    excerpt: { ...(at ? { beforeLine: at[0], afterLine: at[1] } : {}), ...(at && text === undefined ? {} : { unplaced: true as const }) },
  }));
}

/** The texts as the agent gave them, before anybody has looked into the file. */
export function asItCame(item: DiffItem): Diff {
  const { path, newText: after } = item;
  if (item.summary) return { path, before: null, after, summary: true };
  const isNew = item.oldText == null || item.oldText === '';
  return { path, before: isNew ? null : (item.oldText ?? ''), after, ...(isNew ? {} : { excerpt: {} }) };
}

interface Hunk {
  readonly before: string;
  readonly after: string;
  /** The line where it begins on either side, 1-based. */
  readonly at: readonly [number, number] | undefined;
}

type Sides = Pick<Hunk, 'before' | 'after'>;

/** The item as a statement about the whole file, if it is one. */
function wholeFile(item: DiffItem, hunk: Sides, text: Current, done: boolean): Omit<Diff, 'path'> | undefined {
  const kind = item._meta?.kind;
  if (kind === 'delete') return { before: typeof text === 'string' && !done ? text : hunk.before, after: null };
  if (hunk.before === '') {
    // An empty old text: the file is new, or was empty, or is written whole without a word about what stood there.
    if (kind === 'add' || text === null) return { before: null, after: hunk.after };
    if (text === undefined) return { before: null, after: hunk.after };
    if (same(text, hunk.after)) return { before: kind === 'modify' ? '' : null, after: hunk.after };
    if (text === '') return { before: '', after: hunk.after };
    return item.oldText === '' ? undefined : { before: text, after: hunk.after };
  }
  if (typeof text !== 'string') return undefined;
  if (same(hunk.before, text)) return ended(hunk, text, hunk.before);
  return done && same(hunk.after, text) ? ended(hunk, text, hunk.after) : undefined;
}

/** Both sides with the final newline that the agent left out and the file has. */
function ended(hunk: Sides, text: string, side: string): Sides {
  if (!text.endsWith('\n') || side.endsWith('\n')) return { before: hunk.before, after: hunk.after };
  return { before: `${hunk.before}\n`, after: `${hunk.after}\n` };
}

function placed(path: string, before: string, after: string, hunks: readonly Hunk[]): readonly Diff[] {
  if (before.length + after.length <= WHOLE_LIMIT) return [{ path, before, after }];
  return hunks.map((hunk) => ({
    path,
    before: hunk.before,
    after: hunk.after,
    excerpt: { beforeLine: hunk.at?.[0] ?? lineOf(before, hunk.before), afterLine: hunk.at?.[1] ?? lineOf(after, hunk.after) },
  }));
}

/** UTF-16 units that all hunks of a file are looked for in, together; beyond, they are shown as they came. */
const MOST_SEARCHED = 4 * 1024 * 1024;
/** Putting a text together again costs this part of searching through it. */
const JOIN_COST = 1 / 8;

interface SearchBudget {
  left: number;
}
interface Found {
  readonly at: number;
  readonly length: number;
  /** Without its last line end. */
  readonly short: boolean;
}

/** Replaces every hunk where its text occurs. Undefined when one does not occur, or occurs several times and not at its line. */
function replaceAll(text: string, hunks: readonly Hunk[], search: SearchBudget): string | undefined {
  let now = text;
  // Up to where lines are counted: patches go from top to bottom.
  let [line, at] = [1, 0];
  for (const hunk of hunks) {
    if (hunk.before === '' || search.left <= 0) return undefined;
    search.left -= JOIN_COST * now.length;
    let found: Found | undefined;
    if (hunk.at) {
      // Earlier hunks are applied already, so the line of the new side counts. The agent chose it, so it may be any number.
      const wanted = hunk.at[1];
      if (wanted < line) [line, at] = [1, 0];
      const from = at;
      for (; line < wanted && at < now.length; line++) at = now.indexOf('\n', at) + 1 || now.length;
      search.left -= at - from;
      if (now.startsWith(hunk.before, at)) found = { at, length: hunk.before.length, short: false };
    }
    found ??= once(now, hunk.before, search);
    if (found === undefined) return undefined;
    if (found.at < at) [line, at] = [1, 0];
    // A hunk's trailing newline may be missing on one side only because the file has none.
    now = now.slice(0, found.at) + (found.short ? hunk.after.replace(/\n$/, '') : hunk.after) + now.slice(found.at + found.length);
  }
  return now;
}

/** The place of the part, if it occurs once. A last line may lack its newline at the end of the file. */
function once(text: string, part: string, search: SearchBudget): Found | undefined {
  search.left -= text.length;
  const at = text.indexOf(part);
  if (at >= 0) return text.indexOf(part, at + 1) < 0 ? { at, length: part.length, short: false } : undefined;
  const cut = part.replace(/\n$/, '');
  if (cut === part || cut === '' || !text.endsWith(cut)) return undefined;
  return { at: text.length - cut.length, length: cut.length, short: true };
}

function lineOf(text: string, part: string): number {
  return text.slice(0, Math.max(0, text.indexOf(part))).split('\n').length;
}

function same(one: string, other: string): boolean {
  return one.replace(/\n$/, '') === other.replace(/\n$/, '');
}

function lines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

// --- apply_patch: the edit format of OpenAI's models, which some agents pass on as arguments

/** The patch among the arguments of a call; undefined when they hold none. */
function patchIn(rawInput: unknown): string | undefined {
  const values = typeof rawInput === 'object' && rawInput !== null ? Object.values(rawInput).flat() : [rawInput];
  return values.find((value): value is string => typeof value === 'string' && /^\s*\*\*\* Begin Patch\r?\n/.test(value));
}

/** The changes of such a patch; none when a line of it is not understood, so that half a change is never shown as the whole. */
export function patchItems(rawInput: unknown, cwd: string): readonly DiffItem[] {
  const lines = patchIn(rawInput)?.trim().split(/\r?\n/);
  if (lines?.at(-1)?.trim() !== '*** End Patch') return [];
  const items: PatchItem[] = [];
  let file: { readonly path: string; readonly kind: 'Add' | 'Delete' | 'Update' } | undefined;
  let hunk: PatchItem | undefined;
  for (const line of lines.slice(1, -1)) {
    const [, kind, name = ''] = /^\*\*\* (Add|Delete|Update) File: (.+)$/.exec(line) ?? [];
    const target = /^\*\*\* Move to: (.+)$/.exec(line)?.[1];
    if (kind) {
      file = { path: resolvePath(cwd, name.trim()), kind: kind as 'Add' | 'Delete' | 'Update' };
      hunk = kind === 'Update' ? undefined : { path: file.path, before: kind === 'Add' ? null : '', after: '', kind };
      if (hunk) items.push(hunk);
    } else if (target !== undefined && file?.kind === 'Update') {
      items.push({ path: file.path, before: null, after: `${file.path} → ${resolvePath(cwd, target.trim())}`, kind: 'Move' });
    } else if (file?.kind === 'Update' && /^@@/.test(line)) {
      hunk = { path: file.path, before: '', after: '', kind: 'Update' };
      items.push(hunk);
    } else if (line !== '*** End of File') {
      if (file?.kind === 'Update' && !hunk) {
        hunk = { path: file.path, before: '', after: '', kind: 'Update' };
        items.push(hunk);
      }
      if (!hunk || !extend(hunk, line)) return [];
    }
  }
  return items.filter((item) => item.kind !== 'Update' || item.before !== '' || item.after !== '').map(toDiffItem);
}
interface PatchItem {
  readonly path: string;
  before: string | null;
  after: string;
  readonly kind: string;
}
function extend(hunk: PatchItem, line: string): boolean {
  const [mark, text] = [line[0] ?? ' ', line.slice(1)];
  if (hunk.kind === 'Add') {
    hunk.after += `${text}\n`;
    return mark === '+';
  }
  if (hunk.kind !== 'Update' || !' +-'.includes(mark)) return false;
  if (mark !== '+') hunk.before += `${text}\n`;
  if (mark !== '-') hunk.after += `${text}\n`;
  return true;
}
function toDiffItem({ path, before, after, kind }: PatchItem): DiffItem {
  const item = { type: 'diff', path, oldText: before, newText: after } as const;
  if (kind === 'Move') return { ...item, summary: true } as DiffItem;
  return { ...item, ...(kind === 'Add' ? { _meta: { kind: 'add' } } : kind === 'Delete' ? { _meta: { kind: 'delete' } } : {}) } as DiffItem;
}
