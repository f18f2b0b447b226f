import { structuredPatch } from 'diff';
import { type DisplayBlock, KnownBlock } from '../../../protocols/kimi-wire/schema.ts';
import { shellProgram } from '../../tools/shellProgram.ts';
import type { Shown } from '../../tools/tool.ts';
import type { Dialect } from './versions.ts';

type Block = DisplayBlock | { readonly type: string; readonly data: unknown };

const CONTEXT = 3;
/** Limits above which a diff is sent as a summary (wire.md §6). */
const MOST_LINES = 10_000;
const MOST_EDITS = 1000;

/** Display blocks for the user. */
export function blocksOf(shown: readonly Shown[], dialect: Dialect): readonly Block[] {
  return shown.flatMap((one) => blocksOfOne(one, dialect));
}

function blocksOfOne(one: Shown, dialect: Dialect): readonly Block[] {
  switch (one.type) {
    case 'brief':
      return [{ type: 'brief', text: one.text }];
    case 'todo':
      return [{ type: 'todo', items: one.items.map((item) => ({ ...item })) }];
    case 'command':
      return [{ type: 'shell', language: /bash|posix/i.test(shellProgram().kind) ? 'bash' : 'powershell', command: one.command }];
    case 'diff':
      return diffBlocks(one, dialect);
    case 'task': {
      const { id, kind, status, description } = one.task;
      return dialect.has('notifications') ? [{ type: 'background_task', task_id: id, kind, status, description }] : [];
    }
    case 'other':
      return [passedOn(one.value)];
  }
}

/** One block per hunk: up to three lines around it, joined with `\n`, without the final newline. */
function diffBlocks(diff: Extract<Shown, { type: 'diff' }>, dialect: Dialect): readonly Block[] {
  const before = diff.before ?? '';
  const hunks = isLong(before) || isLong(diff.after) ? undefined : hunksOf(before, diff.after);
  if (!hunks) {
    const summary = { path: diff.path, old_text: countOf(before), new_text: countOf(diff.after) };
    return [{ type: 'diff', ...summary, ...(dialect.has('summaries') ? { is_summary: true } : {}) }];
  }
  return hunks.map((hunk) => ({
    type: 'diff',
    path: diff.path,
    old_text: side(hunk.lines, '-'),
    new_text: side(hunk.lines, '+'),
    ...(dialect.has('diffStarts') ? { old_start: Math.max(hunk.oldStart, 1), new_start: Math.max(hunk.newStart, 1) } : {}),
  }));
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly string[];
}

function hunksOf(before: string, after: string): readonly Hunk[] | undefined {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: MOST_EDITS });
  return patch?.hunks;
}

function side(lines: readonly string[], sign: '-' | '+'): string {
  return lines
    .filter((line) => line.startsWith(' ') || line.startsWith(sign))
    .map((line) => line.slice(1))
    .join('\n');
}

function isLong(text: string): boolean {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    lines += 1;
    if (lines > MOST_LINES) return true;
  }
  return false;
}

function countOf(text: string): string {
  const lines = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return `(${lines} lines)`;
}

/** The types every client knows; a block of such a type with another shape is none. */
const KNOWN: ReadonlySet<unknown> = new Set(['brief', 'diff', 'todo', 'shell', 'background_task']);

/** A block of an unknown type, passed on unchanged. */
export function isPassedOn(value: unknown): value is { readonly type: string } {
  const { type } = Object(value) as { readonly type?: unknown };
  return typeof type === 'string' && !KNOWN.has(type);
}

/** A block of a client's tool: one of a known type as it is, another as `{type, data}`, as Kimi CLI does it. */
function passedOn(value: unknown): Block {
  const block = KnownBlock.safeParse(value);
  if (block.success) return block.data;
  const { type = 'unknown', ...data } = Object(value) as { readonly type?: string };
  return { type, data };
}
