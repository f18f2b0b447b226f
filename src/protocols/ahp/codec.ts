import { parseJson } from '../../base/json.ts';
import { pathOfUri, uriOfPath } from '../../base/paths.ts';
import { inOneLine } from '../../base/promptText.ts';
import type { OfferedTool } from '../../conversation/state.ts';
import type { Answer } from '../../session/intents.ts';
import type {
  Approval,
  ApprovalDetail,
  Question as Asked,
  Command,
  Content,
  Diff,
  Field,
  Location,
  ModeChoice,
  Option,
  Output,
  SessionOption,
  ToolCall,
  ToolKind,
  Usage,
} from '../../session/model.ts';
import { isAttached, linesText } from '../../session/select.ts';
import { details } from './schema.ts';
import type {
  ActiveTurn,
  ChatAction,
  ChatState,
  Confirmed,
  FileEdit,
  InputRequest,
  InputResponse,
  Message,
  Meta,
  Question,
  ResponsePart,
  ResultContent,
  SessionConfig,
  TerminalContent,
  Text,
  ToolCallState,
} from './state.ts';
import { STATUS } from './state.ts';

/* Between the words of a host and those of a session (docs/protocols/ahp.md §5 to §7). */

/** The session's id of the mode, in the settings of a host. */
export const MODE = 'mode';
/** Answers without an option of the host: allowed once, or rejected. */
export const ALLOW = 'parley.allow';
export const REJECT = 'parley.reject';
/** Texts of files by their addresses, as far as they were read; null for one that cannot be. */
export type Contents = (uri: string) => string | null;

export const ROOT = 'ahp-root://';
/** Clients and hosts write it in three ways. */
export function isRoot(channel: string): boolean {
  return /^ahp-root:\/{0,2}$/.test(channel);
}

// --- what one Parley tells another beside the protocol's own words

export interface ParleyMeta {
  readonly kind?: ToolKind;
  readonly cwd?: string;
  readonly unsure?: true;
  readonly paths?: readonly string[];
  /** Of a call that asks: its title as it is, without markdown. */
  readonly title?: string;
  /** Of a call that asks: its input, which VS Code would show as JSON where it belongs. */
  readonly input?: string;
  /** Of a call that asks: what it is about, where its edits do not say it, and what comes with it. */
  readonly detail?: ApprovalDetail;
  readonly beside?: readonly ApprovalDetail[];
  readonly outside?: true;
  readonly asker?: string;
  /** Of a tool of the window: the window asks before it runs it. */
  readonly asks?: true;
  /** Of a terminal: UTF-16 units that were printed before what is told. */
  readonly dropped?: number;
}
export function toMeta(facts: ParleyMeta): Meta {
  return { parley: facts };
}
const KINDS: readonly ToolKind[] = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other'];
export function fromMeta(meta: Meta | undefined): ParleyMeta {
  const { kind, cwd, unsure, paths, title, input, asks, dropped, outside, asker } = (meta?.parley ?? {}) as Readonly<
    Record<keyof ParleyMeta, unknown>
  >;
  const known = KINDS.find((one) => one === kind) ?? (meta?.toolKind === 'terminal' ? 'execute' : undefined);
  return {
    ...(known === undefined ? {} : { kind: known }),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(unsure === true ? { unsure } : {}),
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof input === 'string' ? { input } : {}),
    ...(asks === true ? { asks } : {}),
    ...(outside === true ? { outside } : {}),
    ...(typeof asker === 'string' ? { asker } : {}),
    ...(typeof dropped === 'number' ? { dropped } : {}),
    ...(Array.isArray(paths) && paths.every((one) => typeof one === 'string') ? { paths } : {}),
  };
}
const EFFECTS: readonly Option['effect'][] = ['allow_once', 'allow_always', 'reject_once', 'reject_always', 'other'];
export function toEffectMeta(effect: Option['effect']): Meta {
  return { effect };
}

// --- prompts

/** Files and links are sent by name for the agent to read; content without a path on the host's computer is sent along. */
export function toMessage(content: readonly Content[], model: string | null): Message {
  const texts = content.flatMap((one) => (one.type === 'raw' ? [one.label] : one.type === 'text' && !isAttached(one) ? [one.text] : []));
  const attachments = content.flatMap((one): readonly object[] => {
    switch (one.type) {
      case 'text':
        return one.label === undefined ? [] : [{ type: 'simple', label: one.label, modelRepresentation: one.text }];
      case 'file':
        return [fileAttachment(one)];
      case 'link':
        return [{ type: 'resource', uri: one.uri, label: one.title ?? one.uri }];
      case 'image':
      case 'audio':
        return [{ type: 'embeddedResource', data: one.data, contentType: one.mime, label: one.type }];
      default:
        return [];
    }
  });
  return {
    text: texts.join('\n\n'),
    origin: { kind: 'user' },
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(model === null ? {} : { model: { id: model } }),
  };
}

/** A selection as VS Code attaches it: its lines are counted from 0. */
function fileAttachment({ path, lines }: Extract<Content, { readonly type: 'file' }>): object {
  const at = (line: number) => ({ line: line - 1, character: 0 });
  return {
    type: 'resource',
    uri: uriOfPath(path),
    label: inOneLine(path.split(/[\\/]/).at(-1) ?? path) + linesText(lines),
    ...(lines ? { displayKind: 'selection', selection: { range: { start: at(lines[0]), end: at(lines[1]) } } } : {}),
  };
}

/** Returns the lines, from 1, of an attachment's selection; undefined for what is no range of lines. */
export function linesOfSelection(selection: unknown): readonly [number, number] | undefined {
  const { range } = (selection ?? {}) as { readonly range?: { readonly start?: unknown; readonly end?: unknown } };
  const [first, last] = [range?.start, range?.end].map((place) => (place as { readonly line?: unknown } | null | undefined)?.line);
  const isRange = Number.isInteger(first) && Number.isInteger(last) && Number(first) >= 0 && Number(last) >= Number(first);
  return isRange ? [Number(first) + 1, Number(last) + 1] : undefined;
}

export function fromMessage({ text, attachments = [] }: Message): readonly Content[] {
  const others = attachments.flatMap((raw): readonly Content[] => {
    const { uri, data, contentType, label, modelRepresentation, selection } = (raw ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof data === 'string' && typeof contentType === 'string' && contentType.startsWith('image/'))
      return [{ type: 'image', mime: contentType, data }];
    if (typeof uri !== 'string')
      return typeof label === 'string' && typeof modelRepresentation === 'string'
        ? [{ type: 'text', text: modelRepresentation, label }]
        : [];
    const lines = linesOfSelection(selection);
    if (uri.startsWith('file:')) return [{ type: 'file', path: pathOfUri(uri), ...(lines ? { lines } : {}) }];
    return [{ type: 'link', uri, ...(typeof label === 'string' ? { title: label } : {}) }];
  });
  return text === '' ? others : [{ type: 'text', text }, ...others];
}

// --- calls

export function plain(text: Text): string {
  return typeof text === 'string' ? text : text.markdown;
}

export function toolCallOf(call: ToolCallState, contents: Contents): Omit<ToolCall, 'id'> {
  const { toolName, displayName } = call;
  const { kind = hasEdits(call) ? 'edit' : 'other', input: asked = '' } = fromMeta(call._meta);
  const inputText = call.status === 'streaming' ? (call.partialInput ?? '') : call.toolInput || asked;
  const result = resultOf(call);
  // A host sends what a command printed as text as well, for clients that show no terminals.
  const isPrinted = result.some((one) => one.type === 'terminal' && (call.status === 'running' || one.result?.preview !== undefined));
  const output = result.filter((one) => !isPrinted || one.type !== 'text').flatMap((one) => outputOf(one, contents));
  const input = call.status === 'streaming' ? undefined : inputOf(inputText, kind);
  const failure = call.status === 'completed' && !call.success ? call.error?.message || plain(call.pastTenseMessage) : undefined;
  return {
    name: toolName,
    title: displayName || toolName,
    kind,
    status: statusOf(call),
    inputText,
    ...(input === undefined ? {} : { input }),
    output,
    locations: editsOf(call).map(({ before, after }): Location => ({ path: pathOfUri((after ?? before)?.uri ?? '') })),
    ...(failure === undefined ? {} : { error: { message: failure } }),
  };
}

function statusOf(call: ToolCallState): ToolCall['status'] {
  switch (call.status) {
    case 'streaming':
      return 'pending';
    case 'pending-confirmation':
      return 'waiting';
    case 'running':
      return 'running';
    case 'completed':
      return call.success ? 'done' : 'failed';
    case 'cancelled':
      return call.reason === 'denied' ? 'rejected' : 'cancelled';
  }
}

/** A command as such; other input as the JSON that it is, or as text. */
function inputOf(text: string, kind: ToolKind): unknown {
  if (text === '') return undefined;
  if (kind === 'execute' && !text.startsWith('{')) return { command: text };
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function resultOf(call: ToolCallState): readonly ResultContent[] {
  return call.status === 'running' || call.status === 'completed' ? (call.content ?? []) : [];
}
export function terminalsOf(call: ToolCallState): readonly TerminalContent[] {
  return resultOf(call).filter((one) => one.type === 'terminal');
}

function outputOf(one: ResultContent, contents: Contents): readonly Output[] {
  switch (one.type) {
    case 'text':
      return one.text === '' ? [] : [{ kind: 'content', content: { type: 'text', text: one.text } }];
    case 'embeddedResource':
      if (one.contentType.startsWith('image/'))
        return [{ kind: 'content', content: { type: 'image', mime: one.contentType, data: one.data } }];
      return [{ kind: 'content', content: { type: 'raw', label: one.contentType, value: null } }];
    case 'fileEdit':
      return diffsOf([one], contents).map((diff) => ({ kind: 'diff', diff }));
    case 'terminal':
      return [{ kind: 'terminal', terminalId: one.resource }];
  }
}

function hasEdits(call: ToolCallState): boolean {
  return editsOf(call).length > 0;
}
function editsOf(call: ToolCallState): readonly FileEdit[] {
  if (call.status === 'pending-confirmation') return call.edits?.items ?? [];
  if (call.status !== 'running' && call.status !== 'completed') return [];
  return (call.content ?? []).flatMap((one) => (one.type === 'fileEdit' ? [one] : []));
}

/** Leaves out an edit if either side cannot be read, because its effect is unknown. */
function diffsOf(edits: readonly FileEdit[], contents: Contents): readonly Diff[] {
  return edits.flatMap(({ before, after }): readonly Diff[] => {
    const uri = (after ?? before)?.uri;
    const from = before ? contents(before.content.uri) : null;
    const to = after ? contents(after.content.uri) : null;
    if (uri === undefined || (before && typeof from !== 'string') || (after && typeof to !== 'string')) return [];
    return [{ path: pathOfUri(uri), before: from ?? null, after: to ?? null }];
  });
}

/** The addresses of texts that are wanted to show these calls. */
export function contentsOf(calls: readonly ToolCallState[]): readonly string[] {
  return calls.flatMap((call) => editsOf(call).flatMap(({ before, after }) => [before, after].flatMap((side) => side?.content.uri ?? [])));
}
/** The same for the content of an action. */
export function contentsIn(action: ChatAction): readonly string[] {
  const name = { toolCallId: '', toolName: '', displayName: '' };
  const input = { invocationMessage: '' };
  switch (action.type) {
    case 'chat/toolCallReady':
      if (action.confirmed !== undefined) return [];
      return contentsOf([
        { ...name, ...input, status: 'pending-confirmation', confirmationTitle: '', ...(action.edits ? { edits: action.edits } : {}) },
      ]);
    case 'chat/toolCallContentChanged':
      return contentsOf([{ ...name, ...input, status: 'running', confirmed: 'not-needed', content: action.content }]);
    case 'chat/toolCallComplete':
      return contentsOf([{ ...name, ...input, status: 'completed', confirmed: 'not-needed', ...action.result }]);
    case 'chat/responsePart':
      return contentsOf(callsIn([action.part]));
    default:
      return [];
  }
}
export function callsIn(parts: readonly ResponsePart[]): readonly ToolCallState[] {
  return parts.flatMap((part) => (part.kind === 'toolCall' ? [part.toolCall] : []));
}
export function callsOfChat({ turns, activeTurn }: ChatState): readonly ToolCallState[] {
  return [...turns, ...(activeTurn ? [activeTurn] : [])].flatMap(({ responseParts }) => callsIn(responseParts));
}

// --- approvals

export type PendingCall = Extract<ToolCallState, { readonly status: 'pending-confirmation' }>;

/**
 * A host marks an option only as allowing or denying, without its duration. Another Parley adds that; otherwise the option is of unknown
 * breadth, and the plain answers come before it.
 */
export function approvalOf(call: PendingCall, ids: { readonly id: string; readonly turnId: string }, contents: Contents): Approval {
  const { kind, cwd, unsure, paths, title, outside, asker } = fromMeta(call._meta);
  const toolKind = kind ?? (hasEdits(call) ? 'edit' : undefined);
  return {
    kind: 'approval',
    ...ids,
    callId: call.toolCallId,
    title: title ?? (plain(call.confirmationTitle) || call.displayName || call.toolName),
    ...(toolKind === undefined ? {} : { toolKind }),
    ...detailsOf(call, detailOf(call, toolKind, { ...(cwd === undefined ? {} : { cwd }), ...(unsure ? { unsure } : {}) }, contents)),
    ...(paths === undefined ? {} : { paths }),
    ...(outside ? { outside } : {}),
    ...(asker === undefined ? {} : { asker }),
    options: optionsOfCall(call),
  };
}

/** Adds what another Parley sends beside input and edits. Where that cannot be read, the extent of an allowance is unknown. */
function detailsOf(call: PendingCall, shown: ApprovalDetail): Pick<Approval, 'detail' | 'beside'> {
  const { detail, beside } = (call._meta?.parley ?? {}) as Readonly<Record<keyof ParleyMeta, unknown>>;
  const read = details.safeParse([...(detail === undefined ? [] : [detail]), ...(Array.isArray(beside) ? beside : [])]);
  if (!read.success || (beside !== undefined && !Array.isArray(beside)))
    return { detail: { type: 'text', text: plain(call.invocationMessage), unknown: true } };
  const [main = shown, ...rest] = detail === undefined ? [shown, ...read.data] : read.data;
  return { detail: main, ...(rest.length > 0 ? { beside: rest } : {}) };
}

function detailOf(
  call: PendingCall,
  kind: ToolKind | undefined,
  command: { readonly cwd?: string; readonly unsure?: true },
  contents: Contents,
): ApprovalDetail {
  const edits = call.edits?.items ?? [];
  const diffs = diffsOf(edits, contents);
  if (edits.length > 0 && diffs.length === edits.length) return { type: 'edit', diffs };
  const input = call.toolInput ?? '';
  // A host that is not ours may mean something else by the input of a terminal than the command alone.
  if (kind === 'execute' && input !== '') {
    const isOurs = call._meta?.parley !== undefined;
    return { type: 'command', command: input, ...command, ...(isOurs ? {} : { unsure: true }) };
  }
  const files = edits.map(({ before, after }) => pathOfUri((after ?? before)?.uri ?? ''));
  const text = [plain(call.invocationMessage), ...files, input].filter(Boolean).join('\n');
  return { type: 'text', text, ...(edits.length > 0 || text === '' ? { unknown: true } : {}) };
}

function optionsOfCall({ options = [] }: PendingCall): readonly Option[] {
  const named = options.map((one): Option => {
    const effect = EFFECTS.find((known) => known === one._meta?.effect && known.startsWith(one.kind === 'approve' ? 'allow' : 'reject'));
    return { id: one.id, label: one.label, effect: effect ?? 'other' };
  });
  const has = (effect: Option['effect']) => named.some((one) => one.effect === effect);
  return [
    ...(has('allow_once') ? [] : [{ id: ALLOW, label: '', effect: 'allow_once' } as const]),
    ...named,
    ...(has('reject_once') ? [] : [{ id: REJECT, label: '', effect: 'reject_once' } as const]),
  ];
}

/** Converts an answer about a call. The host takes an allowance without a named option as one for this once. */
export function confirmationOf(call: PendingCall, turnId: string, answer: Answer): Extract<ChatAction, { type: 'chat/toolCallConfirmed' }> {
  const base = { type: 'chat/toolCallConfirmed', turnId, toolCallId: call.toolCallId } as const;
  if (answer.kind !== 'option') return { ...base, approved: false, reason: 'skipped' };
  const named = call.options?.find((one) => one.id === answer.optionId);
  const selected = named ? { selectedOptionId: named.id } : {};
  const approved = named ? named.kind === 'approve' : answer.optionId === ALLOW;
  const confirmed: Confirmed = 'user-action';
  if (approved) return { ...base, approved, confirmed, ...selected };
  const words = answer.feedback?.trim();
  return { ...base, approved: false, reason: 'denied', ...selected, ...(words ? { userSuggestion: { text: words } } : {}) };
}

// --- questions

export function questionOf({ id, message, questions }: InputRequest, turnId: string): Asked {
  const fields = questions.map(fieldOf);
  return { kind: 'question', id, turnId, title: message || (fields[0]?.label ?? ''), fields };
}

const TEXT_KINDS = ['secret', 'email', 'uri', 'date', 'date-time'] as const;

function fieldOf(one: Question): Field {
  const base = {
    id: one.id,
    label: one.title || one.message || one.id,
    ...(one.title && one.message && one.message !== one.title ? { body: one.message } : {}),
    ...(one.required ? { required: true as const } : {}),
  };
  if (one.kind === 'boolean') return { ...base, kind: one.kind, ...initialOf(one.defaultValue) };
  const bounds = { ...(one.min === undefined ? {} : { min: one.min }), ...(one.max === undefined ? {} : { max: one.max }) };
  if ('options' in one) {
    const choices = one.options.map(({ label, description }) => ({ label, ...(description === undefined ? {} : { description }) }));
    const initial = one.options.filter((option) => option.recommended).map(({ label }) => label);
    return {
      ...base,
      choices,
      ...(one.kind === 'multi-select' ? { many: true as const, ...bounds } : {}),
      ...(one.allowFreeformInput ? { free: true as const } : {}),
      ...(initial.length > 0 ? { initial } : {}),
    };
  }
  if (one.kind !== 'text') return { ...base, kind: one.kind, ...bounds, ...initialOf(one.defaultValue) };
  const kind = TEXT_KINDS.find((known) => known === one.format);
  return { ...base, ...(kind === undefined ? {} : { kind }), ...bounds, ...initialOf(one.defaultValue) };
}
function initialOf(value: string | number | boolean | undefined): Pick<Field, 'initial'> {
  return value === undefined ? {} : { initial: [String(value)] };
}

type Answers = Readonly<Record<string, unknown>>;

/** Converts an answer to a question; choices go back as the ids of the host. */
export function completionOf({ id, questions }: InputRequest, answer: Answer): Extract<ChatAction, { type: 'chat/inputCompleted' }> {
  const base = { type: 'chat/inputCompleted', requestId: id } as const;
  const response: InputResponse = answer.kind === 'fields' ? 'accept' : answer.kind === 'option' ? 'decline' : 'cancel';
  if (answer.kind !== 'fields') return { ...base, response };
  const answers: Answers = Object.fromEntries(
    questions.map((one) => {
      const values = answer.values[one.id] ?? [];
      return [one.id, values.length > 0 ? { state: 'submitted', value: answerValue(one, values) } : { state: 'skipped' }];
    }),
  );
  return { ...base, response, answers };
}

function answerValue(one: Question, values: readonly string[]): object {
  const [first = ''] = values;
  switch (one.kind) {
    case 'number':
    case 'integer':
      return { kind: 'number', value: Number(first) };
    case 'boolean':
      return { kind: 'boolean', value: first === 'true' };
    case 'text':
      return { kind: 'text', value: first };
    default: {
      const idOf = (label: string) => one.options.find((option) => option.label === label)?.id;
      const chosen = values.flatMap((value) => idOf(value) ?? []);
      const free = values.filter((value) => idOf(value) === undefined);
      const freeform = free.length > 0 ? { freeformValues: free } : {};
      if (one.kind === 'multi-select') return { kind: 'selected-many', value: chosen, ...freeform };
      return { kind: 'selected', ...(chosen[0] === undefined ? {} : { value: chosen[0] }), ...freeform };
    }
  }
}

// --- what can be chosen

export interface Choices {
  readonly mode: ModeChoice | null;
  readonly options: readonly SessionOption[];
  /** The model in use, where the host tells it. */
  readonly model: string | null;
}

const NO_CONFIG: SessionConfig = { schema: { type: 'object', properties: {} }, values: {} };

/** `models`: what the host lists for the agent. A setting with the same values is about the model; one without values may tell the one in use. */
export function choicesOf(config: SessionConfig | undefined, models: readonly string[]): Choices {
  const { schema, values } = config ?? NO_CONFIG;
  let mode: ModeChoice | null = null;
  let model: string | null = null;
  const options: SessionOption[] = [];
  for (const [id, { type, title, description, enum: all, enumLabels, enumDescriptions }] of Object.entries(schema.properties)) {
    const value = values[id];
    const about = description === undefined ? {} : { description };
    if (type === 'boolean' && typeof value === 'boolean') options.push({ id, name: title || id, ...about, kind: 'switch', on: value });
    if (type !== 'string' || typeof value !== 'string') continue;
    if (!all && models.includes(value)) model = value;
    if (!all || all.length === 0) continue;
    const choices = all.map((one, at) => {
      const told = enumDescriptions?.[at];
      return { value: one, name: enumLabels?.[at] || one, ...(told ? { description: told } : {}) };
    });
    if (id === MODE) mode = { current: value, all: choices.map(({ value: key, ...rest }) => ({ id: key, ...rest })) };
    else {
      const isModel = models.length > 0 && all.every((one) => models.includes(one));
      options.push({
        id,
        name: title || id,
        ...about,
        ...(isModel ? { about: 'model' as const } : {}),
        kind: 'choice',
        current: value,
        choices,
      });
    }
  }
  return { mode, options, model };
}

/** Reads the state of a listed session from its status bits. */
export function activityIn(status: number): 'asking' | 'busy' | 'failed' | 'idle' {
  const activity = status & STATUS.activity;
  if (activity === STATUS.inputNeeded) return 'asking';
  return activity === STATUS.inProgress ? 'busy' : activity === STATUS.error ? 'failed' : 'idle';
}

/** Keeps the details of a call that asked when the host no longer sends them. */
export function withKnown(shown: Omit<ToolCall, 'id'>, known: Omit<ToolCall, 'id'> | undefined): Omit<ToolCall, 'id'> {
  if (!known) return shown;
  const kind = shown.kind === 'other' ? known.kind : shown.kind;
  const locations = shown.locations.length > 0 ? shown.locations : known.locations;
  // No host reports what a call had printed when it was stopped.
  const output = shown.status === 'cancelled' && shown.output.length === 0 ? known.output : shown.output;
  return { ...shown, kind, locations, output };
}
/** The members of a call that are different. */
export function differenceOf(before: Omit<ToolCall, 'id'>, after: Omit<ToolCall, 'id'>): Partial<Omit<ToolCall, 'id'>> {
  const changed = Object.entries(after).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof typeof before]),
  );
  return Object.fromEntries(changed);
}

/** The commands among completions of a slash. */
export function commandsIn(items: readonly CommandItem[]): readonly Command[] {
  return items.flatMap(({ insertText, attachment }) => {
    const name = /^\/(\S+)/.exec(insertText)?.[1];
    const description = attachment?._meta?.description;
    return name === undefined ? [] : [{ name, description: typeof description === 'string' ? description : '', aliases: [] }];
  });
}

interface CommandItem {
  readonly insertText: string;
  readonly attachment?: { readonly _meta?: { readonly description?: unknown } | undefined } | undefined;
}

export function usageOf({ inputTokens, outputTokens }: NonNullable<ActiveTurn['usage']>): Partial<Usage> {
  return {
    ...(inputTokens === undefined ? {} : { input: inputTokens }),
    ...(outputTokens === undefined ? {} : { output: outputTokens }),
  };
}

export function toolsOf(tools: readonly OfferedTool[]): readonly object[] {
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    inputSchema: parameters,
    _meta: toMeta({ asks: true }),
  }));
}
