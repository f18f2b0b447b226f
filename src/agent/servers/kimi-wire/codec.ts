import { structuredPatch } from 'diff';
import { atLeast, eventMessage, type Feature, SINCE } from '../../../protocols/kimi-wire/codec.ts';
import {
  type AnswerResult,
  type ContentPart,
  codes,
  type DisplayBlock,
  type EventPayload,
  KnownBlock,
  NEWEST_VERSION,
  type ToolReturnValue,
  type UserInput,
} from '../../../protocols/kimi-wire/schema.ts';
import type { AgentEvent } from '../../frontend.ts';
import { localize } from '../../locale.ts';
import { isModelError, type UserPart } from '../../models/model.ts';
import { shellProgram } from '../../tools/shellProgram.ts';
import { failed, type OutcomeDisplay, type TaskEnd, type ToolOutcome } from '../../tools/tool.ts';

// --- versions

/** Features of each Wire version (wire.md §3). Decides everything that the server omits for older clients. */
export interface WireDialect {
  /** As told to the client; 1.0 says "1". */
  readonly name: string;
  has(feature: Feature): boolean;
}

const NEWEST_MINOR = Number(NEWEST_VERSION.split('.')[1]);

/** Undefined for a version we do not serve. "1" is 1.0. */
export function dialectOf(version: string): WireDialect | undefined {
  const match = /^1(?:\.(\d+))?$/.exec(version);
  if (!match) return undefined;
  const minor = Number(match[1] ?? 0);
  if (minor > NEWEST_MINOR) return undefined;
  return { name: minor === 0 ? '1' : `1.${minor}`, has: (feature) => atLeast({ major: 1, minor }, SINCE[feature]) };
}

// --- messages

/** A failure with a code of wire.md §10. */
export class WireError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface WireMessage {
  readonly type: string;
  readonly payload: object;
}

/** Encodes the loop's output as events of one dialect. Remembers only which call's arguments were streamed. */
export class Encoder {
  readonly #dialect: WireDialect;
  readonly #grown = new Set<string>();
  #input: UserInput = '';

  constructor(dialect: WireDialect) {
    this.#dialect = dialect;
  }

  /** The input of the next turn, in the client's own words. */
  expect(input: UserInput): void {
    this.#input = input;
  }

  encode(said: AgentEvent): readonly WireMessage[] {
    const dialect = this.#dialect;
    switch (said.type) {
      case 'turn.started':
        this.#grown.clear();
        return [eventMessage('TurnBegin', { user_input: this.#input })];
      case 'turn.ended':
        return dialect.has('turnEnd') ? [eventMessage('TurnEnd', {})] : [];
      case 'step.started':
        return [eventMessage('StepBegin', { n: said.n })];
      case 'step.broken':
        return [eventMessage('StepInterrupted', {})];
      case 'step.retry':
        if (!dialect.has('stepRetry')) return [eventMessage('StepInterrupted', {}), eventMessage('StepBegin', { n: said.n })];
        return [
          eventMessage('StepRetry', {
            n: said.n,
            next_attempt: said.nextAttempt,
            max_attempts: said.maxAttempts,
            wait_s: said.wait,
            error_type: said.reason,
            status_code: said.status ?? null,
          }),
        ];
      case 'text':
        return [eventMessage('ContentPart', { type: 'text', text: said.text })];
      case 'thought':
        return [eventMessage('ContentPart', { type: 'think', think: said.text, encrypted: null })];
      case 'call.started':
        return [eventMessage('ToolCall', { type: 'function', id: said.id, function: { name: said.name, arguments: null }, extras: null })];
      case 'call.delta':
        this.#grown.add(said.id);
        return [eventMessage('ToolCallPart', { arguments_part: said.text })];
      case 'call.ready':
        return this.#grown.has(said.id) ? [] : [eventMessage('ToolCallPart', { arguments_part: said.input })];
      case 'cut':
      case 'call.runs':
      case 'call.output':
        return [];
      case 'call.ended':
        return [eventMessage('ToolResult', { tool_call_id: said.id, return_value: returnValueOf(said.outcome, dialect) })];
      case 'status':
        return [eventMessage('StatusUpdate', statusOf(said, dialect))];
      case 'planMode':
        return dialect.has('planMode') ? [eventMessage('StatusUpdate', { plan_mode: said.on })] : [];
      case 'plan.shown':
        return dialect.has('planDisplay') ? [eventMessage('PlanDisplay', { content: said.text, file_path: said.path })] : [];
      case 'steered':
        return dialect.has('steerInput') ? [eventMessage('SteerInput', { user_input: inputOf(said.input) })] : [];
      case 'compaction.started':
        return [eventMessage('CompactionBegin', {})];
      case 'compaction.ended':
        return [eventMessage('CompactionEnd', {})];
      case 'task.ended':
        return dialect.has('notifications') ? [eventMessage('Notification', notificationOf(said.end))] : [];
      case 'aside.asked':
        return dialect.has('asides') ? [eventMessage('BtwBegin', { id: said.id, question: said.question })] : [];
      case 'aside.answered':
        if (!dialect.has('asides')) return [eventMessage('ContentPart', { type: 'text', text: said.error ?? said.text })];
        return [eventMessage('BtwEnd', { id: said.id, response: said.error === undefined ? said.text : null, error: said.error ?? null })];
      case 'sub':
        return this.#ofSubagent(said.said).map((inner) => eventMessage('SubagentEvent', this.#nested(said, inner)));
    }
  }

  /** Its turn has an input of its own; the calls of the turn around it go on. */
  #ofSubagent(said: AgentEvent): readonly WireMessage[] {
    return said.type === 'turn.started' ? [eventMessage('TurnBegin', { user_input: inputOf(said.input) })] : this.encode(said);
  }

  #nested(said: Extract<AgentEvent, { type: 'sub' }>, inner: WireMessage): EventPayload['SubagentEvent'] {
    if (!this.#dialect.has('parentToolCallId'))
      return { task_tool_call_id: said.callId, event: { type: inner.type, payload: { ...inner.payload } } };
    return {
      parent_tool_call_id: said.callId,
      agent_id: said.agentId,
      subagent_type: said.kind,
      event: { type: inner.type, payload: { ...inner.payload } },
    };
  }
}

function notificationOf({ id, task, message, told, at }: TaskEnd): EventPayload['Notification'] {
  const went = { completed: 'success', failed: 'error', killed: 'warning', running: 'info', awaiting_approval: 'info' } as const;
  return {
    id,
    category: 'task',
    type: `task.${task.status}`,
    source_kind: 'background_task',
    source_id: task.id,
    title: localize(`In the background: ${task.description}`, `后台任务：${task.description}`),
    body: told ?? message,
    severity: went[task.status],
    created_at: at / 1000,
    payload: { task_id: task.id, task_kind: task.kind, status: task.status },
  };
}

function statusOf(said: Extract<AgentEvent, { type: 'status' }>, dialect: WireDialect): object {
  const { usage } = said;
  return {
    context_usage: said.contextSize > 0 ? Math.min(said.contextTokens / said.contextSize, 1) : null,
    ...(dialect.has('contextTokens') ? { context_tokens: said.contextTokens, max_context_tokens: said.contextSize } : {}),
    token_usage: usage
      ? { input_other: usage.input - usage.cached, output: usage.output, input_cache_read: usage.cached, input_cache_creation: 0 }
      : null,
  };
}

/** A failure has a note for the user, as Kimi CLI's tools give one. */
export function returnValueOf(outcome: ToolOutcome, dialect: WireDialect): object {
  const { isError, text, message, shown, told, exitCode } = outcome;
  const note = isError && message !== '' && !shown.some((one) => one.type === 'brief');
  const display = note ? [{ type: 'brief' as const, text: told ?? message.split('\n', 1)[0] ?? '' }, ...shown] : shown;
  const extras = { ...(exitCode === undefined ? {} : { exit_code: exitCode }), ...(told === undefined ? {} : { message_for_user: told }) };
  const beside = Object.keys(extras).length === 0 ? {} : { extras };
  return { is_error: isError, output: text, message, display: blocksOf(display, dialect), ...beside };
}

/** Decodes the answer of a client's tool; undefined when malformed. Names parts that are not text and sends them to the model separately. */
export function outcomeOf(answer: AnswerResult['ToolCallRequest']): ToolOutcome | undefined {
  const { is_error, output, message, display } = answer.return_value;
  if (typeof output !== 'string' && output.some((part) => part.type === 'unknown')) return undefined;
  if (display.some((block) => block.type === 'unknown' && !isPassedOn(block.value))) return undefined;
  const shown: readonly OutcomeDisplay[] = display.map((block) =>
    block.type === 'brief' ? { type: 'brief', text: block.text } : { type: 'other', value: block.type === 'unknown' ? block.value : block },
  );
  const media = typeof output === 'string' ? [] : output.flatMap(userParts).filter((part) => part.type !== 'text');
  return { isError: is_error, text: textOfOutput(output), message, shown, ...(media.length > 0 ? { media } : {}) };
}

export const invalidToolAnswer: ToolOutcome = failed('Invalid tool result payload from the client.');

function textOfOutput(output: ToolReturnValue['output']): string {
  if (typeof output === 'string') return output;
  return output.map((part) => (part.type === 'text' ? part.text : `[${part.type === 'unknown' ? 'content' : part.type}]`)).join('\n');
}

/** The parts of a prompt. Throws WireError -32602 for parts of an unknown type and for nothing at all. */
export function partsOf(input: UserInput): readonly UserPart[] {
  const list: readonly ContentPart[] = typeof input === 'string' ? [{ type: 'text', text: input }] : input;
  const parts = list.flatMap(userParts);
  if (parts.length === 0) throw new WireError(codes.badParams, 'user_input is empty');
  return parts;
}

function userParts(part: ContentPart): readonly UserPart[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'think':
      return [];
    case 'image_url':
      return [{ type: 'image', url: part.image_url.url }];
    case 'audio_url':
      return [{ type: 'audio', url: part.audio_url.url }];
    case 'video_url':
      return [{ type: 'video', url: part.video_url.url }];
    case 'unknown':
      throw new WireError(codes.badParams, `user_input has a content part nobody knows: ${JSON.stringify(part.value).slice(0, 100)}`);
  }
}

function inputOf(parts: readonly UserPart[]): UserInput {
  const [first] = parts;
  if (parts.length === 1 && first?.type === 'text') return first.text;
  return parts.map(contentPart);
}

function contentPart(part: UserPart): ContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'audio':
      return { type: 'audio_url', audio_url: { url: part.url } };
    case 'video':
      return { type: 'video_url', video_url: { url: part.url } };
  }
}

/** A failed turn as an error of wire.md §10. */
export function wireErrorOf(error: unknown, dialect: WireDialect): unknown {
  if (!isModelError(error)) return error;
  const byKind = {
    no_model: codes.noModel,
    model_cannot: codes.modelCannot,
    service: codes.modelService,
    login: dialect.has('loginExpired') ? codes.loginExpired : codes.modelService,
  } as const;
  return new WireError(byKind[error.kind], error.message);
}

// --- blocks for the user

type Block = DisplayBlock | { readonly type: string; readonly data: unknown };

const CONTEXT = 3;
/** Limits above which a diff is sent as a summary (wire.md §6). */
const MOST_LINES = 10_000;
const MOST_EDITS = 1000;

/** Display blocks for the user. */
export function blocksOf(shown: readonly OutcomeDisplay[], dialect: WireDialect): readonly Block[] {
  return shown.flatMap((one) => blocksOfOne(one, dialect));
}

function blocksOfOne(one: OutcomeDisplay, dialect: WireDialect): readonly Block[] {
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
function diffBlocks(diff: Extract<OutcomeDisplay, { type: 'diff' }>, dialect: WireDialect): readonly Block[] {
  const before = diff.before ?? '';
  const hunks = isLong(before) || isLong(diff.after) ? undefined : hunksOf(before, diff.after);
  if (!hunks) {
    const summary = { path: diff.path, old_text: countOf(before), new_text: countOf(diff.after) };
    return [{ type: 'diff', ...summary, ...(dialect.has('summaries') ? { is_summary: true } : {}) }];
  }
  // A new file without a line has no hunk; clients know of it by its block only.
  const shown = diff.before === null && hunks.length === 0 ? [{ oldStart: 1, newStart: 1, lines: [] }] : hunks;
  return shown.map((hunk) => ({
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

/** The types every client knows; a block of such a type with another shape does not count. */
const KNOWN: ReadonlySet<unknown> = new Set(['brief', 'diff', 'todo', 'shell', 'background_task']);

/** A block of an unknown type, passed on unchanged. */
function isPassedOn(value: unknown): value is { readonly type: string } {
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
