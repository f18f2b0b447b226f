import type * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { agentError, t } from '../../base/l10n.ts';
import { resolvePath } from '../../base/paths.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { CallId, Diff, Fault, Notice, Output, ToolCall, TurnId } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';
import { isRecord } from './codec.ts';
import { textOf } from './messageCodec.ts';
import * as schema from './schema.ts';
import { confirmation, display, type FaultIn, type Meta, meta, type ResultCommand, type TerminalNote } from './schema.ts';
import { clip, firstLine, planEvents, type ToolUse, toolUse } from './tools.ts';

/* The envelope dialect in our words and back: OpenAI-shaped lines with annotations (docs/protocols/qwen.md). */

// --- to the agent

/** The `@` references of a prompt, named for the agent; null when there are none (docs/protocols/qwen.md §4.5). */
export function referencesIn(text: string): schema.ChatRequest['input']['command'] {
  const references = [...text.matchAll(/(?:^|\s)(@((?:\\.|[^\s\\])+))/g)].map(([, original, resolved]) => ({ original, resolved }));
  return references.length > 0 ? { kind: 'at', references } : null;
}
// --- errors and versions

const UNSUPPORTED = 'unsupported_protocol';

/** An error of the agent, whichever shape it has (docs/protocols/qwen.md §4.9). */
export interface AgentFault extends Fault {
  readonly unsupported: boolean;
}

export function faultOf(error: FaultIn): AgentFault {
  const { message, code, type, retryable } =
    typeof error === 'string' ? { message: undefined, code: error, type: undefined, retryable: false } : error;
  const word = code ?? type ?? undefined;
  const unsupported = [code, type, message].includes(UNSUPPORTED);
  return {
    message: message ?? word ?? agentError(),
    ...(word === undefined ? {} : { code: word }),
    ...(retryable ? { next: ['retry'] as const } : {}),
    unsupported,
  };
}

/** Why it goes no further with an agent that refuses our version: the versions of both sides, as far as they are known, and its own words. */
export function refusal(error: FaultIn, version: string | number | undefined): string {
  const words = typeof error === 'string' ? undefined : (error.message ?? undefined);
  const refused = otherVersion(version);
  return words === undefined || words === UNSUPPORTED ? refused : `${refused} ${words}`;
}

/** Both versions, as far as they are known. */
export function otherVersion(version: string | number | undefined): string {
  return t('The agent speaks version {0} of the protocol; Parley supports {1}.', version ?? '?', 1);
}

/** True for a version that Parley can speak: 1 and its minors. */
export function supports(version: string | number): boolean {
  return /^1(\.|$)/.test(String(version));
}

/** The handshake may be in `system_fingerprint`, as JSON text. */
export function fingerprintOf(text: string | null | undefined): Meta | undefined {
  if (!text?.trimStart().startsWith('{')) return undefined;
  try {
    return meta.safeParse(parseJson(text)).data;
  } catch {
    return undefined;
  }
}
// --- what a tool shows

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

export interface CallDisplay {
  readonly output: readonly Output[];
  /** The content shown beside the call: a plan. */
  readonly events: readonly SessionEvent[];
}

/** The call a display belongs to. */
export interface CallRef {
  readonly turnId: TurnId;
  readonly callId: CallId;
}

/** A `result_display`: text, a file's change, a list of things to do, a plan, a sub-agent's work; anything else as it came (docs/protocols/qwen.md §4.3). */
export function shownIn(value: unknown, cwd: string, place?: CallRef): CallDisplay | undefined {
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

/** The details of a pending `confirmation`: the command, the change, the tool's input; undefined when it has none. */
export function waitingFor(value: unknown, cwd: string): CallDisplay | undefined {
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

function text(words: string): CallDisplay {
  return { output: words === '' ? [] : [{ kind: 'content', content: { type: 'text', text: clip(words, TEXT_KEPT) } }], events: [] };
}

/** A plan is something to read, so it is part of the conversation. */
function planText({ turnId, callId }: CallRef, markdown: string): SessionEvent {
  return { type: 'part.added', turnId, part: { kind: 'text', id: `${callId}:plan`, text: clip(markdown, TEXT_KEPT) } };
}

/** The steps of a sub-agent, below the call that began it; every display repeats all of them. */
function taskEvents(task: z.infer<typeof display>, { turnId, callId: parent }: CallRef, cwd: string): readonly SessionEvent[] {
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
  const file = resolvePath(cwd, one.file_name ?? '');
  if (one.modified != null && one.original !== undefined) return [{ path: file, before: one.original, after: one.modified }];
  return unifiedHunks(one.diff ?? '').map((hunk) => ({ path: file, ...hunk }));
}

/** Most hunks of one diff that are placed each by itself. */
const MOST_HUNKS = 2000;

/** The hunks of a unified diff as excerpts; without a place where there are too many. */
export function unifiedHunks(diff: string): readonly Omit<Diff, 'path'>[] {
  const hunks: { before: string[]; after: string[]; beforeLine: number; afterLine: number }[] = [];
  for (const line of diff.split('\n')) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (head && hunks.length < MOST_HUNKS)
      hunks.push({ before: [], after: [], beforeLine: lineNumber(head[1]), afterLine: lineNumber(head[2]) });
    const hunk = hunks.at(-1);
    if (head || !hunk) continue;
    if (line.startsWith('-') || line.startsWith(' ')) hunk.before.push(line.slice(1));
    if (line.startsWith('+') || line.startsWith(' ')) hunk.after.push(line.slice(1));
  }
  return hunks.map(({ before, after, beforeLine, afterLine }) => ({
    before: before.join('\n'),
    after: after.join('\n'),
    excerpt: hunks.length < MOST_HUNKS ? { beforeLine, afterLine } : { unplaced: true },
  }));
}

/** No file has more lines, and JSON has no number for infinity. */
function lineNumber(digits: string | undefined): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

/** A call without a name so far. */
export function nameless(cwd: string): ToolUse {
  return { ...toolUse('tool', undefined, cwd), title: 'tool' };
}

/**
 * Derives the tool of a call that is known by its displays only: from its confirmation, else from its result (docs/protocols/qwen.md §4.3).
 * `before` is the tool that earlier displays suggested.
 */
export function displayedAs(shown: schema.ToolDisplay, cwd: string, before: ToolUse | undefined): ToolUse | undefined {
  return askedAs(shown.confirmation, cwd) ?? resultAs(shown.result_display, cwd, before) ?? before;
}

function askedAs(value: unknown, cwd: string): ToolUse | undefined {
  const one = schema.confirmation.safeParse(value).data;
  if (!one) return typeof value === 'string' && value.trim() !== '' ? titled(nameless(cwd), value) : undefined;
  const server = one.serverName ?? one.server_name;
  const tool = one.toolName ?? one.tool_name;
  const file = one.file_path ?? one.filePath ?? one.file_name ?? one.fileName;
  if (one.command) return toolUse('shell', { command: one.command }, cwd);
  if (file) return toolUse('edit', { file_path: file }, cwd);
  if (server && tool) return toolUse(`mcp__${server}__${tool}`, one.arguments, cwd);
  if (one.plan) return toolUse('exit_plan_mode', { plan: one.plan }, cwd);
  if (one.urls?.[0]) return toolUse('web_fetch', { url: one.urls.join(' ') }, cwd);
  const words = one.title ?? one.prompt ?? one.message ?? tool;
  return words ? titled(nameless(cwd), words) : undefined;
}

function resultAs(value: unknown, cwd: string, before: ToolUse | undefined): ToolUse | undefined {
  // Printed output identifies the tool least, so it comes last.
  if (typeof value === 'string') return before ?? titled(nameless(cwd), value);
  const one = schema.display.safeParse(value).data;
  if (!one) return undefined;
  switch (one.kind) {
    case 'string':
      return before ?? titled(nameless(cwd), one.text ?? '');
    case 'file_diff':
      return toolUse('edit', { file_path: one.file_name }, cwd);
    case 'todo_list':
      return toolUse('todo_write', undefined, cwd);
    case 'plan_summary':
      return titled({ ...toolUse('exit_plan_mode', undefined, cwd), title: t('Plan') }, one.message ?? '');
    case 'task_execution': {
      const words = [one.subagentName, one.taskDescription].filter(Boolean).join(': ');
      return before?.work === 'agent' && !one.taskDescription ? before : titled(toolUse('agent', undefined, cwd), words);
    }
    default:
      return before ?? titled(nameless(cwd), one.kind);
  }
}

function titled(use: ToolUse, words: string): ToolUse {
  const title = visibleText(firstLine(words));
  return title === '' ? use : { ...use, title };
}
// --- terminal text

/** Theme tokens of the terminal program, as the colour numbers every terminal maps to its own theme (SGR). */
const TOKENS: Readonly<Record<string, string>> = {
  accentgreen: '32',
  accentred: '31',
  accentyellow: '33',
  accentblue: '34',
  accentpurple: '35',
  accentcyan: '36',
  lightblue: '94',
  gray: '90',
  comment: '90',
  diffadded: '32',
  diffremoved: '31',
  diffmodified: '33',
};
const RESET = '\u001b[0m';
const SGR = /^(?:\u001b\[[0-9;]*m)+$/;
// Everything but colours: cursor movement, titles, links.
const OTHERS = /\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b\[[0-?]*[ -/]*(?![0-?]*m)[@-ln-~]|\u001b[^[\]PX^_]/g;

/**
 * A terminal note's text with its styles as SGR sequences and nothing else in it that a terminal would obey (docs/protocols/qwen.md §4.3). Offsets are
 * UTF-16 units; those out of range are clamped.
 */
export function styledText(text: string, note: Pick<TerminalNote, 'spans' | 'ansi' | 'channel'>): string {
  const marks = note.spans && note.spans.length > 0 ? spanMarks(note.spans) : ansiMarks(note.ansi ?? []);
  const clean = (piece: string) => piece.replace(OTHERS, '');
  if (marks.length === 0) return note.channel === 'stderr' && !text.includes('\u001b[') ? `\u001b[31m${clean(text)}${RESET}` : clean(text);
  let out = '';
  let from = 0;
  for (const { at, code } of marks.sort((a, b) => a.at - b.at)) {
    const to = Math.min(Math.max(at, from), text.length);
    out += clean(text.slice(from, to)) + code;
    from = to;
  }
  return `${out}${clean(text.slice(from))}${RESET}`;
}

interface Mark {
  readonly at: number;
  readonly code: string;
}

function spanMarks(spans: NonNullable<TerminalNote['spans']>): Mark[] {
  return spans.flatMap((span) => {
    const codes = [TOKENS[(span.style?.theme_token ?? '').toLowerCase()], span.style?.bold ? '1' : undefined].filter(Boolean);
    const from = span.start ?? span.start_index;
    const to = span.end ?? span.end_index;
    if (codes.length === 0 || from == null || to == null || to <= from) return [];
    return [
      { at: from, code: `\u001b[${codes.join(';')}m` },
      { at: to, code: RESET },
    ];
  });
}

function ansiMarks(ansi: NonNullable<TerminalNote['ansi']>): Mark[] {
  return ansi.flatMap(({ offset, code, sequence }) => {
    const found = code ?? sequence ?? '';
    return SGR.test(found) ? [{ at: offset, code: found }] : [];
  });
}
// --- results of commands

/** The user's next step after `result/command` (docs/protocols/qwen.md §4.5). */
export type CommandOutcome =
  | { readonly does: 'say'; readonly level: 'info' | 'warn' | 'error'; readonly text: string }
  /** The command's own answer, as Markdown. */
  | { readonly does: 'tell'; readonly text: string }
  | { readonly does: 'nothing' }
  /** The agent goes on with a turn; what to send when it does not by itself. */
  | { readonly does: 'turn'; readonly parts: readonly unknown[] }
  | { readonly does: 'tool'; readonly name: string; readonly args: unknown }
  | { readonly does: 'history'; readonly items: readonly unknown[] }
  | { readonly does: 'quit' }
  | {
      readonly does: 'confirm';
      readonly title: string;
      readonly text?: string;
      readonly commands: readonly string[];
      readonly shell: boolean;
    };

export function outcomeOf(line: ResultCommand): CommandOutcome {
  const { result } = line;
  const text = (key: string) => (typeof result[key] === 'string' ? result[key] : undefined);
  switch (result.type) {
    case 'handled':
      return { does: 'nothing' };
    case 'message': {
      const level = text('level') ?? text('messageType');
      const words = text('content') ?? '';
      return level === 'error' || level === 'warn' ? { does: 'say', level, text: words } : { does: 'tell', text: words };
    }
    case 'dialog': {
      const name = text('dialog') ?? '';
      return { does: 'say', level: 'info', text: t('The agent shows “{0}” only in a terminal.', name) };
    }
    case 'tool':
      return { does: 'tool', name: text('toolName') ?? text('name') ?? 'tool', args: result.toolArgs ?? result.args };
    case 'submit_prompt': {
      const content = result.content ?? result.parts;
      return {
        does: 'turn',
        parts: typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : [],
      };
    }
    case 'load_history':
      return { does: 'history', items: [result.history, result.items, result.clientHistory].find(Array.isArray) ?? [] };
    case 'quit':
    case 'quit_confirmation':
      return { does: 'quit' };
    case 'confirm_shell_commands': {
      const commands = [result.commandsToConfirm, result.commands].find(Array.isArray) ?? [];
      return { does: 'confirm', title: t('Continue?'), commands: commands.filter(isText), shell: true };
    }
    case 'confirm_action': {
      const words = text('prompt') ?? text('message');
      return { does: 'confirm', title: t('Continue?'), ...(words ? { text: words } : {}), commands: [], shell: false };
    }
    default: {
      return { does: 'say', level: 'info', text: t('The agent shows “{0}” only in a terminal.', result.type) };
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
// --- a conversation that a command loads

const ITEMS = 5_000;
const LEVELS: Readonly<Record<string, Notice['level']>> = { info: 'info', warning: 'warn', warn: 'warn', error: 'error' };

export interface HistoryContext {
  readonly cwd: string;
  readonly at: number;
  readonly newId: () => string;
}

/**
 * A conversation that a command brought back, as events: a turn for each thing the user said, and where it came from. Items are those of the agent's own list
 * (`type`: user, gemini, tool_group, info, error) or plain messages (`role`: user, assistant); others are left out.
 */
export function historyEvents(items: readonly unknown[], context: HistoryContext): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  let turnId: TurnId | undefined;
  const end = () => {
    if (turnId !== undefined) events.push({ type: 'turn.ended', turnId, at: context.at, status: 'done' });
  };
  const begin = (text: string): TurnId => {
    end();
    turnId = context.newId();
    events.push({ type: 'turn.started', turnId, at: context.at, prompt: text === '' ? [] : [{ type: 'text', text }] });
    return turnId;
  };
  const note = (level: Notice['level'], text: string) => {
    const notice = { level, text };
    events.push({ type: 'part.added', turnId: turnId ?? begin(''), part: { kind: 'notice', id: context.newId(), notice } });
  };
  for (const item of items.slice(0, ITEMS)) {
    if (!isRecord(item)) continue;
    const who = String(item.type ?? item.role ?? '');
    const text = clip(wordsIn(item), TEXT_KEPT);
    const id = context.newId();
    if (who === 'user') begin(text);
    else if (who === 'tool_group') events.push(...callEvents(item.tools, turnId ?? begin(''), context));
    else if (text === '') continue;
    else if (who in LEVELS) note(LEVELS[who] ?? 'info', text);
    else if (/^(gemini|gemini_content|qwen|assistant|model)$/.test(who)) {
      events.push({ type: 'text.delta', turnId: turnId ?? begin(''), kind: 'text', partId: id, text });
    }
  }
  end();
  return events;
}

function wordsIn(item: Readonly<Record<string, unknown>>): string {
  if (typeof item.text === 'string') return item.text;
  if (Array.isArray(item.parts))
    return item.parts.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('');
  return textOf(item.content);
}

function callEvents(tools: unknown, turnId: TurnId, { cwd, newId }: HistoryContext): readonly SessionEvent[] {
  if (!Array.isArray(tools)) return [];
  return tools.filter(isRecord).flatMap((tool): readonly SessionEvent[] => {
    const name = typeof tool.name === 'string' ? tool.name : 'tool';
    const use = toolUse(name, tool.args, cwd);
    const shown = shownIn(tool.resultDisplay ?? tool.result_display, cwd);
    const id = newId();
    const call: ToolCall = {
      id,
      name,
      title: typeof tool.description === 'string' && tool.args === undefined ? `${name} ${clip(tool.description, 200)}` : use.title,
      kind: use.kind,
      status: statusIn(typeof tool.status === 'string' ? tool.status : 'success') ?? 'done',
      inputText: '',
      output: shown?.output ?? [],
      locations: use.locations,
    };
    return [{ type: 'part.added', turnId, part: { kind: 'call', id, call } }];
  });
}
/** The annotations of a list that are objects. */
export function annotationsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
