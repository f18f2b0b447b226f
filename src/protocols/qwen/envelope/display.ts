import path from 'node:path';
import type * as z from 'zod/mini';
import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, Diff, Output, ToolCall, TurnId } from '../../../session/model.ts';
import { visibleText } from '../../../session/visible.ts';
import { clip } from '../clip.ts';
import { planEvents } from '../todos.ts';
import { toolUse } from '../toolTable.ts';
import { confirmation, display } from './schema.ts';

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

/** The call a display belongs to. */
export interface Place {
  readonly turnId: TurnId;
  readonly callId: CallId;
}

/** A `result_display`: text, a file's change, a list of things to do, a plan, a sub-agent's work; anything else as it came (qwen.md §4.3). */
export function shownIn(value: unknown, cwd: string, place?: Place): Shown | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return text(value);
  const parsed = display.safeParse(value);
  if (!parsed.success) return { output: [{ kind: 'json', value }], events: [] };
  const one = parsed.data;
  if (one.log_scope === 'debug') return undefined;
  switch (one.kind) {
    case 'string':
      return text(one.text ?? '');
    case 'file_diff':
      return { output: fileDiffs(one, cwd).map((diff) => ({ kind: 'diff', diff }) as const), events: [] };
    case 'todo_list':
      return { output: [], events: planEvents({ todos: one.todos ?? [] }) };
    case 'plan_summary':
      return { ...text(one.message ?? ''), events: place && one.plan_markdown ? [planText(place, one.plan_markdown)] : [] };
    case 'task_execution': {
      const about = text([one.subagentName, one.taskDescription, one.status].filter(Boolean).join(' · '));
      return place ? { ...about, events: taskEvents(one, place, cwd) } : about;
    }
    default:
      return { output: [{ kind: 'json', value }], events: [] };
  }
}

/** What a `confirmation` says that waits: the command, the change, what a tool is called with; undefined when it says nothing. */
export function waitingFor(value: unknown, cwd: string): Shown | undefined {
  if (typeof value === 'string') return text(visibleText(value));
  const one = confirmation.safeParse(value).data;
  if (!one) return undefined;
  const file = one.file_path ?? one.filePath ?? one.file_name ?? one.fileName;
  if (one.command) return text(visibleText(one.command));
  if (file) {
    const change = {
      file_name: file,
      diff: one.diff ?? one.file_diff ?? one.fileDiff,
      original: one.original ?? one.originalContent,
      modified: one.modified ?? one.newContent,
    };
    return { output: fileDiffs(change, cwd).map((diff) => ({ kind: 'diff', diff }) as const), events: [] };
  }
  if (one.arguments != null) return { output: [{ kind: 'json', value: one.arguments }], events: [] };
  const words = one.plan ?? [one.prompt ?? one.message, ...(one.urls ?? [])].filter(Boolean).join('\n');
  return words === '' ? undefined : text(visibleText(words));
}

function text(words: string): Shown {
  return { output: words === '' ? [] : [{ kind: 'content', content: { type: 'text', text: clip(words, TEXT_KEPT) } }], events: [] };
}

/** A plan is something to read, so it stands in the conversation. */
function planText({ turnId, callId }: Place, markdown: string): SessionEvent {
  return { type: 'part.added', turnId, part: { kind: 'text', id: `${callId}:plan`, text: clip(markdown, TEXT_KEPT) } };
}

/** What a sub-agent does, below the call that began it; told anew with every display. */
function taskEvents(task: z.infer<typeof display>, { turnId, callId: parent }: Place, cwd: string): readonly SessionEvent[] {
  const events = (task.toolCalls ?? []).flatMap((one, at): readonly SessionEvent[] => {
    const name = one.name ?? 'tool';
    const use = toolUse(name, one.args, cwd);
    const id = `${parent}:${one.callId ?? `#${at}`}`;
    const title = one.args === undefined && one.description ? `${name}: ${clip(one.description, 200)}` : use.title;
    const status = statusIn(one.status) ?? 'running';
    const { name: plain, kind, locations } = use;
    const call: ToolCall = { id, name: plain, title, kind, status, inputText: '', output: [], locations };
    const output = shownIn(one.resultDisplay ?? one.result, cwd)?.output;
    return [
      { type: 'part.added', turnId, part: { kind: 'call', id, parent, call } },
      {
        type: 'call.changed',
        turnId,
        callId: id,
        change: {
          ...(one.args === undefined && !one.description ? {} : { title }),
          status,
          ...(output && output.length > 0 ? { output } : {}),
        },
      },
    ];
  });
  if (!task.result) return events;
  const said = { kind: 'text', id: `${parent}:result`, parent, text: clip(task.result, TEXT_KEPT) } as const;
  return [...events, { type: 'part.added', turnId, part: said }];
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
