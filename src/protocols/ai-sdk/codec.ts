import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { agentError, t } from '../../base/l10n.ts';
import type { OfferedTool } from '../../conversation/state.ts';
import type { CallChange } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, ApprovalDetail, Content, Diff, Field, Output, ToolCall, ToolKind, Usage } from '../../session/model.ts';
import { commandInput, runningMembers, withArguments } from '../commandInput.ts';
import { namedPaths } from '../namedPaths.ts';
import { kindOf } from '../toolKinds.ts';
import { editOf } from './edits.ts';
import { toolNameOf } from './message.ts';
import {
  type AiSdkSettings,
  type Chunk,
  chunkShapes,
  type FilePart,
  ID_LIMIT,
  isRecord,
  type OtherPart,
  type ToolPart,
  type UiPart,
  type UiToolApproval,
} from './schema.ts';

/* Words of the wire to ours and back. Pure functions; servers use them from the other end. */

// --- Chunks

export type Decoded =
  | { readonly kind: 'chunk'; readonly chunk: Chunk }
  /** A type this build does not know. */
  | { readonly kind: 'unknown'; readonly type: string }
  | { readonly kind: 'malformed'; readonly why: string };

/** Values nested deeper than this are refused, because they could not be written back. */
const DEPTH = 200;

/** Checks one parsed event against the catalogue. Never throws. */
export function decodeChunk(value: unknown): Decoded {
  if (typeof value !== 'object' || value === null || !('type' in value) || typeof value.type !== 'string') {
    return { kind: 'malformed', why: 'an event without a type' };
  }
  const { type } = value;
  if (isPlainDelta(value)) return { kind: 'chunk', chunk: value };
  if (type.startsWith('data-')) return checked('data', { ...value, type: 'data', name: type.slice('data-'.length) });
  // Some servers announce a call under the name of the model's own event.
  if (type === 'tool-call') {
    const { args } = value as { args?: unknown };
    // They may also come as JSON in a text, as the model wrote them.
    return checked('tool-input-available', {
      input: typeof args === 'string' ? jsonIn(args) : args,
      ...value,
      type: 'tool-input-available',
    });
  }
  return isKnown(type) && type !== 'data' ? checked(type, value) : { kind: 'unknown', type };
}

/** One chunk as JSON. */
export function encodeChunk(chunk: Chunk): string {
  if (chunk.type !== 'data') return JSON.stringify(chunk);
  const { name, ...rest } = chunk;
  return JSON.stringify({ ...rest, type: `data-${name}` });
}

type Delta = Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta' }>;

/** Nearly all chunks are deltas, so they are checked by hand. */
function isPlainDelta(value: { readonly type?: unknown }): value is Delta {
  const { type, id, delta, toolCallId, inputTextDelta } = value as Readonly<Record<string, unknown>>;
  if (type === 'tool-input-delta') return typeof inputTextDelta === 'string' && isId(toolCallId);
  return (type === 'text-delta' || type === 'reasoning-delta') && typeof delta === 'string' && isId(id);
}
function isId(value: unknown): boolean {
  return typeof value === 'string' && value.length <= ID_LIMIT;
}
function isKnown(type: string): type is keyof typeof chunkShapes {
  return Object.hasOwn(chunkShapes, type);
}

function checked(type: keyof typeof chunkShapes, value: object): Decoded {
  const read = chunkShapes[type].safeParse(value);
  if (!read.success) {
    const issue = read.error.issues[0];
    return { kind: 'malformed', why: `${type}: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(' ')}` };
  }
  const chunk = read.data as Chunk;
  if (!type.endsWith('-delta') && !isShallow(chunk, DEPTH)) return { kind: 'malformed', why: `${type}: nested too deeply` };
  return { kind: 'chunk', chunk };
}
function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  for (const inner of Object.values(value)) if (!isShallow(inner, depth - 1)) return false;
  return true;
}

export function otherProtocol(): string {
  return t('The agent speaks version {0} of the protocol; Parley supports {1}.', 'AI SDK 4, assistant-transport', 'AI SDK 5–7');
}

// --- Parts as the session shows them

/** The size limit of one output in the session, in UTF-16 units. The server still gets the whole. */
const OUTPUT_LIMIT = 200_000;

/** The content of parts that are shown as they came; undefined for those that are not shown. */
export function contentOf(part: UiPart): Content | undefined {
  switch (part.type) {
    case 'file':
    case 'reasoning-file':
      return fileContent(part as FilePart);
    case 'source-url':
      return linkContent(String((part as OtherPart).url), (part as OtherPart).title);
    case 'source-document': {
      const { title, filename, mediaType } = part as OtherPart;
      return { type: 'raw', label: String(title ?? filename ?? mediaType), value: part };
    }
    default:
      return undefined;
  }
}

/** The content of a user message that the server inserted into the run. */
export function contentsOf(parts: unknown): readonly Content[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown): readonly Content[] => {
    if (!isRecord(part)) return [];
    if (part.type === 'text' && typeof part.text === 'string') return [{ type: 'text', text: part.text }];
    if (part.type !== 'file' || typeof part.url !== 'string') return [];
    return [fileContent({ type: 'file', url: part.url, mediaType: typeof part.mediaType === 'string' ? part.mediaType : '' })];
  });
}

function fileContent(part: FilePart): Content {
  const inline = /^data:[^,]*;base64,/.exec(part.url.slice(0, 300));
  const label = part.filename ?? part.mediaType;
  if (!inline) return part.url.startsWith('data:') ? { type: 'raw', label, value: part.mediaType } : linkContent(part.url, part.filename);
  const data = part.url.slice(inline[0].length);
  if (part.mediaType.startsWith('image/')) return { type: 'image', mime: part.mediaType, data };
  if (part.mediaType.startsWith('audio/')) return { type: 'audio', mime: part.mediaType, data };
  return { type: 'raw', label, value: `${part.mediaType}, ${bytesIn(data)} bytes` };
}
function bytesIn(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor(((base64.length - padding) * 3) / 4);
}
function linkContent(url: string, title: unknown): Content {
  // Any other scheme could run or open something here.
  if (!/^https?:\/\//i.test(url)) return { type: 'raw', label: typeof title === 'string' ? title : 'link', value: url.slice(0, 2000) };
  return { type: 'link', uri: url, ...(typeof title === 'string' ? { title } : {}) };
}

export function callOf(id: string, part: ToolPart): ToolCall {
  const name = toolNameOf(part);
  return { id, name, title: part.title ?? name, kind: kindOf(name), status: 'pending', inputText: '', output: [], locations: [] };
}

/** Everything the session shows of a call in the present state of its part. `edits` are what it has done to its file, once it is done. */
export function changeOf(part: ToolPart, hasInputText: boolean, edits: readonly Diff[]): CallChange {
  const error = errorOf(part);
  return {
    status: statusOf(part),
    ...(part.title === undefined ? {} : { title: part.title }),
    ...(part.input === undefined ? {} : { input: part.input, ...(hasInputText ? {} : { inputText: pretty(part.input) }) }),
    ...(part.state === 'output-available' ? { output: [...edits.map(diffOutput), ...outputsOf(part.output)] } : {}),
    ...(error === undefined ? {} : { error: { message: error } }),
  };
}

function statusOf(part: ToolPart): ToolCall['status'] {
  switch (part.state) {
    case 'input-streaming':
    case 'input-available':
      return 'pending';
    case 'approval-requested':
      return part.approval?.isAutomatic ? 'pending' : 'waiting';
    case 'approval-responded':
      return part.approval?.approved ? 'running' : 'rejected';
    case 'output-available':
      return part.preliminary ? 'running' : 'done';
    case 'output-error':
      return 'failed';
    case 'output-denied':
      return 'rejected';
  }
}

function errorOf(part: ToolPart): string | undefined {
  if (part.state === 'output-error') return part.errorText || agentError();
  const refused = part.state === 'output-denied' || (part.state === 'approval-responded' && part.approval?.approved === false);
  return refused ? part.approval?.reason : undefined;
}

function outputsOf(output: unknown): readonly Output[] {
  // assistant-ui keeps what the model reads apart from what the user sees.
  const value = isRecord(output) && '__aui_modelContent' in output ? output.value : output;
  if (value == null) return [];
  if (typeof value === 'string') return [textOutput(value)];
  const texts = textsOf(value);
  if (texts) return texts.map(textOutput);
  const json = pretty(value);
  return [json.length > OUTPUT_LIMIT ? textOutput(json) : { kind: 'json', value }];
}

/** `[{type: 'text', text}]`, alone or as `content`, is how many servers wrap the text of a tool. */
function textsOf(value: unknown): readonly string[] | undefined {
  const list = isRecord(value) ? value.content : value;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const texts = list.map((one: unknown) => (isRecord(one) && one.type === 'text' && typeof one.text === 'string' ? one.text : undefined));
  return texts.every((one) => one !== undefined) ? texts : undefined;
}

function diffOutput(diff: Diff): Output {
  return { kind: 'diff', diff };
}
function textOutput(value: string): Output {
  return { kind: 'content', content: { type: 'text', text: cutAt(value, OUTPUT_LIMIT) } };
}
/** A text of at most so many UTF-16 units, and how many more there were. */
export function cutAt(value: string, limit: number): string {
  const missing = value.length - limit;
  return missing > 0 ? `${value.slice(0, limit)}\n… (${missing} more characters)` : value;
}
function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

/** Token counts of metadata or a `data-usage` part, in the spellings of the SDK's versions and of servers in other languages. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined;
  const counts = isRecord(value.usage) ? value.usage : value;
  const usage: Usage = {
    ...count('input', counts.inputTokens ?? counts.promptTokens ?? counts.input_tokens ?? counts.prompt_tokens),
    ...count('output', counts.outputTokens ?? counts.completionTokens ?? counts.output_tokens ?? counts.completion_tokens),
    ...count('used', counts.totalTokens ?? value.totalTokens ?? counts.total_tokens ?? value.total_tokens),
  };
  return Object.keys(usage).length === 0 ? undefined : usage;
}
function count<K extends string>(name: K, value: unknown): { readonly [P in K]?: number } {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? ({ [name]: value } as { [P in K]: number }) : {};
}

// --- Tools of the editor

/** Our tools in the form the server wants, sorted by name so that the body is the same each time. */
export function declareTools(tools: readonly OfferedTool[], form: AiSdkSettings['tools']): Readonly<Record<string, unknown>> {
  const named = tools.filter((tool) => /^[A-Za-z0-9_-]{1,64}$/.test(tool.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  if (form === 'none' || named.length === 0) return {};
  switch (form) {
    case 'record':
      return { tools: Object.fromEntries(named.map(({ name, description, parameters }) => [name, { description, parameters }])) };
    case 'mastra':
      return {
        clientTools: Object.fromEntries(
          named.map(({ name, description, parameters }) => [name, { id: name, description, inputSchema: parameters }]),
        ),
      };
    case 'array':
      return {
        tools: named.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } })),
      };
  }
}

/** A tool that consists of one question to the user. The answer goes back as `{"answer": …}`. */
export const QUESTION_TOOL: OfferedTool = {
  name: 'ask_person',
  description: 'Ask the user in front of the editor a question and wait for the answer. Offer options when there are obvious ones.',
  parameters: {
    type: 'object',
    properties: {
      question: { type: 'string', description: 'The question, in plain words.' },
      options: { type: 'array', items: { type: 'string' }, description: 'Answers to choose from; any other text may be typed as well.' },
      multiple: { type: 'boolean', description: 'More than one option may be chosen.' },
    },
    required: ['question'],
    additionalProperties: false,
  },
};
const questionInput = z.object({
  question: z.string().check(z.minLength(1), z.maxLength(4_000)),
  options: z.optional(z.array(z.string().check(z.maxLength(1_000))).check(z.maxLength(50))),
  multiple: z.optional(z.boolean()),
});

/** The field to show for a call of the question tool, or what is wrong with its input. */
export function questionField(input: unknown): Field | { readonly wrong: string } {
  const read = questionInput.safeParse(input ?? {});
  if (!read.success) {
    const issue = read.error.issues[0];
    return { wrong: `Wrong arguments for ${QUESTION_TOOL.name}: /${issue?.path.join('/') ?? ''} ${issue?.message ?? ''}.` };
  }
  const { question, options, multiple } = read.data;
  return {
    id: 'answer',
    label: question,
    free: true,
    ...(options === undefined || options.length === 0 ? {} : { choices: options.map((label) => ({ label })) }),
    ...(multiple === true ? { many: true } : {}),
  };
}

// --- Approvals

const ALLOW = 'allow';
const ALWAYS = 'always';
const REJECT = 'reject';
/** The server may ask about as many calls as it wants; the user reads one at a time. `edit`: what the call would do to its file, where that is known. `isLocal`: the server is on this computer, where its commands run. */
export function approvalAsk(
  part: ToolPart,
  at: { readonly askId: string; readonly turnId: string; readonly callId: string },
  isLocal: boolean,
  edit?: Diff,
): Approval {
  const name = toolNameOf(part);
  return {
    kind: 'approval',
    id: at.askId,
    turnId: at.turnId,
    callId: at.callId,
    title: part.title ?? name,
    ...(edit ? editShown(part, edit) : (isLocal && commandShown(part)) || { detail: { type: 'text', text: approvalText(part) } }),
    options: [
      { id: ALLOW, label: t('Allow'), effect: 'allow_once' },
      ...(isAskedEachTime(part, isLocal)
        ? []
        : [{ id: ALWAYS, label: t('Allow all “{0}” this session', name), effect: 'allow_always' } as const]),
      { id: REJECT, label: t('Reject'), effect: 'reject_once' },
    ],
  };
}

/**
 * True for a call that runs a command or changes a file of this computer: which of them is known only from the next call. Rules of ours take the place of
 * "all": they cover no guarded file and no command that cannot be taken back.
 */
export function isAskedEachTime(part: ToolPart, isLocal: boolean): boolean {
  const name = toolNameOf(part);
  if (!isLocal) return false;
  return ASKED_EACH_TIME.has(kindOf(name)) || commandInput(part.input) !== undefined || editOf(name, part.input, '/') !== undefined;
}
const ASKED_EACH_TIME: ReadonlySet<ToolKind> = new Set(['execute', 'edit', 'delete', 'move']);

/** The diff is of what will run. The server's words, and what the model wrote in its place, are shown below. */
function editShown(part: ToolPart, edit: Diff): Pick<Approval, 'toolKind' | 'detail' | 'beside' | 'paths'> {
  const reasons = reasonOf(part).filter((reason) => !namesOnly(reason, edit.path));
  const text = [...reasons, ...writtenByModel(part)].join('\n\n');
  const beside: readonly ApprovalDetail[] = [
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...runningMembers(part.input, [edit]),
  ];
  return {
    toolKind: 'edit',
    detail: { type: 'edit', diffs: [edit] },
    ...(beside.length === 0 ? {} : { beside }),
    ...namedPaths('edit', part.input, [edit.path]),
  };
}
/** A command is asked about as every agent's is; undefined where the call is not a command, or where the model wrote something else. */
function commandShown(part: ToolPart): Pick<Approval, 'toolKind' | 'detail' | 'beside'> | undefined {
  const input = kindOf(toolNameOf(part)) === 'execute' ? commandInput(part.input) : undefined;
  if (!input || writtenByModel(part).length > 0) return undefined;
  const name = toolNameOf(part);
  // A tool of another name may run it elsewhere, or by another program.
  const { detail, beside = [] } = withArguments({ type: 'command', ...input }, part.input, PLAIN_SHELL.test(name) ? {} : { tool: name });
  const reasons = reasonOf(part).filter((reason) => !saysOnly(reason, input.command));
  const all = [...beside, ...reasons.map((text) => ({ type: 'text', text }) as const)];
  return { toolKind: 'execute', detail, ...(all.length > 0 ? { beside: all } : {}) };
}
/** Names of tools that run a command in the shell of this computer, and say nothing more. */
const PLAIN_SHELL = /^(?:(?:run|exec|execute)_?)?(?:in_?)?(?:shell|bash|terminal)?_?(?:command|cmd|tool)?$/i;
/** True for words like "Run command `npm test`". */
function saysOnly(words: string, command: string): boolean {
  return words.length < command.length + 30 && words.endsWith(`\`${command}\``) && /^[\p{L} ]*$/u.test(words.slice(0, -command.length - 2));
}
/** True for words like "Edit `src/a.ts`". */
function namesOnly(words: string, file: string): boolean {
  const named = /^[\p{L} ]{0,30}`([^`]{1,1000})`$/u.exec(words)?.[1];
  return named !== undefined && `/${file.replaceAll('\\', '/')}`.endsWith(`/${named}`);
}
function approvalText(part: ToolPart): string {
  const other = writtenByModel(part);
  return [...reasonOf(part), ...(other.length > 0 ? [t('What will run:')] : []), pretty(part.input), ...other].join('\n\n');
}
function reasonOf({ approval }: ToolPart): readonly string[] {
  return approval?.requestReason ? [approval.requestReason] : [];
}
/** The model's own text, where something else will run. */
function writtenByModel({ approval, input }: ToolPart): readonly string[] {
  if (!approval || !('inputSchemaInput' in approval) || pretty(approval.inputSchemaInput) === pretty(input)) return [];
  return [t('What the model wrote:'), pretty(approval.inputSchemaInput)];
}

export interface Verdict {
  readonly approved: boolean;
  readonly always: boolean;
  readonly reason?: string;
}
/** Everything that is not one of our two allowing options counts as a refusal. */
export function verdictOf(answer: Answer): Verdict {
  const chosen = answer.kind === 'option' ? answer.optionId : REJECT;
  const approved = chosen === ALLOW || chosen === ALWAYS;
  const reason = answer.kind === 'option' && !approved ? answer.feedback : undefined;
  return { approved, always: chosen === ALWAYS, ...(reason ? { reason } : {}) };
}
export function answeredApproval(approval: UiToolApproval, { approved, reason }: Verdict): UiToolApproval {
  return { ...approval, approved, ...(reason === undefined ? {} : { reason }) };
}

/** Asked after many requests in a row without an action of the user. */
export function continueAsk(askId: string, turnId: string, requests: number): Approval {
  return {
    kind: 'approval',
    id: askId,
    turnId,
    title: t('Continue?'),
    wordless: true,
    ours: true,
    detail: { type: 'text', text: t('The agent has continued by itself {0} times in this turn.', requests) },
    options: [
      { id: ALLOW, label: t('Continue'), effect: 'allow_once' },
      { id: REJECT, label: t('Stop'), effect: 'reject_once' },
    ],
  };
}

/** A text as a JSON value: objects and lists as such, everything else as text. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
