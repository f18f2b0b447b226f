import { parseJson } from '../../base/json.ts';
import { agentError, t } from '../../base/l10n.ts';
import type { Failure } from '../../base/outcomes.ts';
import { namedPath, resolvePath } from '../../base/paths.ts';
import { fenced, inOneLine } from '../../base/promptText.ts';
import { ARGUMENTS_KEPT } from '../../session/dangers.ts';
import type { Answer } from '../../session/intents.ts';
import type {
  Approval,
  ApprovalDetail,
  CallId,
  Content,
  Diff,
  Fault,
  Field,
  Location,
  ModeChoice,
  Output,
  Plan,
  PlanEntry,
  Question,
  Remedy,
  TurnId,
} from '../../session/model.ts';
import { commandInput, otherArguments, runningMembers } from '../commandInput.ts';
import { namedPaths } from '../namedPaths.ts';
import { kindOf } from '../toolKinds.ts';
import {
  type AnswerResult,
  type ContentPart,
  codes,
  type DisplayBlock,
  type EventPayload,
  type InitializeResult,
  info,
  type KnownPart,
  type Methods,
  methods,
  type RequestPayload,
  type UserInput,
} from './schema.ts';

/*
 * Between the words of Wire and those of a session, in both directions: pure functions, in the order of versions, content, calls, display blocks, asks,
 * handshake, replies.
 */

// --- versions

/** A protocol version; 1.10 is newer than 1.9 (wire.md §3). */
export interface WireVersion {
  readonly major: number;
  readonly minor: number;
}

/** Before there was a handshake. */
export const LEGACY: WireVersion = { major: 1, minor: 0 };

/** The minor version of Wire 1 that brought a thing (wire.md §3). The client asks for nothing older, the server sends nothing newer. */
export const SINCE = {
  initialize: 1,
  externalTools: 1,
  approvalResponse: 1,
  turnEnd: 2,
  /** Before it a turn that is cancelled while a request is open never ends (wire.md §9.1). */
  cancelsWaiting: 4,
  replay: 3,
  steer: 4,
  planMode: 4,
  questions: 4,
  contextTokens: 4,
  steerInput: 5,
  notifications: 5,
  approvalSource: 6,
  feedback: 6,
  parentToolCallId: 6,
  planDisplay: 7,
  hooks: 7,
  diffStarts: 7,
  loginExpired: 7,
  summaries: 8,
  /** From it on a cancelled turn has its TurnEnd, too (wire.md §7). */
  cancelledTurnEnd: 9,
  asides: 9,
  /** Versions up to 1.6 report an approval that a cancel settles after they have answered the prompt (wire.md §7). */
  promptEcho: 10,
  stepRetry: 10,
} as const satisfies Readonly<Record<string, number>>;
export type Feature = keyof typeof SINCE;

/** Reads `major.minor` and ignores what follows; "1" is 1.0. Undefined when there is no number at all. */
export function parseVersion(text: string): WireVersion | undefined {
  const found = /^\s*v?(\d{1,6})(?:\.(\d{1,6}))?/.exec(text);
  return found ? { major: Number(found[1]), minor: Number(found[2] ?? 0) } : undefined;
}

export function atLeast(version: WireVersion, minor: number): boolean {
  return version.major > 1 || (version.major === 1 && version.minor >= minor);
}

export function isNewer(one: WireVersion, other: WireVersion): boolean {
  return one.major > other.major || (one.major === other.major && one.minor > other.minor);
}

/** Reads the output of `info --json`; undefined when it is something else. */
export function readInfo(text: string): { readonly version: WireVersion; readonly program?: string } | undefined {
  try {
    const parsed = info.safeParse(parseJson(text));
    const version = parsed.success ? parseVersion(parsed.data.wire_protocol_version) : undefined;
    const program = parsed.data?.kimi_cli_version;
    return version && { version, ...(program ? { program } : {}) };
  } catch {
    return undefined;
  }
}

// --- content

/** One of their parts as content; thoughts become text. */
export function fromPart(part: ContentPart): Content {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'think':
      return { type: 'text', text: part.think };
    case 'image_url':
      return media('image', part.image_url.url);
    case 'audio_url':
      return media('audio', part.audio_url.url);
    case 'video_url':
      return media('video', part.video_url.url);
    case 'unknown':
      return { type: 'raw', label: labelOf(part.value), value: part.value };
  }
}

export function fromUserInput(input: UserInput): readonly Content[] {
  return typeof input === 'string' ? [{ type: 'text', text: input }] : input.map(fromPart);
}

/**
 * Encodes a prompt. Only known part types are sent, because any other ends some servers (wire.md §4). Files and selections become text, media
 * become data URIs.
 */
export function toUserInput(content: readonly Content[]): string | KnownPart[] {
  const parts = content.map(toPart);
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : parts;
}

function toPart(content: Content): KnownPart {
  switch (content.type) {
    case 'text':
      return { type: 'text', text: content.text };
    case 'image':
      return { type: 'image_url', image_url: { url: dataUri(content) } };
    case 'audio':
      return { type: 'audio_url', audio_url: { url: dataUri(content) } };
    case 'file':
      return { type: 'text', text: fileText(content) };
    case 'link':
      return { type: 'text', text: content.title ? `${content.title}: ${content.uri}` : content.uri };
    case 'raw':
      return { type: 'text', text: `${content.label}: ${JSON.stringify(content.value)}` };
  }
}

function fileText({ path, text, lines }: Extract<Content, { type: 'file' }>): string {
  const where = `@${inOneLine(path)}${lines ? `:${lines[0]}-${lines[1]}` : ''}`;
  return text === undefined ? where : `${where}\n${fenced(text)}`;
}

function dataUri({ mime, data }: { readonly mime: string; readonly data: string }): string {
  return `data:${mime};base64,${data}`;
}

function media(kind: 'image' | 'audio' | 'video', url: string): Content {
  const head = /^data:([\w.+/-]{1,100})?(?:;[\w=.-]{1,100}){0,4};base64,/.exec(url);
  if (!head || kind === 'video') return { type: 'link', uri: url, title: kind };
  return { type: kind, mime: head[1] ?? `${kind}/*`, data: url.slice(head[0].length) };
}

/** Returns the name that an unknown thing gives itself. */
export function labelOf(value: unknown): string {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  return typeof type === 'string' ? type.slice(0, 100) : 'unknown';
}

// --- calls

const TITLE_LENGTH = 200;

/** The tool and its most telling argument: a command, a path, a question. */
export function titleOf(tool: string, input: unknown): string {
  const said = ['command', 'path', 'file_path', 'pattern', 'query', 'url', 'description', 'prompt', 'thought']
    .map((name) => stringIn(input, name))
    .find((value) => value !== undefined);
  if (said === undefined) return tool;
  const line = said.split('\n', 1)[0] ?? '';
  return `${tool}: ${line.length > TITLE_LENGTH || line.length < said.length ? `${line.slice(0, TITLE_LENGTH)}…` : line}`;
}

/** Where the call works; models name files from the working directory. */
export function locationsOf(input: unknown, cwd: string): readonly Location[] {
  const said = stringIn(input, 'path') ?? stringIn(input, 'file_path');
  if (said === undefined || said === '') return [];
  const path = resolvePath(cwd, namedPath(said));
  const line = numberIn(input, 'line_offset') ?? numberIn(input, 'line');
  return [line !== undefined && Number.isSafeInteger(line) && line >= 1 ? { path, line } : { path }];
}

export function stringIn(input: unknown, name: string): string | undefined {
  const value = memberOf(input, name);
  return typeof value === 'string' ? value : undefined;
}

function numberIn(input: unknown, name: string): number | undefined {
  const value = memberOf(input, name);
  return typeof value === 'number' ? value : undefined;
}

function memberOf(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, name) ? (input as Record<string, unknown>)[name] : undefined;
}

/** Arguments as a value; undefined while they are not whole. Empty arguments are none. */
export function parseInput(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

// --- display blocks

type DiffBlock = Extract<DisplayBlock, { type: 'diff' }>;

/** One diff per hunk, in the order they came (wire.md §6). */
export function diffsOf(blocks: readonly DisplayBlock[]): readonly Diff[] {
  return blocks.filter((block) => block.type === 'diff').map((block) => diffOf(block, blocks));
}

function diffOf(block: DiffBlock, among: readonly DisplayBlock[]): Diff {
  const { old_text: before, new_text: after } = block;
  const path = namedPath(block.path);
  if (block.is_summary) return { path, before, after, summary: true };
  if (before === '' && !isInsertion(block, among)) return { path, before: null, after };
  return {
    path,
    before,
    after,
    excerpt: {
      ...(isLine(block.old_start) ? { beforeLine: block.old_start } : {}),
      ...(isLine(block.new_start) ? { afterLine: block.new_start } : {}),
    },
  };
}

/** A hunk without a left side is a new file, unless there are lines above it or other hunks of the file. */
function isInsertion({ path, old_start }: DiffBlock, among: readonly DisplayBlock[]): boolean {
  return (isLine(old_start) && old_start > 1) || among.filter((one) => one.type === 'diff' && one.path === path).length > 1;
}

function isLine(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/** The list of things to do, when the blocks hold one. */
export function planOf(blocks: readonly DisplayBlock[]): Plan | undefined {
  const todo = blocks.findLast((block) => block.type === 'todo');
  return todo && { entries: todo.items.map(({ title, status }) => entryOf(title, status)) };
}

/** A state we have no sign for is said in words: it is neither done nor under way. */
function entryOf(text: string, status: string): PlanEntry {
  if (status === 'done' || status === 'completed') return { text, status: 'completed' };
  if (status === 'pending' || status === 'in_progress') return { text, status };
  return { text: `${text} (${status})`, status: 'pending' };
}

/** The content of a finished call: its diffs and notes for the user, then the text the model got. A plan is shown elsewhere. */
export function outputsOf(blocks: readonly DisplayBlock[], output: string | readonly ContentPart[], message: string): readonly Output[] {
  const shown = blocks.flatMap((block): readonly Output[] => {
    // A note that repeats the output would be on the card twice.
    if (block.type === 'todo' || (block.type === 'brief' && block.text === output)) return [];
    return block.type === 'diff' ? [{ kind: 'diff', diff: diffOf(block, blocks) }] : [{ kind: 'content', content: contentOf(block) }];
  });
  const told = typeof output === 'string' ? [{ type: 'text', text: output } as const] : output.map(fromPart);
  const texts = told.filter((content) => content.type !== 'text' || content.text !== '');
  if (shown.length === 0 && texts.length === 0 && message !== '') return [text(message)];
  return [...shown, ...texts.map((content) => ({ kind: 'content', content }) as const)];
}

/** A block other than a diff or a plan, as text. */
export function contentOf(block: Exclude<DisplayBlock, { type: 'diff' | 'todo' }>): Content {
  switch (block.type) {
    case 'brief':
      return { type: 'text', text: block.text };
    case 'shell':
      return { type: 'text', text: block.command };
    case 'background_task':
      return {
        type: 'text',
        text: t('In the background: {0}', `${block.description} (${block.status}, ${block.kind} ${block.task_id})`),
      };
    case 'unknown':
      return { type: 'raw', label: labelOf(block.value), value: block.value };
  }
}

function text(value: string): Output {
  return { kind: 'content', content: { type: 'text', text: value } };
}

// --- asks

/** Where an ask belongs: its turn, unless a background agent asks, and its call when that is known. */
export interface AskContext {
  readonly turnId?: TurnId;
  readonly call?: { readonly callId: CallId; readonly input?: unknown };
}

/** Approvals of background agents belong to no turn and outlive turns (wire.md §9.6). */
export function isBackground(request: { readonly source_kind?: string | null | undefined }): boolean {
  return request.source_kind === 'background_agent';
}

export function approvalOf(request: RequestPayload['ApprovalRequest'], context: AskContext): Approval {
  const asker = request.source_description || request.subagent_type;
  return {
    kind: 'approval',
    id: request.id,
    ...belongsTo(context),
    title: withoutMarks(request.description) || `${request.sender}: ${request.action}`,
    ...(asker ? { asker } : {}),
    toolKind: kindOf(request.sender),
    ...detailsOf(request, context.call),
    ...namedPaths(
      kindOf(request.sender),
      context.call?.input,
      diffsOf(request.display ?? []).map((one) => one.path),
    ),
    // "For this session" is kept by the text of the action, not by the command: the label names its extent.
    options: [
      { id: 'approve', label: t('Allow'), effect: 'allow_once' },
      {
        id: 'approve_for_session',
        label: t('Allow all “{0}” this session', actionText(request.action)),
        effect: 'allow_always',
      },
      { id: 'reject', label: t('Reject'), effect: 'reject_once' },
    ],
  };
}

/** The actions that servers of this protocol have, in the user's language; others as they are. */
function actionText(action: string): string {
  switch (action) {
    case 'run command':
      return t('Run in terminal');
    case 'edit file':
      return t('Edit');
    case 'edit file outside of working directory':
      return t('{0} (outside the workspace)', t('Edit'));
    default:
      return action;
  }
}

function belongsTo({ turnId, call }: AskContext) {
  return { ...(turnId === undefined ? {} : { turnId }), ...(turnId !== undefined && call ? { callId: call.callId } : {}) };
}

/**
 * Everything that an allowance would be for: nothing may be hidden behind the first block. What runs is unsure where several commands are shown,
 * another one than the call's arguments hold, or an unknown member beside it.
 */
function detailsOf(request: RequestPayload['ApprovalRequest'], call: AskContext['call']): Pick<Approval, 'detail' | 'beside'> {
  const blocks = request.display ?? [];
  const diffs = diffsOf(blocks);
  const input = kindOf(request.sender) === 'execute' ? commandInput(call?.input) : undefined;
  // Servers before 0.79 send no block; what will run is known from the call.
  const said = blocks.flatMap((block) => (block.type === 'shell' ? [block.command] : []));
  const commands = [...new Set([...said, ...(input ? [input.command] : [])])];
  const unsure = commands.length > 1 || input?.unsure || blocks.some((block) => block.type === 'unknown');
  const details: ApprovalDetail[] = commands.map((command) => ({
    type: 'command',
    command,
    ...(input?.cwd === undefined ? {} : { cwd: input.cwd }),
    ...(unsure ? { unsure: true } : {}),
  }));
  if (diffs.length > 0) details.push({ type: 'edit', diffs });
  const mcp = /^mcp:(.+)$/.exec(request.action);
  if (details.length === 0 && mcp) {
    const server = request.sender === mcp[1] ? 'mcp' : request.sender;
    details.push({ type: 'mcp', server, tool: mcp[1] ?? '', ...(call?.input === undefined ? {} : { input: call.input }) });
  }
  const others = input && otherArguments(call?.input);
  const texts = [...textsOf(blocks), ...(others ? [JSON.stringify(others, null, 2).slice(0, ARGUMENTS_KEPT)] : [])];
  const [detail, ...beside] = details;
  if (!detail) return { detail: { type: 'text', text: [request.description, ...texts].join('\n') } };
  if (texts.length > 0) beside.push({ type: 'text', text: texts.join('\n') });
  if (diffs.length > 0 && !input) beside.push(...runningMembers(call?.input, diffs));
  return { detail, ...(beside.length > 0 ? { beside } : {}) };
}

/** The text of blocks that are neither a command nor a diff. */
function textsOf(blocks: readonly DisplayBlock[]): readonly string[] {
  return blocks.flatMap((block) => {
    if (block.type === 'diff' || block.type === 'shell') return [];
    if (block.type === 'todo') return block.items.map((item) => item.title);
    const content = contentOf(block);
    return content.type === 'text' ? [content.text] : [JSON.stringify(content.type === 'raw' ? content.value : content)];
  });
}

/** Anything but an allowance is a rejection. Words for the agent go along where the server takes them. */
export function approvalAnswer(requestId: string, answer: Answer, feedback: boolean): AnswerResult['ApprovalRequest'] {
  const response =
    answer.kind === 'option' && (answer.optionId === 'approve' || answer.optionId === 'approve_for_session') ? answer.optionId : 'reject';
  const words = answer.kind === 'option' ? answer.feedback?.trim() : undefined;
  return { request_id: requestId, response, ...(response === 'reject' && feedback && words ? { feedback: words } : {}) };
}

/** Labels go back exactly as they came; a text of one's own is always possible. */
export function questionOf(request: RequestPayload['QuestionRequest'], context: AskContext): Question {
  const headers = request.questions.flatMap((item) => (item.header ? [item.header] : []));
  return {
    kind: 'question',
    id: request.id,
    ...belongsTo(context),
    title: headers.length > 0 ? [...new Set(headers)].join(', ') : t('Question'),
    fields: request.questions.map(
      (item, at): Field => ({
        id: String(at),
        label: item.question,
        ...(item.body ? { body: item.body } : {}),
        choices: item.options.map(({ label, description }) => ({ label, ...(description ? { description } : {}) })),
        ...(item.multi_select ? { many: true } : {}),
        free: true,
        required: true,
        ...(item.other_label || item.other_description
          ? { freeLabel: [item.other_label, item.other_description].filter(Boolean).join(': ') }
          : {}),
      }),
    ),
  };
}

/** All questions go in one reply; dismissed is an empty one. */
export function questionAnswer(request: RequestPayload['QuestionRequest'], answer: Answer): AnswerResult['QuestionRequest'] {
  const given = answer.kind === 'fields' ? answer.values : {};
  const isEmpty = request.questions.every((_item, at) => !given[String(at)]?.some((value) => value !== ''));
  const answers = isEmpty
    ? []
    : request.questions.map((item, at): [string, string] => [item.question, (given[String(at)] ?? []).join(', ')]);
  return { request_id: request.id, answers: Object.fromEntries(answers) };
}

/** A description is one line with code marks (wire.md §5.2); titles are plain text. */
function withoutMarks(description: string): string {
  return description.replaceAll('`', '');
}

// --- messages

/** An event as the server sends it, checked against what the client reads. */
export function eventMessage<K extends keyof EventPayload>(
  type: K,
  payload: EventPayload[K],
): { readonly type: K; readonly payload: EventPayload[K] } {
  return { type, payload };
}

/** Where a piece of text, of a thought or of a call's arguments has its text: by the next one of the same kind it goes on. */
export function textPath(message: object): readonly string[] | undefined {
  const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
  const { type, payload } = (params ?? {}) as { readonly type?: unknown; readonly payload?: unknown };
  if (method !== 'event') return undefined;
  if (type === 'ToolCallPart') return ARGUMENTS_PATH;
  const kind = type === 'ContentPart' ? (payload as { readonly type?: unknown } | null)?.type : undefined;
  return kind === 'text' ? TEXT_PATH : kind === 'think' ? THINK_PATH : undefined;
}
const TEXT_PATH = ['params', 'payload', 'text'] as const;
const THINK_PATH = ['params', 'payload', 'think'] as const;
const ARGUMENTS_PATH = ['params', 'payload', 'arguments_part'] as const;

// --- modes and the handshake

export function modeChoice(plan: boolean): ModeChoice {
  return {
    current: plan ? 'plan' : 'default',
    all: [
      { id: 'default', name: t('Default') },
      { id: 'plan', name: t('Plan'), description: t('Reads and plans; changes nothing') },
    ],
  };
}

/**
 * The answer to `initialize` as far as it makes sense: one odd member or entry is left out, and told, instead of sinking the session. A version
 * given as a number counts as its text. Undefined when the answer is no object.
 */
export function readInitialize(answer: unknown, odd: (what: string) => void): InitializeResult | undefined {
  const leftOut = (where: string, value: unknown): undefined => {
    if (value !== undefined && value !== null) odd(`${where}: ${(JSON.stringify(value) ?? typeof value).slice(0, 100)}`);
    return undefined;
  };
  const fields = (where: string, value: unknown): Readonly<Record<string, unknown>> | undefined =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : leftOut(where, value);
  const text = (where: string, value: unknown): string | undefined => (typeof value === 'string' ? value : leftOut(where, value));
  const list = <T>(where: string, value: unknown, read: (entry: unknown, where: string) => T | undefined): T[] | undefined => {
    if (!Array.isArray(value)) return leftOut(where, value);
    return value.flatMap((entry: unknown, at) => {
      if (entry === undefined || entry === null) odd(`${where}.${at}: ${entry}`);
      return read(entry, `${where}.${at}`) ?? [];
    });
  };
  const word = (entry: unknown, where: string): string | undefined => text(where, entry);

  const whole = fields('result', answer);
  if (!whole) return undefined;
  const version = typeof whole.protocol_version === 'number' ? String(whole.protocol_version) : whole.protocol_version;
  const server = fields('server', whole.server);
  const name = server && text('server.name', server.name);
  const external = fields('external_tools', whole.external_tools);
  return {
    protocol_version: text('protocol_version', version),
    server: name === undefined ? undefined : { name, version: text('server.version', server?.version) },
    slash_commands: list('slash_commands', whole.slash_commands, (entry, where) => {
      const command = fields(where, entry);
      const called = command && (text(`${where}.name`, command.name) || leftOut(where, command));
      if (!called) return undefined;
      const { description, aliases } = command;
      return {
        name: called,
        description: text(`${where}.description`, description),
        aliases: list(`${where}.aliases`, aliases, word),
      };
    }),
    external_tools: external && {
      accepted: list('external_tools.accepted', external.accepted, word),
      rejected: list('external_tools.rejected', external.rejected, (entry, where) => {
        const tool = fields(where, entry);
        const called = tool && (text(`${where}.name`, tool.name) || leftOut(where, tool));
        return called ? { name: called, reason: text(`${where}.reason`, tool.reason) } : undefined;
      }),
    },
  };
}

// --- messages, replies and faults

/** By hand, because every event passes here; its payload is checked by its own schema. */
export function envelopeOf(params: unknown): { readonly type: string; readonly payload: object } | undefined {
  if (typeof params !== 'object' || params === null) return undefined;
  const { type, payload } = params as { readonly type?: unknown; readonly payload?: unknown };
  return typeof type === 'string' && typeof payload === 'object' && payload !== null && !Array.isArray(payload)
    ? { type, payload }
    : undefined;
}

/** A reply as its schema has it. One that does not fit is a failure of the agent. */
export function readReply<M extends keyof Methods>(
  method: M,
  raw: unknown,
  failed: Failure | undefined,
): { readonly result?: Methods[M]['result']; readonly failed?: Failure } {
  if (failed) return { failed };
  const parsed = methods[method].result.safeParse(raw);
  if (parsed.success) return { result: parsed.data as Methods[M]['result'] };
  const message = `The agent's answer to ${method} is not one: ${parsed.error.issues[0]?.message ?? ''}`;
  return { failed: { kind: 'refused', code: codes.internal, message } };
}

const REMEDIES: Readonly<Record<number, readonly Remedy[]>> = {
  [codes.noModel]: ['configureModel', 'signIn', 'retry'],
  [codes.modelCannot]: ['retry'],
  [codes.modelService]: ['retry'],
  [codes.loginExpired]: ['configureModel', 'signIn', 'retry'],
  [codes.internal]: ['retry', 'showLog'],
  [codes.wrongState]: ['retry', 'restart'],
};
const EXPLANATIONS: Readonly<Record<number, () => string>> = {
  [codes.noModel]: () => t('The agent has no model configured.'),
  [codes.loginExpired]: () => t('The sign-in did not succeed.'),
  [codes.modelCannot]: () => t('This agent cannot do this.'),
};
/** Why a turn failed, for a user, and what they can do about it. */
export function faultOf({ code = 0, message: said }: Failure): Fault {
  const explanation = EXPLANATIONS[code]?.();
  // The agent's own message names the service and the reason, so nothing is added.
  const words = code === codes.loginExpired && said !== '' ? [said] : [explanation, said === explanation ? '' : said];
  const message = words.filter(Boolean).join(' ') || agentError();
  return { message, code: String(code), next: REMEDIES[code] ?? ['showLog'] };
}
