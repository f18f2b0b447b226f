import * as z from 'zod/mini';
import { readJson } from '../../base/json.ts';
import { agentError, limitReached, t } from '../../base/l10n.ts';
import { pathInside } from '../../base/paths.ts';
import { fenced, inOneLine } from '../../base/promptText.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { CallId, Command, Content, Diff, Fault, Output, Remedy, ToolCall, TurnId, Usage } from '../../session/model.ts';
import { replaced } from '../replacements.ts';
import { errorText, isRecord, type Line } from './codec.ts';
import type { ProductTraits } from './quirks.ts';
import {
  type AssistantLine,
  assistantLine,
  type Block,
  block,
  type Initialized,
  type ResultLine,
  type StreamLine,
  type SystemLine,
  type TokenUsage,
  type UserLine,
  userLine,
} from './schema.ts';
import { clip, type FileText, planEvents, proposalOf, type ToolUse } from './tools.ts';

/* The message dialect in our words and back: what Qwen Code ships and Claude Code speaks (docs/protocols/qwen.md). */

const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));

// --- to the agent

export interface MessagePrompt {
  readonly text: string;
  readonly images: readonly { readonly mime: string; readonly data: string }[];
  /** The parts of a prompt that this agent cannot receive. */
  readonly left: readonly string[];
}

/** A prompt as the agent takes it: text, files as `@path` references (docs/protocols/qwen.md §3), images where it understands them. */
export function promptOf(content: readonly Content[], cwd: string, takesImages: boolean): MessagePrompt {
  const left: string[] = [];
  const images: { readonly mime: string; readonly data: string }[] = [];
  const pieces = content.flatMap((one) => {
    switch (one.type) {
      case 'text':
        return [one.text];
      case 'file':
        return [reference(one, cwd)];
      case 'link':
        return [one.title ? `${one.title}: ${one.uri}` : one.uri];
      case 'image':
        if (takesImages) images.push(one);
        else left.push('image');
        return [];
      default:
        left.push(one.type === 'raw' ? one.label : one.type);
        return [];
    }
  });
  return { text: pieces.join('\n').trim(), images, left };
}

/** The member `content` of a user line. */
export function userContent(prompt: MessagePrompt): unknown {
  if (prompt.images.length === 0) return prompt.text;
  return [
    ...prompt.images.map(({ mime, data }) => ({ type: 'image', source: { type: 'base64', media_type: mime, data } })),
    ...(prompt.text === '' ? [] : [{ type: 'text', text: prompt.text }]),
  ];
}

function reference(file: Extract<Content, { type: 'file' }>, cwd: string): string {
  const name = pathInside(cwd, file.path) || file.path;
  const slashed = /^(?:[a-z]:|\\\\)/i.test(file.path) ? name.replaceAll('\\', '/') : name;
  // Agents end a name at such a character, and look for the next @ behind it.
  const at = `@${inOneLine(slashed).replaceAll(/[\s\\,;!?()[\]{}]/g, '\\$&')}`;
  const [from, to] = file.lines ?? [];
  const lines = from === undefined ? '' : ` (lines ${from}-${to})`;
  return file.text === undefined ? `${at}${lines}` : `${at}${lines}:\n${fenced(file.text)}`;
}

/** The id of our `initialize`, which is sent before anything is known of the agent. */
export const INITIALIZE = 'initialize';

/** The line that has to be the very first one (docs/protocols/qwen.md §2.3). */
export function initializeRequest(peer: ProductTraits, withTools: boolean): object {
  return {
    type: 'control_request',
    request_id: INITIALIZE,
    request: {
      subtype: 'initialize',
      hooks: null,
      ...(peer.approvalLimit === undefined ? {} : { timeout: { canUseTool: peer.approvalLimit } }),
      ...(withTools ? { sdkMcpServers: peer.announce(peer.server) } : {}),
    },
  };
}

/** The file changes of a rewind to before a message, planned or done. */
export const rewound = z.object({
  canRewind: z.boolean(),
  filesChanged: z.optional(z.nullable(z.array(z.string()).check(z.maxLength(10_000)))),
  error: z.optional(z.nullable(z.string())),
});

// --- content, pieces of text

/** UTF-16 units of one result that are kept. */
const TEXT_KEPT = 256 * 1024;
const blocks = z.array(block).check(z.maxLength(1000));

/** The content of a message or a tool result: text, or blocks of text and images. Leaves out everything else. */
export function contentOf(value: unknown): readonly Content[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: clip(value, TEXT_KEPT) }];
  const parsed = blocks.safeParse(value);
  return parsed.success ? parsed.data.flatMap(oneContent) : [];
}

export function textOf(value: unknown): string {
  return contentOf(value)
    .map((one) => (one.type === 'text' ? one.text : ''))
    .join('\n');
}

function oneContent(one: Block): readonly Content[] {
  if (one.type === 'text') return one.text ? [{ type: 'text', text: clip(one.text, TEXT_KEPT) }] : [];
  if (one.type === 'image' && one.source?.type === 'base64' && one.source.data) {
    return [{ type: 'image', mime: one.source.media_type ?? 'image/png', data: one.source.data }];
  }
  return [];
}
/** The message for an action that the agent refused by itself, without asking. */
export function refusedByRules(what: string): string {
  return t('The agent refused: {0}', what);
}

/** Why the agent refused, in its words where it gave any. */
export function refusalOf(error: unknown): string {
  return errorText(error) || agentError();
}

/** True for a line in the user's name that is what Claude Code writes for its model when the user stopped it (docs/protocols/qwen.md §12). */
export function isInterruption(text: string): boolean {
  return text.trimStart().startsWith('[Request interrupted');
}

/**
 * A piece of text or thought, by far the most frequent line, checked by hand; undefined for every other line, which the schema looks at.
 * It costs a tenth of the schema's time.
 */
export function deltaIn(message: Line): StreamLine | undefined {
  const { event, parent_tool_use_id: parent } = message;
  if (!isRecord(event) || event.type !== 'content_block_delta' || !isRecord(event.delta)) return undefined;
  if (typeof event.index !== 'number' || (parent !== null && parent !== undefined)) return undefined;
  const { type, text, thinking } = event.delta;
  const { index } = event;
  if (type === 'text_delta' && typeof text === 'string') return line(index, { text });
  if (type === 'thinking_delta' && typeof thinking === 'string') return line(index, { thinking });
  return undefined;
}

function line(index: number, delta: { readonly text: string } | { readonly thinking: string }): StreamLine {
  return { type: 'stream_event', event: { type: 'content_block_delta', index, delta } };
}
// --- system lines

/** The changes that a `system` line makes. */
export interface SystemEffects {
  readonly version?: string | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly mode?: string | undefined;
  readonly model?: string | undefined;
  /** The activity of the turn; null when it has ended. */
  readonly activity?: string | null;
  /** The model failed, and the agent tries again. */
  readonly fails?: true;
  readonly notes: readonly { readonly level: 'info' | 'warn'; readonly text: string; readonly parent?: string }[];
}

/** Reads a `system` line. The subtype `init` comes again with every turn; unknown subtypes change nothing (docs/protocols/qwen.md §3, §12). */
export function systemEffects(line: SystemLine): SystemEffects {
  const mode = line.permission_mode ?? line.permissionMode ?? undefined;
  const text = textIn(line);
  const parent = line.tool_use_id ? { parent: line.tool_use_id } : {};
  const note = (words: string, level: 'info' | 'warn' = 'info'): SystemEffects => ({ mode, notes: [{ level, text: words, ...parent }] });
  switch (line.subtype) {
    case 'init':
      return {
        mode,
        version: line.qwen_code_version ?? line.claude_code_version ?? undefined,
        commands: line.slash_commands ?? undefined,
        model: line.model ?? undefined,
        notes: [],
      };
    case 'status':
      return { mode, activity: line.status === 'compacting' ? t('Compacting the conversation') : null, notes: [] };
    case 'retry':
    case 'api_retry':
      return {
        mode,
        activity: [t('The model failed; trying again'), text].filter(Boolean).join(': '),
        fails: true,
        notes: [],
      };
    case 'task_started':
      return note(taskWords('', text));
    case 'task_notification':
      return note(taskWords(line.status ?? '', text), line.status === 'failed' ? 'warn' : 'info');
    case 'model_fallback':
      return note(text || t('The model failed; trying again'), 'warn');
    case 'permission_denied':
      return note(text || refusedByRules(line.tool_name ?? '…'), 'warn');
    case 'compact_boundary':
      return note(t('The conversation was compressed.'));
    case 'vision_bridge_failed':
    case 'continue_turn_failed':
      return note(text || line.subtype.replaceAll('_', ' '), 'warn');
    default:
      return { mode, notes: [] };
  }
}

function taskWords(status: string, text: string): string {
  return t('In the background: {0}', [text || '…', status].filter(Boolean).join(' · '));
}

/** Qwen Code puts what a line is about into its data, Claude Code beside it. */
export function flatten(line: SystemLine): SystemLine {
  const data = taskData.safeParse(line.data).data;
  if (!data) return line;
  return {
    ...line,
    task_id: line.task_id ?? data.task_id,
    tool_use_id: line.tool_use_id ?? data.tool_use_id,
    status: line.status ?? data.status,
    description: line.description ?? data.description,
    summary: line.summary ?? data.summary,
  };
}
const taskData = z.object({
  task_id: maybe(z.string().check(z.maxLength(1024))),
  tool_use_id: maybe(z.string().check(z.maxLength(1024))),
  status: maybe(z.string().check(z.maxLength(4096))),
  description: maybe(z.string()),
  summary: maybe(z.string()),
});

/** The words of a line: its own, or those in its data. */
function textIn(line: SystemLine): string {
  const data = isRecord(line.data) ? line.data : {};
  const nested = isRecord(line.message) ? line.message.content : line.message;
  for (const value of [line.description, line.summary, nested, data.message, data.description, data.summary, data.reason, data.error]) {
    if (typeof value === 'string' && value !== '') return value.slice(0, 2000);
  }
  return '';
}
// --- results of calls

/** UTF-16 units. A longer text is shown below, as output. */
const ERROR_TEXT = 2000;
const CANCELLED = '[Operation Cancelled]';

/** Claude Code's details of an edit, sent beside the result's text. */
const editResult = z.object({
  filePath: z.string(),
  originalFile: maybe(z.string()),
  oldString: maybe(z.string()),
  newString: maybe(z.string()),
  replaceAll: maybe(z.boolean()),
  content: maybe(z.string()),
  structuredPatch: maybe(
    z.array(z.object({ oldStart: z.number(), newStart: z.number(), lines: z.array(z.string()) })).check(z.maxLength(2000)),
  ),
});
const resultMeta = z
  .array(
    z.object({
      id: z.string(),
      non_execution_kind: maybe(z.string()),
      permission_decision: maybe(z.object({ decision: maybe(z.string()), source: maybe(z.string()) })),
    }),
  )
  .check(z.maxLength(1000));

/** Claude Code's note beside a result on whether its call ran. */
export function metaOf(line: UserLine, callId: CallId): z.infer<typeof resultMeta>[number] | undefined {
  const meta = resultMeta.safeParse(line.tool_result_meta);
  return meta.success ? meta.data.find((one) => one.id === callId) : undefined;
}

/** How a call ended, from its result and the user's decision. */
export interface CallEnd {
  readonly use: ToolUse | undefined;
  /** The file's text before the call, as far as it was read. */
  readonly before: FileText;
  readonly refused: boolean;
  readonly stopping: boolean;
  /** True when read from the agent's record, where only the result tells of a refusal. */
  readonly recorded?: boolean;
  /** The user wrote another text than was proposed; the agent was told so by a refusal. */
  readonly applied?: Diff;
}

/** The end of a call. */
export function resultEvents(block: Block, line: UserLine, turnId: TurnId, how: CallEnd, cwd: string): readonly SessionEvent[] {
  const callId = block.tool_use_id;
  if (!callId) return [];
  const status = statusOf(block, line, callId, how);
  const wasRefused = status === 'rejected' || status === 'cancelled';
  const diffs = status === 'done' || (wasRefused && how.recorded) ? diffsOf(line, how, cwd) : wasRefused ? proposedBy(how, cwd) : [];
  const whole = textOf(block.content);
  const isReport = how.use?.work === 'agent' && withoutFrame(whole) !== whole;
  const contents = contentOf(block.content)
    .flatMap((one) => forPeople(one, block.is_error === true, isReport))
    .filter((one) => !((wasRefused || how.applied) && one.type === 'text' && OURS_ALONE.test(one.text)));
  const words = contents.map((one) => (one.type === 'text' ? one.text : '')).join('\n');
  // A failure is shown once: as the error if it is short enough. The output of a command stays output.
  const asError = status === 'failed' && how.use?.work !== 'shell' && words.length <= ERROR_TEXT;
  const said = asError ? contents.filter((one) => one.type !== 'text') : contents;
  const output: readonly Output[] = [
    ...diffs.map((diff) => ({ kind: 'diff', diff }) as const),
    ...said.map((content) => ({ kind: 'content', content }) as const),
  ];
  const error = status === 'failed' ? { error: { message: (asError ? words.trim() : exitIn(words)) || agentError() } } : {};
  return [
    { type: 'call.changed', turnId, callId, change: { status, output, ...error } },
    ...(status === 'done' && how.use?.work === 'todo' ? planEvents(how.use.input) : []),
  ];
}

/** The line in which the agent reports how a command ended. */
function exitIn(words: string): string | undefined {
  return /^exit code:? \d{1,10}$/im.exec(words)?.[0];
}

/** The text without everything between two marks, and without the marks. A mark that nothing ends is a text. */
function withoutBetween(text: string, open: string, close: string, blanks = /(?!)/): string {
  let kept = '';
  let at = 0;
  for (let from = text.indexOf(open); from >= 0; from = text.indexOf(open, at)) {
    const to = text.indexOf(close, from + open.length);
    if (to < 0) break;
    let end = from;
    while (end > at && blanks.test(text[end - 1] ?? '')) end -= 1;
    kept += text.slice(at, end);
    at = to + close.length;
  }
  return kept + text.slice(at);
}

const withoutReminders = (text: string) => withoutBetween(text, '<system-reminder>', '</system-reminder>');

/** Claude Code adds words for the model to some results, and marks others for it. */
function withoutModelWords(text: string): string {
  return withoutBetween(withoutReminders(text), '(file state is current in your context', ')', / /)
    .replace(/^<tool_use_error>/, '')
    .replace(/<\/tool_use_error>$/, '');
}

const NOT_DONE = "The user doesn't want to proceed with this tool use.";
/** Leaves out the agent's text about a call that was refused or stopped, unless the user's own words are in it. */
function withoutRefusal(text: string): string {
  const at = text.indexOf(NOT_DONE, text.lastIndexOf('the user said:') + 1);
  return at < 0 ? text : text.slice(0, at);
}

/** Leaves out the frame around what a sub-agent reports. */
function withoutFrame(text: string): string {
  const tools = withoutBetween(text, '<tools-used-before-summary>', '</tools-used-before-summary>', / /);
  const back = withoutBetween(tools === text ? text : tools.trimStart(), '[Subagent hand-back]', '\n');
  return withoutBetween(back, '<usage>subagent_tokens:', '</usage>').replaceAll(/agentId: \S+ \(use SendMessage[^\n]*/g, '');
}

/** Words that we, or an agent, say to the model about a call that was not carried out. */
const TO_THE_MODEL =
  /(?:Error: )?Request aborted\.?|The user (?:did not allow this|stopped the turn)\.|The turn is over\.|Too late\.|The conversation was ended\./gi;
/** The whole text is what we say to the model when the user gave no words. */
const OURS_ALONE =
  /^\s*(?:The user (?:did not allow this|stopped the turn|applied an edited version of this change; read the file again)|The turn is over|Too late|The conversation was ended)\.\s*$/;
/** The whole text is what we say to the model about a call that nobody refused. */
const ENDED_BY_US = /^\s*(?:The user stopped the turn|The turn is over|Too late|The conversation was ended)\.\s*$/;
const SENTENCE = /[^.\n]+\.?/g;
const ADVICE = /\b(?:do not|don't) (?:retry|try again)\b/i;
/** Qwen Code's text about a call that was not carried out, without the part for its model. */
function reasonAlone(text: string): string {
  if (!text.startsWith(CANCELLED)) return text;
  return text
    .slice(CANCELLED.length)
    .replace(/^\s*Reason:\s*/, '')
    .replaceAll(TO_THE_MODEL, '')
    .replaceAll(SENTENCE, (sentence) => (ADVICE.test(sentence) ? '' : sentence))
    .trim();
}

/** Qwen Code's report on a command that failed: what it printed, and how it ended where that is known. */
function outputAlone(text: string): string {
  const output = text.indexOf('\nOutput: ', text.indexOf('\nDirectory: '));
  const error = text.lastIndexOf('\nError: ');
  if (!text.startsWith('Command: ') || output < 0 || error < output || !text.includes('\nExit Code: ', error)) return text;
  const printed = text.slice(output + '\nOutput: '.length, error);
  const told = text.slice(error + 1).split('\n');
  const said = told.filter((line) => !/\(none\)$|^Process Group PGID:/.test(line)).map((line) => line.replace(/^Error: /, ''));
  return [...(printed === '(empty)' ? [] : [printed]), ...said].join('\n');
}

function forPeople(content: Content, isError: boolean, isReport: boolean): readonly Content[] {
  if (content.type !== 'text') return [content];
  let text = withoutModelWords(content.text);
  if (isError) text = outputAlone(reasonAlone(withoutRefusal(text)));
  if (isReport) text = withoutFrame(text).replaceAll(/^ {2}/gm, '');
  if (text === content.text) return [content];
  text = text.trimEnd();
  return text === '' ? [] : [{ type: 'text', text }];
}

/** Claude Code's word for a call that a user or a rule refused. */
const BY_REFUSAL = 'permission-rule';
/** How agents begin the result of a call that was refused, and what else ended it before it ran. */
const REJECTED = /^\[Operation Cancelled\]|^The user doesn't want to proceed with this tool use/;
const ABORTED =
  /aborted|stopped while running|stopped the turn|turn is over|Too late|answered in time|time(?:d )?out|conversation was ended/i;
function statusOf(block: Block, line: UserLine, callId: CallId, how: CallEnd): ToolCall['status'] {
  if (how.applied) return 'done';
  if (!block.is_error) return 'done';
  if (how.refused) return 'rejected';
  const meta = metaOf(line, callId);
  const kind = meta?.non_execution_kind;
  if (kind === BY_REFUSAL || (meta?.permission_decision?.decision === 'reject' && !how.stopping)) return 'rejected';
  const words = textOf(block.content);
  if (how.recorded && !how.stopping && readsAsRefusal(kind, words)) return 'rejected';
  if (kind || REJECTED.test(words)) return 'cancelled';
  // A kept failure before a stop is one: the agent's own words tell what it stopped.
  return how.stopping && !how.recorded ? 'cancelled' : 'failed';
}
function readsAsRefusal(kind: string | null | undefined, words: string): boolean {
  return (kind ? kind === 'user-rejected' : REJECTED.test(words)) && !ABORTED.test(words);
}

/** The agent's own account of the edit where it gives one, else what the input does to the file as it was. */
function diffsOf(line: UserLine, how: CallEnd, cwd: string): readonly Diff[] {
  if (how.applied) return [how.applied];
  const told = editResult.safeParse(line.tool_use_result);
  if (told.success) {
    const { filePath: path, originalFile, oldString, newString, replaceAll, content, structuredPatch } = told.data;
    const before = unix(originalFile);
    if (content != null && originalFile !== undefined) return [{ path, before, after: unix(content) ?? '' }];
    if (before !== null && oldString != null && newString != null) {
      const after = replaced(before, [{ from: unix(oldString) ?? '', to: unix(newString) ?? '', all: replaceAll ?? false }]);
      if (after !== undefined) return [{ path, before, after }];
    }
    if (structuredPatch && structuredPatch.length > 0) return structuredPatch.map((hunk) => hunkDiff(path, hunk));
  }
  return how.use ? proposalOf(how.use, how.before, cwd) : [];
}

/** The changes proposed by a call that was not carried out, as far as its file was read. */
function proposedBy({ use, before }: CallEnd, cwd: string): readonly Diff[] {
  return use && before !== undefined ? proposalOf(use, before, cwd) : [];
}

function hunkDiff(path: string, hunk: { readonly oldStart: number; readonly newStart: number; readonly lines: readonly string[] }): Diff {
  const side = (dropped: string) =>
    hunk.lines
      .filter((line) => !line.startsWith(dropped) && !line.startsWith('\\'))
      .map((line) => line.slice(1))
      .join('\n');
  return { path, before: side('+'), after: side('-'), excerpt: { beforeLine: hunk.oldStart, afterLine: hunk.newStart } };
}

function unix(text: string | null | undefined): string | null {
  return text == null ? null : text.replaceAll('\r\n', '\n');
}
// --- the end of a turn

export interface MessageTurnEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
}

/** How a turn ended, by its `result` line. */
export function turnEnd(
  line: ResultLine,
  { stopping, signedOut }: { readonly stopping: boolean; readonly signedOut: boolean },
): MessageTurnEnd {
  const reason = line.terminal_reason ?? line.subtype ?? '';
  const known = reasonWords(reason) ?? reasonWords(line.subtype ?? '');
  if (!line.is_error && !isError(line.subtype)) return { status: 'done', ...(known ? { stop: known } : {}) };
  const told = line.error?.message || line.result || allErrors(line);
  // `cancelled`: it was aborted.
  if (stopping || reason.startsWith('aborted') || told === 'Operation cancelled.')
    return { status: 'cancelled', ...(known ? { stop: known } : {}) };
  if (LIMITS.some((limit) => limit === line.subtype)) {
    return { status: 'failed', error: { message: known ?? agentError(), next: ['continue'] } };
  }
  const next: readonly Remedy[] = signedOut ? ['signIn', 'retry'] : ['retry'];
  return { status: 'failed', error: { message: told || known || agentError(), next } };
}

/** Joins the messages of a list of errors; undefined when there are none. */
export function allErrors({ errors }: ResultLine): string | undefined {
  return errors?.filter((one) => one.trim() !== '').join('\n') || undefined;
}

const LIMITS = ['error_max_turns', 'error_max_budget_usd'];

/** Why a turn ended, as text; nothing if the status shows it already. Unknown reasons are shown as they are. */
function reasonWords(reason: string): string | undefined {
  switch (reason) {
    case '':
    case 'success':
    case 'completed':
    case 'error_during_execution':
    case 'model_error':
      return undefined;
    case 'max_turns':
    case 'error_max_turns':
      return limitReached('turns');
    case 'error_max_budget_usd':
      return limitReached('budget');
    case 'prompt_too_long':
      return limitReached('context');
    case 'blocking_limit':
    case 'rapid_refill_breaker':
      return limitReached('service');
    default:
      return reason.startsWith('aborted') ? undefined : reason.replaceAll('_', ' ').slice(0, 200);
  }
}

function isError(subtype: string | null | undefined): boolean {
  return subtype?.startsWith('error') ?? false;
}

/** Tokens of the whole session so far: Claude Code reports them per model, Qwen Code as a running total (docs/protocols/qwen.md §3.7). */
export function usageOf(line: ResultLine): Usage {
  const models = Object.values(line.modelUsage ?? {});
  const cost = line.total_cost_usd ? { cost: { amount: line.total_cost_usd, currency: 'USD' } } : {};
  if (models.length > 0) {
    const sum = (read: (model: (typeof models)[number]) => number | null | undefined) =>
      models.reduce((all, model) => all + (read(model) ?? 0), 0);
    const size = Math.max(...models.map((model) => model.contextWindow ?? 0));
    return {
      input: sum((model) => (model.inputTokens ?? 0) + (model.cacheReadInputTokens ?? 0)),
      output: sum((model) => model.outputTokens),
      ...(size > 0 ? { size } : {}),
      ...cost,
    };
  }
  const { input_tokens: input, output_tokens: output } = line.usage ?? {};
  return { ...(input ? { input } : {}), ...(output ? { output } : {}), ...cost };
}
/** Tokens of the context after a model round. */
export function contextTokens(usage: TokenUsage | null | undefined): number | undefined {
  if (!usage) return undefined;
  const read = (usage.input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  const all = usage.total_tokens ?? read + (usage.output_tokens ?? 0);
  return all > 0 ? all : undefined;
}

/** The agent's total counts, and their share that belongs to a conversation that is forgotten. */
export interface UsageCounts {
  total: Usage;
  forgotten: Usage;
}

/** Of the agent's totals, what belongs to the conversation that is going on: some agents count on although it has started over. */
export function usedSince(counted: UsageCounts, total: Usage): Usage {
  // An agent that restarts its count is below its last figure.
  if (isLess(total, counted.total)) counted.forgotten = {};
  counted.total = { ...counted.total, ...total };
  const { input, output, cost, ...rest } = total;
  const { forgotten } = counted;
  const left = (now: number, then: number | undefined) => Math.max(0, now - (then ?? 0));
  return {
    ...rest,
    ...(input === undefined ? {} : { input: left(input, forgotten.input) }),
    ...(output === undefined ? {} : { output: left(output, forgotten.output) }),
    ...(cost === undefined ? {} : { cost: { ...cost, amount: left(cost.amount, forgotten.cost?.amount) } }),
  };
}

function isLess(now: Usage, then: Usage): boolean {
  return (
    (now.cost?.amount ?? Number.POSITIVE_INFINITY) < (then.cost?.amount ?? 0) ||
    (now.output ?? Number.POSITIVE_INFINITY) < (then.output ?? 0)
  );
}
// --- commands

/** The prompt is the command that makes the agent forget the conversation, by one of its names. */
export function clearsIn(prompt: string): boolean {
  return /^\/(clear|reset|new)(\s|$)/.test(prompt);
}

/** Commands by their names alone. */
export function namedCommands(names: readonly string[]): readonly Command[] {
  return names.map((name) => ({ name: plain(name), description: '', aliases: [] }));
}
export function describedCommands(commands: NonNullable<Initialized['commands']>): readonly Command[] {
  return commands.map(({ name, description, argumentHint }) => ({
    name: plain(name),
    description: description ?? '',
    aliases: [],
    ...(argumentHint ? { hint: argumentHint } : {}),
  }));
}
/** The command that a text begins with. */
export function commandIn(text: string): string | undefined {
  return /^\/([^\s/]+)(\s|$)/.exec(text)?.[1];
}

function plain(name: string): string {
  return name.replace(/^\//, '');
}
// --- reports about usage

/** Parley's command that asks the agent for its usage, and the spans of time it knows (docs/protocols/qwen.md §3.2). */
export const USAGE = 'usage';
const RANGES = ['today', 'week', 'month', 'all'];

const count = z.optional(z.nullable(z.number()));
const report = z.object({
  range: z.optional(z.nullable(z.string())),
  summary: z.object({
    totalTokens: count,
    inputTokens: count,
    outputTokens: count,
    cachedTokens: count,
    requests: count,
    sessions: count,
    toolCalls: count,
    linesAdded: count,
    linesRemoved: count,
  }),
  models: z.optional(z.array(z.object({ model: z.string(), totalTokens: count })).check(z.maxLength(100))),
});

/** The span of time a prompt asks about; undefined when it asks for no report. */
export function rangeIn(text: string): string | undefined {
  const found = /^\/usage(?: +(\w+))? *$/.exec(text);
  const range = found?.[1] ?? 'today';
  return found && RANGES.includes(range) ? range : undefined;
}

/** The agent's report as a table; undefined when it is not a table. */
export function usageText(payload: unknown): string | undefined {
  const parsed = report.safeParse(payload);
  if (!parsed.success) return undefined;
  const { summary: all, models = [], range } = parsed.data;
  const rows: readonly (readonly [string, number | null | undefined])[] = [
    ...Object.entries(all).map(([name, value]) => [name.replaceAll(/([A-Z])/g, ' $1').toLowerCase(), value] as const),
    ...models.map(({ model, totalTokens }) => [model.replaceAll(/[|`\n]/g, ' '), totalTokens] as const),
  ];
  const lines = rows.flatMap(([name, value]) => (value == null ? [] : [`| ${name} | ${value.toLocaleString('en')} |`]));
  return [`| ${range ?? ''} | |`, '| --- | ---: |', ...lines].join('\n');
}

// --- conversations that the agent keeps

/** A line of a kept conversation: its place, and what was said. */
export interface Entry {
  readonly id: string;
  /** The line it follows; the conversation may have gone back and on from there. */
  readonly after: string | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly said?: RecordedMessage;
}
export type RecordedMessage =
  | { readonly who: 'user'; readonly text: string }
  /** The user stopped the turn. */
  | { readonly who: 'stop' }
  | { readonly who: 'agent'; readonly line: AssistantLine }
  | {
      readonly who: 'tool';
      readonly line: UserLine;
      /** The call was stopped, according to its own line. */
      readonly stopped: boolean;
    };

const id = z.string().check(z.maxLength(1024));
const entry = z.object({
  uuid: id,
  parentUuid: maybe(id),
  logicalParentUuid: maybe(id),
  timestamp: maybe(z.string()),
  type: z.string(),
  isMeta: maybe(z.boolean()),
  isSidechain: maybe(z.boolean()),
  message: z.optional(z.unknown()),
  toolUseResult: z.optional(z.unknown()),
  toolDenialKind: z.optional(z.unknown()),
  permissionDecision: z.optional(z.unknown()),
  toolCallResult: z.optional(z.unknown()),
});
type EntryLine = z.infer<typeof entry>;
/** Qwen Code keeps what the model's own interface calls parts. */
const part = z.object({
  text: maybe(z.string()),
  thought: maybe(z.boolean()),
  functionCall: maybe(z.object({ id: maybe(id), name: z.string(), args: z.optional(z.unknown()) })),
  functionResponse: maybe(z.object({ id: maybe(id), response: z.optional(z.unknown()) })),
});
const parts = z.object({ parts: z.array(part).check(z.maxLength(10_000)) });
const spokenContent = z.object({ content: z.union([z.string(), z.array(block).check(z.maxLength(10_000))]) });

/** Reads a line of either product; undefined for lines that are not part of the conversation. */
export function entryIn(text: string): Entry | undefined {
  const parsed = entry.safeParse(readJson(text));
  if (!parsed.success || parsed.data.isSidechain) return undefined;
  const { uuid, parentUuid, logicalParentUuid, timestamp, isMeta } = parsed.data;
  const said = isMeta ? undefined : saidIn(parsed.data);
  return {
    id: uuid,
    after: parentUuid ?? logicalParentUuid ?? undefined,
    at: Date.parse(timestamp ?? '') || 0,
    ...(said ? { said } : {}),
  };
}

function saidIn(found: EntryLine): RecordedMessage | undefined {
  const { type, message } = found;
  const inParts = parts.safeParse(message);
  const spoken = inParts.success ? blocksOf(inParts.data.parts) : spokenContent.safeParse(message).data?.content;
  if (spoken === undefined) return undefined;
  if (type === 'assistant') {
    const line = assistantLine.safeParse({ type, message: { ...(isRecord(message) ? message : {}), content: spoken } });
    return line.success ? { who: 'agent', line: line.data } : undefined;
  }
  if (type !== 'user' && type !== 'tool_result') return undefined;
  if (typeof spoken !== 'string' && spoken.some((one) => one.type === 'tool_result')) {
    return resultIn(found, spoken);
  }
  return promptIn(typeof spoken === 'string' ? spoken : spoken.map((one) => one.text ?? '').join('\n'));
}

/** The result of a call, with the agent's notes on it in the shape of a live line. A note is about the one result of its line. */
function resultIn(found: EntryLine, content: readonly Block[]): RecordedMessage | undefined {
  const results = content.filter((one) => one.type === 'tool_result');
  const only = results.length === 1 ? results[0] : undefined;
  const note = only ? (qwenNote(found, only) ?? claudeNote(found, only)) : {};
  const said = note.text === undefined ? content : content.map((one) => (one === only ? { ...one, content: note.text } : one));
  const line = userLine.safeParse({
    type: 'user',
    message: { content: said },
    tool_use_result: note.edit ?? found.toolUseResult,
    tool_result_meta: note.kind === undefined ? undefined : [{ id: only?.tool_use_id, non_execution_kind: note.kind, ...note.more }],
  });
  return line.success ? { who: 'tool', line: line.data, stopped: note.stopped === true } : undefined;
}

/** The agent's notes beside a stored result. */
interface KeptNote {
  /** Why the call was not carried out. */
  readonly kind?: string;
  readonly more?: object;
  readonly stopped?: boolean;
  readonly edit?: object;
  /** The result for people, where the line itself has it for the model. */
  readonly text?: string;
}
const decided = z.object({ decision: z.string(), source: maybe(z.string()) });

/** Claude Code names who refused a call; for one that was stopped it gives the kind alone. */
function claudeNote({ toolDenialKind, permissionDecision }: EntryLine, block: Block): KeptNote {
  const kind = typeof toolDenialKind === 'string' ? toolDenialKind : undefined;
  const decision = decided.safeParse(permissionDecision).data;
  const isRefused = decision?.decision === 'reject' && decision.source !== 'user_abort';
  const said = isRefused ? BY_REFUSAL : kind;
  if (said === undefined) return {};
  if (ENDED_BY_US.test(textOf(block.content))) return { kind: 'cancelled' };
  return { kind: said, ...(isRefused ? { more: { permission_decision: decision } } : {}) };
}

const callResult = z.object({
  callId: id,
  status: maybe(z.string()),
  executionStatus: maybe(z.string()),
  resultDisplay: z.optional(z.unknown()),
});
const fileDisplay = z.object({ filePath: z.string(), originalContent: z.nullable(z.string()), newContent: z.string() });

const NEW_FILE = /^Successfully created and wrote to new file\b/;
const textDisplay = z.object({ text: z.string() });
/** The form of a result that the agent showed, stored beside the text for the model. */
function shownText(shown: unknown): Pick<KeptNote, 'text'> {
  const text = typeof shown === 'string' ? shown : textDisplay.safeParse(shown).data?.text;
  return text ? { text } : {};
}

/** Qwen Code notes whether a call was started, and for an edit the file's text before and after it, and else what it showed; undefined for lines of others. */
function qwenNote({ toolCallResult }: EntryLine, block: Block): KeptNote | undefined {
  const result = callResult.safeParse(toolCallResult).data;
  if (!result || result.callId !== block.tool_use_id) return undefined;
  const file = fileDisplay.safeParse(result.resultDisplay).data;
  const words = textOf(block.content);
  // The agent keeps an empty text for a file that was not there.
  const isNew = file?.originalContent === '' && NEW_FILE.test(words);
  const edit = file
    ? { edit: { filePath: file.filePath, originalFile: isNew ? null : file.originalContent, content: file.newContent } }
    : {};
  if (result.status !== 'cancelled' || result.executionStatus == null) return { ...shownText(result.resultDisplay), ...edit };
  const isRefused = result.executionStatus === 'not_started' && !ABORTED.test(words);
  return isRefused ? { ...edit, kind: BY_REFUSAL } : { ...edit, kind: 'cancelled', stopped: true };
}

/** The text that the user typed; the agent marks commands, and its own additions, by tags. */
function promptIn(text: string): RecordedMessage | undefined {
  if (isInterruption(text)) return { who: 'stop' };
  const command = /<command-name>\/?([^<]+)<\/command-name>/.exec(text)?.[1];
  if (command !== undefined) {
    const args = /<command-args>([^<]*)<\/command-args>/.exec(text)?.[1] ?? '';
    return { who: 'user', text: `/${command.trim()} ${args.trim()}`.trim() };
  }
  const plain = withoutReminders(text).trim();
  return plain === '' || /^<(local-command|task-notification|bash-)/.test(plain) ? undefined : { who: 'user', text: plain };
}

function blocksOf(all: readonly z.infer<typeof part>[]): readonly Block[] {
  return all.flatMap((one): readonly Block[] => {
    if (one.functionCall) {
      const { id: callId, name, args } = one.functionCall;
      return [{ type: 'tool_use', id: callId ?? name, name, input: args ?? {} }];
    }
    if (one.functionResponse) {
      const response = isRecord(one.functionResponse.response) ? one.functionResponse.response : {};
      const told = response.output ?? response.error;
      const words = typeof told === 'string' ? told : JSON.stringify(response);
      return [{ type: 'tool_result', tool_use_id: one.functionResponse.id ?? '', content: words, is_error: response.error !== undefined }];
    }
    if (!one.text) return [];
    return [one.thought ? { type: 'thinking', thinking: one.text } : { type: 'text', text: one.text }];
  });
}
