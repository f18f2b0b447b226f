import path from 'node:path';
import type { SessionEvent } from '../../../session/events.ts';
import type { Diff, Output, ToolCall } from '../../../session/model.ts';
import { planEvents } from '../todos.ts';
import { clip } from '../visible.ts';
import { display } from './schema.ts';

const TEXT_KEPT = 256 * 1024;
const STATUS: Readonly<Record<string, ToolCall['status']>> = {
  pending: 'pending',
  confirming: 'waiting',
  executing: 'running',
  success: 'done',
  error: 'failed',
  canceled: 'cancelled',
  cancelled: 'cancelled',
};

/** The status words are compared without case; an unknown one changes nothing. */
export function statusIn(word: string | null | undefined): ToolCall['status'] | undefined {
  return word ? STATUS[word.toLowerCase()] : undefined;
}

export interface Shown {
  readonly output: readonly Output[];
  /** What it shows beside the call: a plan. */
  readonly events: readonly SessionEvent[];
}

/** A `result_display`: text, a file's change, a list of things to do, a plan, a sub-agent's work; anything else as it came (qwen.md §4.3). */
export function shownIn(value: unknown, cwd: string): Shown | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return text(value);
  const parsed = display.safeParse(value);
  if (!parsed.success) return { output: [{ kind: 'json', value }], events: [] };
  const one = parsed.data;
  switch (one.kind) {
    case 'string':
      return text(one.text ?? '');
    case 'file_diff':
      return { output: fileDiffs(one, cwd).map((diff) => ({ kind: 'diff', diff }) as const), events: [] };
    case 'todo_list':
      return { output: [], events: planEvents({ todos: one.todos ?? [] }) };
    case 'plan_summary':
      return text([one.message, one.plan_markdown].filter(Boolean).join('\n\n'));
    case 'task_execution':
      return text([one.subagentName, one.taskDescription, one.status].filter(Boolean).join(' · '));
    default:
      return { output: [{ kind: 'json', value }], events: [] };
  }
}

function text(words: string): Shown {
  return { output: words === '' ? [] : [{ kind: 'content', content: { type: 'text', text: clip(words, TEXT_KEPT) } }], events: [] };
}

function fileDiffs(
  one: { readonly file_name?: string | null | undefined; readonly diff?: string | null | undefined } & {
    readonly original?: string | null | undefined;
    readonly modified?: string | null | undefined;
  },
  cwd: string,
): readonly Diff[] {
  const file = path.resolve(cwd, one.file_name ?? '');
  if (one.modified != null && one.original !== undefined) return [{ path: file, before: one.original, after: one.modified }];
  return unifiedHunks(one.diff ?? '').map((hunk) => ({ path: file, ...hunk }));
}

/** The hunks of a unified diff as excerpts. */
export function unifiedHunks(diff: string): readonly Omit<Diff, 'path'>[] {
  const hunks: { before: string[]; after: string[]; beforeLine: number; afterLine: number }[] = [];
  for (const line of diff.split('\n')) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (head) hunks.push({ before: [], after: [], beforeLine: Number(head[1]), afterLine: Number(head[2]) });
    const hunk = hunks.at(-1);
    if (head || !hunk) continue;
    if (line.startsWith('-') || line.startsWith(' ')) hunk.before.push(line.slice(1));
    if (line.startsWith('+') || line.startsWith(' ')) hunk.after.push(line.slice(1));
  }
  return hunks.map(({ before, after, beforeLine, afterLine }) => ({
    before: before.join('\n'),
    after: after.join('\n'),
    excerpt: { beforeLine, afterLine },
  }));
}
