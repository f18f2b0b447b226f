import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import type * as schema from './schema.ts';

/*
 * The lines of both dialects, in both directions: the client writes with one half and reads with the other, parley-agent's server the other way round
 * (docs/protocols/qwen.md).
 */

/** One line: a JSON object whose members have not been looked at. */
export type Line = Readonly<Record<string, unknown>>;
export type QwenDialect = 'message' | 'envelope';

export function isRecord(value: unknown): value is Line {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
/** An object as it is, anything else as an empty one. */
export function recordOf(value: unknown): Line {
  return isRecord(value) ? value : {};
}

// --- the control channel: requests with an id that have exactly one answer, in both directions (qwen.md §3.3, §4.8)

export interface ControlRequest {
  readonly id: string;
  readonly subtype: string;
  readonly payload: Line;
}
/** `message` is empty when the other side gave no reason. */
export type ControlReply = { readonly ok: true; readonly payload: unknown } | { readonly ok: false; readonly message: string };
/** The decision about a request to use a tool. */
export type ToolDecision =
  | { readonly allow: true; readonly input: unknown; readonly permissions: readonly schema.Suggestion[] }
  | { readonly allow: false; readonly message: string };

const head = z.object({ request_id: z.string().check(z.minLength(1), z.maxLength(1024)) });

/** Nested in the message dialect, flat in the envelope dialect. */
export function requestLine(dialect: QwenDialect, id: string, subtype: string, payload: object): Line {
  if (dialect === 'message') return { type: 'control_request', request_id: id, request: { subtype, ...payload } };
  return { type: 'control_request', request_id: id, subtype, ...payload };
}

/** A request, nested (`request: {subtype}`) or flat; undefined when it is neither. */
export function readRequest(line: Line): ControlRequest | undefined {
  if (line.type !== 'control_request') return undefined;
  const parsed = head.safeParse(line);
  if (!parsed.success) return undefined;
  const payload = isRecord(line.request) ? line.request : line;
  const { subtype } = payload;
  return typeof subtype === 'string' ? { id: parsed.data.request_id, subtype, payload } : undefined;
}

/** The id of a request that cannot be read, for the answer; undefined when there is none to answer. */
export function unreadableId(line: Line): string | number | undefined {
  const { request_id: id } = line;
  return typeof id === 'number' || (typeof id === 'string' && id !== '' && id.length <= 1024) ? id : undefined;
}

/**
 * The answer in a `control_response`, and the id of the request that it answers. With a dialect only that dialect's places count, as agents have it; a
 * client takes both.
 */
export function readReply(line: Line, dialect?: QwenDialect): { readonly id: string; readonly reply: ControlReply } | undefined {
  const response = recordOf(line.response);
  const inside = dialect === 'envelope' ? undefined : response.request_id;
  const id = inside ?? (dialect === 'message' ? undefined : line.request_id);
  if (line.type !== 'control_response' || typeof id !== 'string') return undefined;
  if (response.subtype !== 'success') return { id, reply: { ok: false, message: errorText(response.error) } };
  return { id, reply: { ok: true, payload: response.response ?? response.result } };
}

/** An error is a text, or an object with one; empty when there is none. */
export function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return isRecord(error) && typeof error.message === 'string' ? error.message : '';
}

/** The message dialect has the id inside, the envelope dialect outside. */
export function successLine(dialect: QwenDialect, id: string, result: unknown): Line {
  if (dialect === 'message') return { type: 'control_response', response: { subtype: 'success', request_id: id, response: result } };
  return { type: 'control_response', request_id: id, response: { subtype: 'success', result } };
}
/** `asText`: the other side wants the bare message. */
export function errorLine(dialect: QwenDialect, id: string | number, message: string, asText: boolean): Line {
  const error = { message, retryable: false };
  if (dialect === 'envelope') return { type: 'control_response', request_id: id, response: { subtype: 'error', error } };
  return { type: 'control_response', response: { subtype: 'error', request_id: id, error: asText ? message : error } };
}
/** An error in a shape that both dialects understand. */
export function anyErrorLine(id: string, message: string): Line {
  return { type: 'control_response', request_id: id, response: { subtype: 'error', request_id: id, error: { message, retryable: false } } };
}

/** The client's message with a refusal to which the user added no words. */
export const CLIENT_WORDS = {
  refused: 'The user did not allow this.',
  /** The client has written what the user made of the proposal. */
  applied: 'The user applied an edited version of this change; read the file again.',
} as const;

/** The verbs are exact: agents take every other word for a refusal. */
export function permissionLine(dialect: QwenDialect, id: string, decision: ToolDecision): Line {
  if (dialect === 'envelope') {
    const result = decision.allow ? { behavior: 'approve', message: '' } : { behavior: 'deny', message: decision.message };
    return successLine(dialect, id, result);
  }
  if (!decision.allow) return successLine(dialect, id, { behavior: 'deny', message: decision.message });
  const permissions = decision.permissions.length > 0 ? { updatedPermissions: decision.permissions } : {};
  return successLine(dialect, id, { behavior: 'allow', updatedInput: decision.input, ...permissions });
}

/** Reads the decision about a tool: everything but a clear yes is a no. */
export function readDecision(dialect: QwenDialect, payload: unknown): ToolDecision {
  const { behavior, message, updatedInput } = recordOf(payload);
  const verb = String(behavior).toLowerCase();
  // Each dialect has a verb of its own; Qwen Code refuses the other one.
  if (verb === 'allow' || (verb === 'approve' && dialect === 'envelope')) return { allow: true, input: updatedInput, permissions: [] };
  return { allow: false, message: typeof message === 'string' ? message : '' };
}

/** The arguments of a tool, which may be JSON text. */
export function argumentsIn(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {};
  try {
    const parsed = parseJson(value);
    return isRecord(parsed) ? parsed : { text: value };
  } catch {
    return { text: value };
  }
}

// --- which dialect

/** Returns the dialect that a line of the agent proves; undefined when it proves none. */
export function dialectOf(line: Line, initId: string): QwenDialect | undefined {
  const { type, object } = line;
  if (object === 'chat.completion' || object === 'chat.completion.chunk') return 'envelope';
  if (type === undefined) return isRecord(line.error) ? 'envelope' : undefined;
  if (typeof type !== 'string') return undefined;
  if (type === 'system') return 'message';
  if (type === 'result') return 'duration_ms' in line ? 'message' : undefined;
  if (type.startsWith('result/') || type.startsWith('x-qwen-')) return 'envelope';
  if (type !== 'control_response') return undefined;
  if (line.request_id !== undefined) return 'envelope';
  const { response } = line;
  if (!isRecord(response)) return undefined;
  if (response.request_id === initId) return 'message';
  return response.subtype === 'error' ? 'envelope' : undefined;
}

/** The dialect of a client, by its first line. */
export function clientDialectOf({ type }: Line): QwenDialect {
  return type === 'control_request' || type === 'user' ? 'message' : 'envelope';
}

// --- lines of an envelope client (qwen.md §4)

export function heartbeatRequest(session: string): Line {
  return { type: 'heartbeat_request', session_id: session };
}
/** The one line without a `type`. */
export function chatRequest(request: schema.ChatRequest): Line {
  return request;
}
export function hintRequest(request: Omit<schema.HintRequest, 'type'>): Line {
  return { type: 'command_hint_request', ...request };
}
export function hintCancel(session: string, prompt: string): Line {
  return { type: 'command_hint_cancel', session_id: session, prompt_id: prompt };
}
export function cancelRequest(session: string, prompt: string | undefined): Line {
  return { type: 'control/cancel', session_id: session, ...(prompt === undefined ? {} : { prompt_id: prompt }), reason: 'escape' };
}
/** The name of the n-th prompt of a session; hints have names of their own kind. */
export function promptName(session: string, count: number | string): string {
  return `${session}########${count}`;
}
/** The session and the count in the name of a prompt; undefined when it is named otherwise. */
export function readPromptName(name: string): { readonly session: string; readonly count: number } | undefined {
  const found = /^(.*)########(\d+)$/s.exec(name);
  return found ? { session: found[1] ?? '', count: Number(found[2]) } : undefined;
}

// --- lines of an envelope agent (qwen.md §4)

/** One completion or chunk: the members that all have, one choice, and its additions. */
export interface CompletionSpec {
  readonly chunks: boolean;
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  /** The members of the message, or of the delta. */
  readonly said: Line;
  readonly finish: string | null;
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
  readonly metadata?: Line | undefined;
}
export function completionLine({ chunks, id, created, model, said, finish, usage, metadata }: CompletionSpec): Line {
  return {
    object: chunks ? 'chat.completion.chunk' : 'chat.completion',
    id,
    created,
    model,
    choices: [{ index: 0, ...(chunks ? { delta: said } : { message: { role: 'assistant', ...said } }), finish_reason: finish }],
    ...(usage ? { usage: { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output } } : {}),
    ...(metadata ? { metadata } : {}),
  };
}
export function fatalLine(message: string, code: string, param: string | null): Line {
  return { error: { message, type: 'invalid_request_error', param, code } };
}

/** An annotation, or a line of its own. */
export type Annotation = Line & { readonly type: `x-qwen-${string}` };
export type LogScope = 'system' | 'tool' | 'debug';

/** Output of a command, a log message of the program, or (`exitCode`) its end. */
export function terminalNote(note: {
  readonly channel: 'stdout' | 'stderr';
  readonly source: 'tool' | 'console' | 'system';
  readonly text: string;
  readonly scope: LogScope;
  readonly prompt: string;
  readonly callId?: string;
  readonly level?: string;
  readonly exitCode?: number;
}): Annotation {
  const { text, ansi } = withoutColours(note.text);
  return {
    type: 'x-qwen-terminal',
    channel: note.channel,
    source: note.source,
    text,
    spans: spansOf(text.length, ansi),
    ansi,
    console_level: note.level ?? null,
    exit_code: note.exitCode ?? null,
    prompt_id: note.prompt,
    log_scope: note.scope,
    ...(note.callId === undefined ? {} : { tool_call_id: note.callId }),
  };
}
/** Theme tokens of the terminal program by the colours they are printed in (SGR). */
const THEME: Readonly<Record<string, string>> = {
  '31': 'AccentRed',
  '32': 'AccentGreen',
  '33': 'AccentYellow',
  '34': 'AccentBlue',
  '35': 'AccentPurple',
  '36': 'AccentCyan',
  '90': 'Gray',
  '94': 'LightBlue',
};
interface Span {
  readonly start: number;
  readonly end: number;
  readonly style: { readonly theme_token?: string; readonly bold?: true };
}
/** The same colours as spans of the theme; none when a colour has no token, because a client that reads spans reads nothing else. */
function spansOf(length: number, ansi: readonly { readonly offset: number; readonly code: string }[]): readonly Span[] {
  const spans: Span[] = [];
  let style: Span['style'] = {};
  for (const [at, { offset, code }] of ansi.entries()) {
    for (const one of code.slice(2, -1).split(';')) {
      const token = THEME[one];
      if (one === '' || one === '0') style = {};
      else if (one === '1') style = { ...style, bold: true };
      else if (one === '39') style = style.bold ? { bold: true } : {};
      else if (one === '22') style = style.theme_token === undefined ? {} : { theme_token: style.theme_token };
      else if (token === undefined) return [];
      else style = { ...style, theme_token: token };
    }
    const end = ansi[at + 1]?.offset ?? length;
    if (end > offset && Object.keys(style).length > 0) spans.push({ start: offset, end, style });
  }
  return spans;
}
/** Colours come beside the text, each with its place in it. */
function withoutColours(text: string): {
  readonly text: string;
  readonly ansi: readonly { readonly offset: number; readonly code: string }[];
} {
  const ansi: { readonly offset: number; readonly code: string }[] = [];
  let plain = '';
  for (const piece of text.split(/(\u001b\[[0-9;]*m)/)) {
    if (piece.startsWith('\u001b[') && piece.endsWith('m')) ansi.push({ offset: plain.length, code: piece });
    else plain += piece;
  }
  return { text: plain, ansi };
}
/** The status words of a call. */
export type DisplayStatus = 'Pending' | 'Confirming' | 'Executing' | 'Success' | 'Error' | 'Canceled';
export function toolDisplay(display: {
  readonly callId: string;
  readonly session: string;
  readonly status: DisplayStatus;
  readonly result: schema.Display | null;
  /** The change, command or plan that waits for approval. */
  readonly confirmation?: Line;
  /** Milliseconds since the epoch. */
  readonly at: number;
}): Annotation {
  return {
    type: 'x-qwen-tool-display',
    tool_call_id: display.callId,
    session_id: display.session,
    status: display.status,
    result_display: display.result && { log_scope: 'tool', ...display.result },
    confirmation: display.confirmation ?? null,
    pending: display.status === 'Pending' || display.status === 'Confirming',
    timestamp: display.at,
  };
}
/** A thought whose first words are bold has them as its subject. */
export function thoughtNote(text: string): Annotation {
  const [, subject = '', description = text] = /^\*\*([^*\n]+)\*\*\s*([\s\S]*)$/.exec(text) ?? [];
  return { type: 'x-qwen-thought', subject, description };
}
export function sessionEvent(event: string, message?: string, tokens?: { readonly from: number; readonly to: number }): Annotation {
  return {
    type: 'x-qwen-session-event',
    event,
    ...(message === undefined ? {} : { message }),
    ...(tokens ? { metrics: { original_tokens: tokens.from, compressed_tokens: tokens.to } } : {}),
  };
}

/** The session and the prompt that a result belongs to. */
export interface Names {
  readonly session: string;
  readonly prompt: string;
}
export function commandResult(names: Names, command: Line, result: Line, metadata?: Line): Line {
  const of = { session_id: names.session, prompt_id: names.prompt };
  return { type: 'result/command', ...of, command: { kind: 'slash', ...command }, result, ...(metadata ? { metadata } : {}) };
}
export function heartbeatResult(session: string, seconds: number): Line {
  return { type: 'result/heartbeat', session_id: session, status: 'ok', ts: seconds };
}
export function cancelResult(names: Names, status: 'ok' | 'noop', message?: string): Line {
  const of = { session_id: names.session, prompt_id: names.prompt };
  return { type: 'result/cancel', ...of, status, ...(message === undefined ? {} : { message }) };
}
export interface HintSuggestion {
  readonly label: string;
  readonly value: string;
  readonly description?: string;
}
/** The answer to a request for hints. */
export type HintAnswer =
  | { readonly status: 'ok'; readonly suggestions: readonly HintSuggestion[]; readonly perfect: boolean }
  | { readonly status: 'loading' }
  | { readonly status: 'error'; readonly message: string };
export function hintResult(session: string, request: { readonly prompt_id: string; readonly trigger: string }, answer: HintAnswer): Line {
  const of = { type: 'result/command_hint', session_id: session, prompt_id: request.prompt_id, trigger: request.trigger };
  const head = { ...of, status: answer.status };
  if (answer.status === 'ok') return { ...head, suggestions: answer.suggestions, metadata: { is_perfect_match: answer.perfect } };
  return { ...head, ...(answer.status === 'error' ? { message: answer.message } : {}), suggestions: [] };
}
