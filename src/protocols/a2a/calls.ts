import { agentError, t } from '../../base/l10n.ts';
import { namedPath, pathInside } from '../../base/paths.ts';
import type { Answer } from '../../session/intents.ts';
import type { ApprovalDetail, Ask, Diff, Fault, Field, Location, Option, Output, ToolCall, ToolKind } from '../../session/model.ts';
import { withArguments, withoutFolder } from '../commandInput.ts';
import { namedPaths } from '../namedPaths.ts';
import {
  type Confirmation,
  callStates,
  fields,
  fileChange,
  type GeminiCall,
  geminiCall,
  isRecord,
  LENGTHS,
  mayBe,
  member,
  type RfcFileDiff,
  type RfcToolCall,
  textChange,
  toolCall,
  wordsIn,
} from './schema.ts';

/** An object that is being put together. Members that may be missing are set one by one, because spreading each of them in is slow (Node 20). */
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A tool call in either dialect: always the whole object (docs/protocols/a2a.md §8). */
export interface CallSnapshot {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly status: 'pending' | 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly input?: unknown;
  /** The call's output so far, or its result. */
  readonly text?: string;
  readonly json?: unknown;
  readonly diff?: Diff;
  readonly error?: Fault;
  readonly request?: CallApproval;
}

/** The approval that a call needs before it may run. */
export interface CallApproval {
  readonly detail: ApprovalDetail;
  /** Further details that an allowance covers. */
  readonly beside?: readonly ApprovalDetail[];
  readonly options: readonly DecisionOption[];
  /** The proposed text as the agent wrote it: it may be changed before it is allowed. */
  readonly proposed?: string;
  /** The agent wants answers, not permission. */
  readonly questions?: readonly Field[];
}

export interface DecisionOption extends Option {
  /** The value to send when the user chooses the option. */
  readonly sends: string;
  /** Remembered for the rest of the conversation by us. */
  readonly remembered?: true;
}

const KINDS: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(replace|edit|write|write_file|create_file|str_replace.*|apply_patch|multi_?edit)$|edit|write_?file/i, 'edit'],
  [/shell|bash|exec|terminal|run_command|^run$/i, 'execute'],
  [/delete|remove/i, 'delete'],
  [/move|rename/i, 'move'],
  [/grep|glob|search|find|list/i, 'search'],
  [/fetch|web/i, 'fetch'],
  [/^read|read_?file|cat$/i, 'read'],
  [/think|plan|todo/i, 'think'],
];

export function kindOf(name: string, said?: string | null): ToolKind {
  const known = KINDS.find(([, kind]) => kind === said) ?? KINDS.find(([pattern]) => pattern.test(name));
  return known?.[1] ?? 'other';
}

/** Lines joined with \n, as the session keeps them. */
export function lines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** The user's text with the line ends of the proposal. */
export function withLineEndsOf(edited: string, proposed: string): string {
  return proposed.includes('\r\n') ? lines(edited).replaceAll('\n', '\r\n') : edited;
}

/** Tool calls in the RFC's own shapes (docs/protocols/a2a.md §6). */

const DIFF = ['file_name', 'file_path', 'old_content', 'new_content', 'formatted_diff'];
const DETAILS = ['execute_details', 'file_edit_details', 'mcp_details', 'generic_details'];

/** undefined when it is not a tool call. */
export function readRfcCall(data: unknown): CallSnapshot | undefined {
  if (!isRecord(data) || (data.tool_call_id ?? data.toolCallId) == null) return undefined;
  const told = normalised(data);
  const call = isPlainCall(told) ? told : toolCall.safeParse(told).data;
  if (!call) return undefined;
  const request = call.confirmation_request ? rfcRequest(call, call.confirmation_request, unknownIn(data)) : undefined;
  const name = call.tool_name ?? '';
  const diff = call.output?.diff ?? call.confirmation_request?.file_edit_details;
  const text = call.output?.text ?? (call.output ? undefined : call.live_content);
  const status = rfcStatus(call, request !== undefined);
  const kind = diff ? 'edit' : call.confirmation_request?.execute_details ? 'execute' : kindOf(name);
  const found: Mutable<CallSnapshot> = {
    id: call.tool_call_id,
    name,
    title: call.description || name || call.tool_call_id,
    kind,
    status,
  };
  if (call.input_parameters !== undefined) found.input = call.input_parameters;
  if (typeof text === 'string') found.text = text;
  if (call.output?.structured_data !== undefined) found.json = call.output.structured_data;
  if (diff) found.diff = toDiff(diff);
  if (call.error) found.error = { message: errorText(call.error.message, call.error.type, call.error.status_code) };
  if (status === 'waiting' && request) found.request = request;
  return found;
}

/** The words of an error, with its type and status where they say more. */
function errorText(message: string | null | undefined, ...more: readonly (string | number | null | undefined)[]): string {
  const said = message || '';
  const facts = more.filter((one) => one != null && one !== '' && !said.includes(String(one)));
  if (said === '' && facts.length === 0) return agentError();
  return said === '' ? facts.join(' ') : facts.length > 0 ? `${said} (${facts.join(' ')})` : said;
}

/** Members of the RFC's call, and of its output; either may come within a `result`. */
const CALL_MEMBERS = [
  'tool_call_id',
  'status',
  'tool_name',
  'description',
  'input_parameters',
  'live_content',
  'output',
  'error',
  'confirmation_request',
];
const OUTPUT_MEMBERS = ['text', 'diff', 'structured_data'];
const WITHIN = ['result'];

function normalised(data: unknown): Record<string, unknown> {
  const call = fields(data, CALL_MEMBERS, WITHIN);
  if (call.output !== undefined) {
    const output = fields(call.output, OUTPUT_MEMBERS, WITHIN);
    if (output.diff) output.diff = fields(output.diff, DIFF);
    call.output = output;
  }
  if (call.error !== undefined) call.error = fields(call.error, ['message', 'type', 'status_code']);
  if (call.confirmation_request !== undefined) {
    const asked = fields(call.confirmation_request, ['options', ...DETAILS], ['details']);
    call.confirmation_request = {
      options: asked.options,
      ...inner(asked, 'execute_details', ['command', 'working_directory']),
      ...inner(asked, 'file_edit_details', DIFF),
      ...inner(asked, 'mcp_details', ['server_name', 'tool_name']),
      ...inner(asked, 'generic_details', ['description']),
    };
  }
  return call;
}

/** A call that is told of without a question, a diff or an error, checked by hand as `isPlainStatus` does: it takes nothing that the schema refuses. */
export function isPlainCall(call: Readonly<Record<string, unknown>>): call is RfcToolCall {
  const { tool_call_id: id, status, tool_name, description, live_content, output, error, confirmation_request } = call;
  if (typeof id !== 'string' || id === '' || id.length > LENGTHS.id) return false;
  if (error !== undefined || confirmation_request !== undefined) return false;
  if (status !== undefined && typeof status !== 'string' && !Number.isFinite(status)) return false;
  if (!mayBe(tool_name, LENGTHS.short) || !mayBe(description, LENGTHS.short) || !mayBe(live_content, LENGTHS.long)) return false;
  return output === undefined || (isRecord(output) && output.diff === undefined && mayBe(output.text, LENGTHS.long));
}

function inner(from: Readonly<Record<string, unknown>>, name: string, names: readonly string[]) {
  return from[name] === undefined ? {} : { [name]: fields(from[name], names) };
}

function rfcStatus(call: RfcToolCall, asked: boolean): CallSnapshot['status'] {
  switch (member(call.status, callStates)) {
    case 'executing':
      return 'running';
    case 'succeeded':
      return 'done';
    case 'failed':
      return 'failed';
    case 'cancelled':
      return 'cancelled';
    default:
      return asked ? 'waiting' : 'pending';
  }
}

function toDiff(diff: RfcFileDiff): Diff {
  const path = namedPath(diff.file_path || diff.file_name || '');
  if (diff.new_content == null && diff.formatted_diff) return { path, before: '', after: diff.formatted_diff, summary: true };
  return { path, before: diff.old_content == null ? null : lines(diff.old_content), after: lines(diff.new_content ?? '') };
}

type Asked = NonNullable<RfcToolCall['confirmation_request']>;

/** Members of the details of a command that the document does not have: they may change what runs. */
function unknownIn(data: unknown): Readonly<Record<string, unknown>> {
  const { confirmation_request: asked } = fields(data, ['confirmation_request']);
  const { execute_details: details } = fields(asked, ['execute_details'], ['details']);
  return othersOf(details, ['command', 'working_directory', 'workingDirectory']);
}

/** The members of an object that are not known, where they say something. */
function othersOf(value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, one]) => !known.includes(name) && one !== undefined && one !== null && one !== '' && one !== false,
    ),
  );
}

/** `unknown`: of the details of a command. */
function rfcRequest(call: RfcToolCall, asked: Asked, unknown: Readonly<Record<string, unknown>>): CallApproval {
  const given = asked.options ?? [];
  const offered =
    given.length > 0
      ? given
      : [
          { id: 'proceed_once', name: t('Allow once') },
          { id: 'cancel', name: t('Reject') },
        ];
  const edit = asked.execute_details ? undefined : asked.file_edit_details;
  return {
    ...rfcDetails(call, asked, unknown),
    options: choicesOf(offered),
    // The user cannot edit a change that came only as a diff.
    ...(edit && (edit.new_content != null || !edit.formatted_diff) ? { proposed: edit.new_content ?? '' } : {}),
  };
}

function choicesOf(given: readonly Offered[]): readonly DecisionOption[] {
  const effects = effectsOf(given);
  return given.map((option, at) => ({
    id: option.id,
    label: option.name || option.id,
    effect: effects[at] ?? 'allow_always',
    sends: option.id,
    ...(option.description ? { description: option.description } : {}),
  }));
}

function rfcDetails(call: RfcToolCall, asked: Asked, unknown: Readonly<Record<string, unknown>>): Pick<CallApproval, 'detail' | 'beside'> {
  const edit: readonly ApprovalDetail[] = asked.file_edit_details ? [{ type: 'edit', diffs: [toDiff(asked.file_edit_details)] }] : [];
  if (!asked.execute_details) return { detail: edit[0] ?? rfcDetail(call, asked) };
  const { command, working_directory } = asked.execute_details;
  const shown = { type: 'command' as const, command: command ?? '', ...(working_directory ? { cwd: working_directory } : {}) };
  const { detail, beside = [] } = withArguments(shown, call.input_parameters, unknown);
  // Only one of several details applies, and nothing tells which.
  const all = [...edit, ...beside];
  return { detail: edit.length > 0 ? { ...shown, unsure: true } : detail, ...(all.length > 0 ? { beside: all } : {}) };
}

function rfcDetail(call: RfcToolCall, asked: Asked): ApprovalDetail {
  if (asked.mcp_details) {
    const { server_name, tool_name } = asked.mcp_details;
    return {
      type: 'mcp',
      server: server_name ?? '',
      tool: tool_name ?? '',
      ...(call.input_parameters === undefined ? {} : { input: call.input_parameters }),
    };
  }
  const words = asked.generic_details?.description || call.description;
  const isSaid = words || call.tool_name || isFilled(call.input_parameters);
  if (!isSaid) return { type: 'text', text: t('The agent does not say what this would do.'), unknown: true };
  return { type: 'text', text: words || JSON.stringify(call.input_parameters ?? {}, null, 2) };
}

function isFilled(input: unknown): boolean {
  return typeof input === 'object' && input !== null ? Object.keys(input).length > 0 : input != null;
}

/** The user's decision, repeated by the agent: it is not a call (docs/protocols/a2a.md §6). */
export function isConfirmation(data: unknown): boolean {
  if (!isRecord(data) || (data.selected_option_id ?? data.selectedOptionId) == null) return false;
  const said = fields(data, ['tool_call_id', 'status', 'tool_name', 'confirmation_request']);
  return Object.keys(said).join() === 'tool_call_id';
}

/** One way to answer, as the agent names it. */
export interface Offered {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
}

const BROAD = /always|session|server|tool|for ?ever|remember|trust|from now on|\b(all|every\w*)\b/i;
/** "Yes, and don't ask again" refuses nothing. */
const NO_QUESTIONS = /(don.?t|do not|never|not) asks?\b( me)?( again)?|without asking/gi;
const REJECTS = /cancel|reject|den(y|ied)|\bno$|^no\b|abort|disallow|refuse|skip|decline|\b(don.?t|not|never)\b/i;
const ALLOWS = /once|^(allow|approve|accept|proceed|yes|ok|run)( it)?$/i;

/**
 * The effect of each option, in their order. The RFC has no kinds (docs/protocols/a2a.md §6): the agent's own ids decide, or else its labels.
 * If no option clearly allows once, and the refusals are clear, the first other option that does not clearly allow for longer allows once.
 * Any other unclear option counts as allowing for longer, which no rule chooses.
 */
export function effectsOf(options: readonly Offered[]): readonly Option['effect'][] {
  const said = options.map(({ id, name }) => effectNamed(id, name ?? ''));
  const first = said.some((one) => one?.startsWith('reject')) && !said.includes('allow_once') ? said.indexOf(undefined) : -1;
  return said.map((one, at) => one ?? (at === first ? 'allow_once' : 'allow_always'));
}

/** undefined: an allowance, and unclear for how long. */
function effectNamed(id: string, name: string): Option['effect'] | undefined {
  const [ownId, ownName] = [id.replace(NO_QUESTIONS, ' '), name.replace(NO_QUESTIONS, ' ')];
  const broad = BROAD.test(id) || BROAD.test(name) || ownId !== id || ownName !== name;
  const says = REJECTS.test(ownId) || ALLOWS.test(ownId) ? ownId : ownName;
  if (REJECTS.test(says)) return broad ? 'reject_always' : 'reject_once';
  if (broad) return 'allow_always';
  return ALLOWS.test(says) ? 'allow_once' : undefined;
}

/** Tool calls of the Gemini CLI server, of both generations (docs/protocols/a2a.md §7, §9). */

/** undefined when it is not a tool call. */
export function readGeminiCall(data: unknown): (CallSnapshot & { readonly newer: boolean }) | undefined {
  // The other dialect's calls come here too, and the schema's errors about them cost most.
  if (!isRecord(data) || !isRecord(data.request)) return undefined;
  const parsed = geminiCall.safeParse(data);
  if (!parsed.success) return undefined;
  const call = parsed.data;
  const { request, response, confirmationDetails: asked } = call;
  const status = geminiStatus(call);
  const diff = resultDiff(call) ?? (asked?.type === 'edit' ? editOf(asked, request.args) : undefined);
  const text = diff && status === 'done' ? response?.display?.resultSummary || undefined : resultText(call);
  return {
    id: request.callId,
    name: request.name,
    title: titleOf(call),
    kind: kindOf(request.name, call.tool?.kind),
    status,
    newer: request.schedulerId != null,
    ...(request.args === undefined ? {} : { input: request.args }),
    ...(text === undefined ? {} : { text }),
    ...(diff ? { diff } : {}),
    ...(status === 'failed' ? { error: { message: errorText(text, response?.errorType) } } : {}),
    ...(status === 'waiting' && asked ? { request: geminiRequest(call, asked, data.confirmationDetails) } : {}),
  };
}

function geminiStatus(call: GeminiCall): CallSnapshot['status'] {
  switch (call.status) {
    case 'awaiting_approval':
      return call.outcome || !call.confirmationDetails ? 'pending' : 'waiting';
    case 'executing':
      return 'running';
    case 'success':
      return 'done';
    case 'error':
      return 'failed';
    case 'cancelled':
      return 'cancelled';
    default:
      return 'pending';
  }
}

function titleOf(call: GeminiCall): string {
  const { request, tool } = call;
  if (request.display?.description) return request.display.description;
  const args = isRecord(request.args) ? request.args : {};
  const about = [args.command, args.file_path, args.path, args.pattern, args.query, args.prompt].find((one) => typeof one === 'string');
  const name = tool?.displayName || request.name;
  return typeof about === 'string' ? `${name}: ${about.length > 200 ? `${about.slice(0, 200)}…` : about}` : name;
}

function pathIn(args: unknown): string {
  const path = isRecord(args) ? (args.file_path ?? args.path) : undefined;
  return typeof path === 'string' ? namedPath(path) : '';
}

function editOf(change: Pick<Confirmation, 'filePath' | 'fileName' | 'originalContent' | 'newContent' | 'fileDiff'>, args: unknown): Diff {
  // The arguments have the whole path where the change has only the name.
  const path = namedPath(change.filePath || pathIn(args) || change.fileName || '');
  if (change.newContent == null) return { path, before: '', after: change.fileDiff ?? '', summary: true };
  return { path, before: change.originalContent == null ? null : lines(change.originalContent), after: lines(change.newContent) };
}

function resultDiff(call: GeminiCall): Diff | undefined {
  const shown = textChange.safeParse(call.response?.display?.result);
  if (shown.success && shown.data.type === 'diff') {
    const { path, beforeText, afterText } = shown.data;
    return {
      path: namedPath(path ?? '') || pathIn(call.request.args),
      before: beforeText == null ? null : lines(beforeText),
      after: lines(afterText ?? ''),
    };
  }
  const change = fileChange.safeParse(call.response?.resultDisplay);
  if (!change.success || (change.data.newContent == null && change.data.fileDiff == null)) return undefined;
  return editOf(change.data, call.request.args);
}

function resultText(call: GeminiCall): string | undefined {
  const { response } = call;
  if (!response) return undefined;
  const words = wordsIn.safeParse(response.responseParts);
  const said = words.success ? words.data[0]?.functionResponse?.response : undefined;
  const exit = exitLine(said?.output);
  const withExit = (text: string) => (exit === '' || saysExit(text) ? text : [text, exit].filter(Boolean).join('\n'));
  if (typeof response.resultDisplay === 'string' && response.resultDisplay !== '') return withExit(screenText(response.resultDisplay));
  const shown = textChange.safeParse(response.display?.result);
  if (shown.success && typeof shown.data.text === 'string') return withExit(screenText(shown.data.text));
  const text = said?.error ?? said?.output;
  return typeof text === 'string' ? screenText(text) : undefined;
}

/** A command that fails counts as a success here; its exit code is in the text for the model. '' for 0. */
function exitLine(output: string | null | undefined): string {
  const line = /^Exit Code: (-?\d+)\s*$/m.exec(output ?? '');
  return line && line[1] !== '0' ? `Exit Code: ${line[1]}` : '';
}

/** The server's own text ends with it for most commands ("Command exited with code: 3"). */
function saysExit(text: string): boolean {
  return /^(?:Command exited with code|Exit Code): -?\d+$/im.test(text);
}

const LINES_KEPT = 5000;
const [ESC, BEL] = [String.fromCharCode(27), String.fromCharCode(7)];
/** Up to the next escape at most: with an unclosed one the rest of the text would be read again for each. */
const ESCAPES = new RegExp(`${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\))`, 'g');

/** A screen as it was padded for a terminal, without the padding, colours and overwritten lines. */
export function screenText(text: string): string {
  const all = lines(text)
    .replace(ESCAPES, '')
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r') + 1).trimEnd());
  return all.slice(-LINES_KEPT).join('\n').trimEnd();
}

const ONCE: DecisionOption = { id: 'once', label: '', effect: 'allow_once', sends: 'proceed_once' };

/** `raw`: the confirmation with all its members. */
function geminiRequest(call: GeminiCall, asked: Confirmation, raw: unknown): CallApproval {
  const allow = { ...ONCE, label: t('Allow once') };
  const reject: DecisionOption = { id: 'reject', label: t('Reject'), effect: 'reject_once', sends: 'cancel' };
  const questions = asked.type === 'ask_user' ? questionsOf(asked) : [];
  if (questions.length > 0) return { detail: { type: 'text', text: asked.title ?? '' }, options: [allow, reject], questions };
  const details = geminiDetails(call, asked, raw);
  const { detail } = details;
  const always: readonly DecisionOption[] =
    asked.type === 'exit_plan_mode' || (detail.type === 'command' && detail.unsure)
      ? []
      : asked.type === 'mcp'
        ? [
            {
              id: 'always-tool',
              label: t('Always allow {0}', t('{0} of {1}', asked.toolName ?? '?', asked.serverName ?? '?')),
              effect: 'allow_always',
              sends: 'proceed_always_tool',
            },
            {
              id: 'always-server',
              label: t('Always allow {0}', t('all tools of {0}', asked.serverName ?? '?')),
              effect: 'allow_always',
              sends: 'proceed_always_server',
            },
          ]
        : [
            {
              id: 'always',
              label: t('Allow for this session'),
              effect: 'allow_always',
              sends: 'proceed_once',
              remembered: true,
            },
          ];
  const editable = asked.type === 'edit' && asked.newContent != null;
  return { ...details, options: [allow, ...always, reject], ...(editable ? { proposed: asked.newContent ?? '' } : {}) };
}

function questionsOf(asked: Confirmation): readonly Field[] {
  return (asked.questions ?? []).map((one, at) => {
    const choices = (one.options ?? []).map((option) => ({
      label: option.label,
      ...(option.description ? { description: option.description } : {}),
    }));
    return { id: String(at), label: one.question, free: true, ...(choices.length > 0 ? { choices } : {}) };
  });
}

/** Members of a confirmation that say nothing about what runs but the command. */
const OF_EXEC = ['type', 'title', 'command', 'rootCommand', 'rootCommands', 'commands', 'systemMessage', 'correlationId', 'isModifying'];

function geminiDetails(call: GeminiCall, asked: Confirmation, raw: unknown): Pick<CallApproval, 'detail' | 'beside'> {
  if (asked.type !== 'exec' && asked.type !== 'sandbox_expansion') return { detail: geminiDetail(call, asked) };
  const shown = { type: 'command' as const, command: asked.command ?? '', ...directoryIn(call.request.args) };
  const all = isRecord(raw) && Array.isArray(raw.commands) ? (raw.commands as readonly unknown[]) : [];
  const hidden = all.filter((one) => typeof one !== 'string' || !shown.command.includes(one));
  const unknown = { ...othersOf(raw, OF_EXEC), ...(hidden.length > 0 ? { commands: hidden } : {}) };
  const details = withArguments(shown, call.request.args, unknown);
  return asked.type === 'exec' ? details : { ...details, detail: { ...shown, unsure: true } };
}

function geminiDetail(call: GeminiCall, asked: Confirmation): ApprovalDetail {
  switch (asked.type) {
    case 'edit':
      return { type: 'edit', diffs: [editOf(asked, call.request.args)] };
    case 'mcp': {
      const input = asked.toolArgs ?? call.request.args;
      return { type: 'mcp', server: asked.serverName ?? '', tool: asked.toolName ?? '', ...(input === undefined ? {} : { input }) };
    }
    case 'info':
      return { type: 'text', text: [asked.prompt, ...(asked.urls ?? [])].filter(Boolean).join('\n') || (asked.title ?? '') };
    case 'exit_plan_mode':
      return { type: 'text', text: [asked.title, asked.planPath].filter(Boolean).join('\n') };
    default:
      return { type: 'text', text: `${asked.title ?? asked.type}\n\n${JSON.stringify(call.request.args ?? {}, null, 2)}` };
  }
}

function directoryIn(args: unknown): { readonly cwd?: string } {
  const directory = isRecord(args) ? (args.directory ?? args.dir_path) : undefined;
  return typeof directory === 'string' && directory !== '' ? { cwd: directory } : {};
}

/** The file that the call is about, as the agent names it; undefined when it names none. */
export function fileOf(call: CallSnapshot): string | undefined {
  const { detail } = call.request ?? {};
  const input = call.input as { readonly file_path?: unknown; readonly path?: unknown } | null | undefined;
  const diff = detail?.type === 'edit' ? detail.diffs[0] : call.diff;
  const file = diff?.path ?? input?.file_path ?? input?.path;
  return typeof file === 'string' ? file : undefined;
}

/** The call with no text at all before its edit, where the server said an empty one. */
export function asCreation(call: CallSnapshot): CallSnapshot {
  const { diff, request } = call;
  const detail = request?.detail.type === 'edit' ? { ...request.detail, diffs: request.detail.diffs.map(creationOf) } : request?.detail;
  return {
    ...call,
    ...(diff ? { diff: creationOf(diff) } : {}),
    ...(request && detail ? { request: { ...request, detail } } : {}),
  };
}

function creationOf(diff: Diff): Diff {
  return diff.before === '' && !diff.summary ? { ...diff, before: null } : diff;
}

// --- what is shown of a call, and when it is another one

export function isEnded(call: CallSnapshot): boolean {
  return call.status === 'done' || call.status === 'failed' || call.status === 'cancelled';
}

export function rejectionOf({ options }: CallApproval): DecisionOption | undefined {
  return options.find((one) => one.effect === 'reject_once') ?? options.find((one) => one.effect === 'reject_always');
}

type ShownCall = Omit<ToolCall, 'id' | 'name' | 'inputText'>;

/** All that is shown of a call. `status`: as the session has it. */
export function shownOf(call: CallSnapshot, live: string | null, status: ToolCall['status']): ShownCall {
  const { title, kind, input, error } = call;
  const output = outputOf(call, live);
  const locations = locationsOf(call);
  const shown: Mutable<ShownCall> =
    input === undefined ? { title, kind, output, locations, status } : { title, kind, input, output, locations, status };
  if (error) shown.error = error;
  return shown;
}

type AskOfCall = { readonly [K in Ask['kind']]: Omit<Extract<Ask, { kind: K }>, 'id' | 'turnId' | 'callId'> }[Ask['kind']];

/** The question to the user about a call; `edited`: the proposal as they changed it. `cwd`: the working directory. */
export function askOf({ title, kind, input, ...call }: CallSnapshot, request: CallApproval, edited: string | null, cwd: string): AskOfCall {
  const named = edited === null ? title : `${title} (${t('edited by you')})`;
  const warned = isOutside(request.detail, cwd) ? t('{0} (outside the workspace)', named) : named;
  if (request.questions) return { kind: 'question', title: warned, fields: request.questions };
  const places = locationsOf({ title, kind, input, ...call }).map(({ path }) => path);
  return {
    ...{ kind: 'approval', title: warned, toolKind: kind },
    detail: edited === null ? request.detail : withText(request.detail, edited),
    ...(request.beside ? { beside: request.beside } : {}),
    ...namedPaths(kind, input, places),
    options: request.options.map(({ sends: _, remembered: __, ...option }) => option),
    ...(request.proposed === undefined ? {} : { editable: true as const }),
  };
}

/** `live`: what it has printed so far, from elsewhere. */
export function outputOf(call: CallSnapshot, live: string | null): readonly Output[] {
  const text = call.text ?? live;
  const output: Output[] = [];
  if (call.diff) output.push({ kind: 'diff', diff: call.diff });
  if (text && call.status !== 'failed') output.push({ kind: 'content', content: { type: 'text', text } });
  if (call.json !== undefined) output.push({ kind: 'json', value: call.json });
  return output;
}

function locationsOf(call: CallSnapshot): readonly Location[] {
  if (call.diff) return [{ path: call.diff.path }];
  const input = call.input as { readonly file_path?: unknown; readonly path?: unknown } | null | undefined;
  const path = input?.file_path ?? input?.path;
  return typeof path === 'string' && /^(\/|[A-Za-z]:)/.test(path) ? [{ path }] : [];
}

/** A newer snapshot of a call: what it leaves out is as it was. */
export function completed(call: CallSnapshot, before: CallSnapshot): CallSnapshot {
  const whole = call.input === undefined && before.input !== undefined ? { ...call, input: before.input } : call;
  if (call.name !== '' || before.name === '') return whole;
  const { name, title, kind, input } = before;
  const { request } = call;
  const unknown = request?.detail.type === 'text' && request.detail.unknown;
  const detail: ApprovalDetail = { type: 'text', text: JSON.stringify(input ?? {}, null, 2) };
  return { ...whole, name, title, kind: call.kind === 'other' ? kind : call.kind, ...(unknown ? { request: { ...request, detail } } : {}) };
}

/** Returns a newer snapshot of a change with the diff that the user decided about, where it has only a sentence. `edited`: the user's own version, which was sent. */
export function stillAsAsked(call: CallSnapshot, asked: CallSnapshot, edited: string | null): CallSnapshot {
  const { diff, kind, name, title, request } = asked;
  const isAbout = kind === 'edit' && request?.detail.type === 'edit' && (call.name === '' || call.name === name);
  if (call.diff || !diff || !isAbout || call.request) return call;
  return { ...call, kind, title, diff: edited === null || diff.summary ? diff : { ...diff, after: lines(edited) } };
}

/**
 * The user was asked about `asked`; `edited` is what they made of the proposal. True when `call` is not what they decided about. `cwd`: the folder
 * of the session, where a command runs anyway.
 */
export function isAnotherCall(call: CallSnapshot, asked: CallSnapshot, edited: string | null, cwd: string): boolean {
  const { proposed } = call.request ?? {};
  // An agent may repeat the user's own text.
  if (edited !== null && proposed !== undefined && lines(proposed) === lines(edited)) return !isSame(outline(call), outline(asked));
  return !isSame(substance(call, cwd), substance(asked, cwd));
}

/** Returns the substance of a decision. A title counts where it is shown; agents count down in it, so numbers do not count. */
function substance({ name, title, kind, input, diff, request }: CallSnapshot, cwd: string): unknown {
  const options = request?.options.map(({ id, label, effect, sends }) => [id, label, effect, sends]);
  const { detail } = request ?? {};
  const isCommand = detail?.type === 'command' && detail.command.trim() !== '';
  const shownTitle = isCommand ? '' : title.replace(/[\d\s.…]+/g, '');
  const asked =
    isCommand && detail.cwd === cwd ? { ...request, options, detail: { ...detail, cwd: undefined } } : request && { ...request, options };
  return [name, shownTitle, kind, isCommand ? withoutFolder(input, cwd) : input, diff, asked];
}

/** The same without the proposed text. */
function outline({ name, kind, diff, request }: CallSnapshot): unknown {
  return [name, kind, diff?.path, diff?.before, request?.options];
}

/** Equal as JSON, whatever the order of members: what an agent keeps may come back in another. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((member, at) => isSame(member, other[at]));
  }
  const [mine, theirs] = [membersOf(one), membersOf(other)];
  return mine.size === theirs.size && [...mine].every(([name, member]) => theirs.has(name) && isSame(member, theirs.get(name)));
}
function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined));
}

function withText(detail: ApprovalDetail, text: string): ApprovalDetail {
  return detail.type === 'edit' ? { ...detail, diffs: detail.diffs.map((diff) => ({ ...diff, after: lines(text) })) } : detail;
}

/** Returns the user's words beside a decision, or their answers to an agent's questions as a text. */
export function wordsBeside(answer: Answer, { questions = [] }: CallApproval): string | undefined {
  if (answer.kind !== 'fields') return answer.kind === 'option' ? answer.feedback : undefined;
  const { values } = answer;
  return questions.flatMap(({ id, label }) => (values[id]?.length ? [`${label} ${values[id].join(', ')}`] : [])).join('\n');
}

/** The scope of a remembered allowance: the same tool with the same command, file or question. */
export function allowanceKey(call: CallSnapshot): string {
  const detail = call.request?.detail;
  const about =
    detail?.type === 'command'
      ? detail.command
      : detail?.type === 'edit'
        ? detail.diffs.map((diff) => diff.path).join('\n')
        : JSON.stringify(call.input ?? null);
  return `${call.name}\n${about}`;
}

/** The option that the user chose before for all that is alike; undefined when they have to be asked. Nothing is remembered for files outside the folder. */
export function rememberedChoice(
  call: CallSnapshot,
  allowances: readonly { readonly key: string }[],
  harmless: readonly string[],
  cwd: string,
): DecisionOption | undefined {
  const { detail, options = [] } = call.request ?? {};
  if (detail?.type === 'mcp' && harmless.includes(`${detail.server}/${detail.tool}`)) {
    return options.find((one) => one.effect === 'allow_once');
  }
  const key = allowanceKey(call);
  const isUnsure = detail && (isOutside(detail, cwd) || (detail.type === 'command' && detail.unsure));
  return isUnsure || !allowances.some((one) => one.key === key) ? undefined : options.find((one) => one.remembered);
}

/** It would change a file, or run a command, outside the folder that is worked in. */
export function isOutside(detail: ApprovalDetail, cwd: string): boolean {
  if (detail.type === 'edit') return detail.diffs.some((diff) => diff.path !== '' && !pathInside(cwd, diff.path));
  return detail.type === 'command' && detail.cwd !== undefined && pathInside(cwd, detail.cwd) === undefined;
}
