import type * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { agentError, answerCut, limitReached, t, unreadable } from '../../base/l10n.ts';
import type { ErrorAnswer, Failure } from '../../base/outcomes.ts';
import { decodedUri, pathOfUri, uriOfPath } from '../../base/paths.ts';
import { fenced, inOneLine } from '../../base/promptText.ts';
import type { TurnEnd, TurnStatus } from '../../conversation/step.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Content, Fault } from '../../session/model.ts';
import {
  AUTH_REQUIRED,
  audience,
  type ContentBlock,
  INVALID_PARAMS,
  type InitializeAnswer,
  initializeAnswer,
  LONGEST_ID,
  METHOD_NOT_FOUND,
  type PermissionRequest,
  type Plain,
  permissionRequest,
  qwenRecord,
  readRequest,
  type SessionAnswer,
  type SessionUpdate,
  sessionAnswer,
  type ToolContent,
  terminalName,
  terminalRequest,
  update,
  type WirePlanEntry,
  writeRequest,
} from './schema.ts';

/*
 * Brings the versions of the protocol into one form (docs/protocols/acp.md, "Versions"), and reads and writes what is alike in both:
 * content blocks and errors. Pure, and used by both ends: the agent's server writes what the client reads here.
 */

/** One version of the protocol. Behind it there is one form of everything. */
export interface Codec {
  readonly version: 1 | 2;
  readonly authenticate: string;
  readonly logout: string;
  readonly hello: z.ZodMiniType<InitializeAnswer>;
  readonly sessionAnswer: z.ZodMiniType<SessionAnswer>;
  readonly permission: z.ZodMiniType<PermissionRequest>;
  /** The client serves files and terminals. */
  readonly servesEditor: boolean;
  /** A prompt is answered when its turn has ended; otherwise at once, and an update tells the end. */
  readonly promptAnswersAtEnd: boolean;
  /** A message is one message whatever comes in between. */
  readonly messagesStay: boolean;
  /** undefined: a kind this build does not know, or one that cannot be read. */
  readUpdate(update: object): SessionUpdate | undefined;
  server(server: OfferedServer): object;
  /** How a conversation is continued; `replays`: the agent's record of it comes as updates. */
  resume(key: string, history: boolean, can: { readonly load: boolean; readonly resume: boolean }): ResumeRequest;
  /** The value of an option as it is set. */
  optionValue(value: string | boolean): object;
}
export interface ResumeRequest {
  readonly method: string;
  readonly more: object;
  readonly replays: boolean;
}
/** Our editor tools as a tool server. */
export type OfferedServer =
  | { readonly how: 'http'; readonly name: string; readonly url: string; readonly headers: readonly NameValue[] }
  | {
      readonly how: 'process';
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly NameValue[];
    };
export interface NameValue {
  readonly name: string;
  readonly value: string;
}

/** The members of a session/update that are read before its kind is known; undefined when one of them is missing. */
export function frameOf(params: unknown): { readonly sessionId: string; readonly update: { readonly sessionUpdate: string } } | undefined {
  const { sessionId, update: value } = (params ?? {}) as { readonly sessionId?: unknown; readonly update?: unknown };
  if (typeof sessionId !== 'string' || sessionId === '' || sessionId.length > LONGEST_ID) return undefined;
  if (typeof value !== 'object' || value === null || !('sessionUpdate' in value) || typeof value.sessionUpdate !== 'string')
    return undefined;
  return { sessionId, update: value as { readonly sessionUpdate: string } };
}

/** An update that both versions have alike. Text is nearly all that ever comes: it is checked by hand. */
export function readPlain(value: object): SessionUpdate | undefined {
  const { sessionUpdate, content, messageId } = value as { readonly [K in 'sessionUpdate' | 'content' | 'messageId']?: unknown };
  if (sessionUpdate === 'agent_message_chunk' || sessionUpdate === 'agent_thought_chunk') {
    const { type, text } = (content ?? {}) as { readonly type?: unknown; readonly text?: unknown };
    if (type === 'text' && typeof text === 'string')
      return { sessionUpdate, content: { type, text }, messageId: typeof messageId === 'string' ? messageId : null };
  }
  const parsed = update.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** Returns the subject of an update: the session, the prompt of a turn as the agent repeats it, or anything else of a turn. */
export function subjectOf(value: SessionUpdate): 'session' | 'prompt' | 'turn' {
  const { sessionUpdate } = value;
  if (sessionUpdate === 'user_message_chunk' || (sessionUpdate === 'message' && value.kind === 'prompt')) return 'prompt';
  return OF_TURN.has(sessionUpdate) || sessionUpdate === 'subagent_update' ? 'turn' : 'session';
}
/** Updates of a sub-agent that are shown: its texts and calls. Its plans and settings are its own. */
export function isOfChild({ sessionUpdate }: SessionUpdate): boolean {
  return OF_TURN.has(sessionUpdate) || sessionUpdate === 'terminal';
}
/** Updates beside a turn that only an answer of the model causes. */
export function isOfAnswer({ sessionUpdate }: SessionUpdate): boolean {
  return sessionUpdate === 'plan' || sessionUpdate === 'plan_update' || sessionUpdate === 'usage_update';
}
const OF_TURN: ReadonlySet<string> = new Set([
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'compaction_update',
  'compaction_summary_chunk',
  'message',
  'session_message',
  'session_message_chunk',
]);

/** Version 1, which nearly every agent speaks. */
export const version1: Codec = {
  version: 1,
  authenticate: 'authenticate',
  logout: 'logout',
  hello: initializeAnswer,
  sessionAnswer,
  permission: permissionRequest,
  servesEditor: true,
  promptAnswersAtEnd: true,
  messagesStay: false,
  readUpdate: readPlain,
  server: ({ how, ...server }) => (how === 'http' ? { type: 'http', ...server } : server),
  resume: (key, history, can) => {
    const silent = can.resume && (!history || !can.load);
    return { method: silent ? 'session/resume' : 'session/load', more: { sessionId: key }, replays: !silent };
  },
  optionValue: (value) => (typeof value === 'boolean' ? { type: 'boolean', value } : { value }),
};

/** The abilities of this window. Missing ones are not advertised. */
export interface ClientAbilities {
  /** It opens addresses outside the editor. */
  readonly links: boolean;
  /** It runs a login in a terminal that the user sees. */
  readonly logins: boolean;
}

/** The first request, for an agent of either version: it reads the members of the one it speaks. */
export function hello(newest: 1 | 2, client: { readonly name: string; readonly version: string }, can: ClientAbilities): object {
  const info = { name: client.name, version: client.version };
  const elicitation = { form: {}, ...(can.links ? { url: {} } : {}) };
  return {
    protocolVersion: newest,
    clientInfo: info,
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      ...(can.logins ? { auth: { terminal: true } } : {}),
      session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
      elicitation,
      // Not stable yet.
      plan: {},
      subagents: {},
      // Older than the standard, and what several agents look for.
      _meta: { terminal_output: true, ...(can.logins ? { 'terminal-auth': true } : {}) },
    },
    // In version 2 files and terminals are the agent's own.
    ...(newest === 2 ? { info, capabilities: { ...(can.logins ? { auth: { terminal: {} } } : {}), elicitation } } : {}),
  };
}

// --- content

/** The content that the agent accepts in a prompt, beyond text and links. */
export interface Accepts {
  readonly image: boolean;
  readonly audio: boolean;
  readonly embedded: boolean;
}

export function toContent(block: ContentBlock): Content {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? { type: 'text', text: block.text } : raw(block);
    case 'image':
    case 'audio':
      return typeof block.data === 'string' && typeof block.mimeType === 'string'
        ? { type: block.type, mime: block.mimeType, data: block.data }
        : raw(block);
    case 'resource_link':
      return typeof block.uri === 'string' ? linkTo(block.uri, block.title ?? block.name) : raw(block);
    case 'resource':
      return 'resource' in block ? embedded(block as ResourceBlock) : raw(block);
    default:
      return raw(block);
  }
}
type ResourceBlock = Extract<ContentBlock, { type: 'resource' }>;

function raw(block: ContentBlock): Content {
  return { type: 'raw', label: String(block.type), value: block };
}

function linkTo(uri: string, title: unknown): Content {
  const file = fileOf(uri);
  if (file) return { type: 'file', ...file };
  return { type: 'link', uri, ...(typeof title === 'string' && title ? { title } : {}) };
}

function embedded(block: ResourceBlock): Content {
  const { uri, text } = block.resource;
  const file = fileOf(uri);
  if (!file) return { type: 'link', uri };
  return { type: 'file', ...file, ...(text == null ? {} : { text }) };
}

/** The path and lines a file uri names: file:///a/b.ts#L10-L20. */
function fileOf(uri: string): { readonly path: string; readonly lines?: readonly [number, number] } | undefined {
  const untitled = /^untitled:([^/#]+)/.exec(uri)?.[1];
  const path = untitled === undefined ? pathOfUri(uri) : (decodedUri(untitled) ?? uri);
  if (path === uri) return undefined;
  const lines = /#L(\d+)(?:[-:]L?(\d+))?$/.exec(uri);
  const from = Number(lines?.[1]);
  return { path, ...(lines ? { lines: [from, Number(lines[2] ?? from)] as const } : {}) };
}

/** A prompt as blocks. Content that the agent does not accept becomes a note in text, or the file's text in a fence. */
export function toBlocks(prompt: readonly Content[], accepts: Accepts): readonly ContentBlock[] {
  return prompt.map((content): ContentBlock => {
    switch (content.type) {
      case 'text':
        return { type: 'text', text: content.text };
      case 'image':
      case 'audio':
        if (accepts[content.type]) return { type: content.type, data: content.data, mimeType: content.mime };
        return { type: 'text', text: `[${content.type === 'image' ? 'An image' : 'A sound'} was left out: this agent does not take it.]` };
      case 'link':
        return { type: 'resource_link', uri: content.uri, name: content.title || content.uri };
      case 'file':
        return fileBlock(content, accepts);
      case 'raw':
        return { type: 'text', text: JSON.stringify(content.value) };
    }
  });
}

function fileBlock(content: Extract<Content, { type: 'file' }>, accepts: Accepts): ContentBlock {
  const uri = uriOfPath(content.path);
  // Agents open the address, which names no lines.
  const range = content.lines ? `:${content.lines[0]}-${content.lines[1]}` : '';
  if (content.text === undefined)
    return { type: 'resource_link', uri, name: inOneLine(content.path.split(/[\\/]/).at(-1) || content.path) + range };
  const lines = content.lines ? `#L${content.lines[0]}-L${content.lines[1]}` : '';
  if (accepts.embedded) return { type: 'resource', resource: { uri: `${uri}${lines}`, text: content.text } };
  return { type: 'text', text: `${inOneLine(content.path)}${range}\n${fenced(content.text)}\n` };
}

/** The message of a piece in the user's name, as far as the agent tells them apart. Qwen Code names its own record of it instead. */
export function recordedMessage({ messageId, _meta }: Extract<SessionUpdate, { sessionUpdate: 'user_message_chunk' }>): string | null {
  if (messageId != null) return messageId;
  const record = qwenRecord.safeParse(_meta);
  return record.success ? (record.data.qwenTranscript.sourceRecordIds[0] ?? null) : null;
}

/** True of a block in the user's name that is not for the user: a note to the model, or one marked as such (OpenCode's readings of files). */
export function isNote(block: ContentBlock): boolean {
  const readers = 'annotations' in block ? audience.safeParse(block.annotations).data?.audience : undefined;
  if (readers && readers.length > 0 && !readers.includes('user')) return true;
  return block.type === 'text' && typeof block.text === 'string' && isReminder(block.text);
}

/** True of a note to the model: text that is one block in tags, a placeholder for a call's result (Gemini CLI's record), or a stop (Claude). */
export function isReminder(text: string): boolean {
  const tag = /^\s*<([a-z][\w-]*)/i.exec(text)?.[1];
  if (tag !== undefined) return text.trimEnd().toLowerCase().endsWith(`</${tag.toLowerCase()}>`);
  return /^\[(?:Function (?:Call|Response): [^\]\n]*|Request interrupted by user(?: for tool use)?)\]$/.test(text);
}

/** The blocks of a message in the user's name that are neither an echo of the prompt nor a note to the model. */
export function newBlocks(blocks: readonly ContentBlock[], promptText: string): readonly ContentBlock[] {
  return blocks.filter((block) => {
    const content = toContent(block);
    return !isNote(block) && (content.type !== 'text' || !promptText.includes(content.text.trim()));
  });
}

const TEXT_PATH = ['params', 'update', 'content', 'text'] as const;
/**
 * The path to the text in a chunk of an answer or thought. Chunks of a prompt are not joined: only blanks tell whether they belong together.
 */
export function textPath(message: object): readonly string[] | undefined {
  const { update } = ((message as { readonly params?: unknown }).params ?? {}) as { readonly update?: unknown };
  const { sessionUpdate: kind, content } = (update ?? {}) as { readonly sessionUpdate?: unknown; readonly content?: unknown };
  if (kind !== 'agent_message_chunk' && kind !== 'agent_thought_chunk') return undefined;
  return (content as { readonly type?: unknown } | null)?.type === 'text' ? TEXT_PATH : undefined;
}

// --- terminals of the agent's own

/** A change of a terminal, in the session's terms. */
export type TerminalUpdate = Omit<Extract<SessionEvent, { type: 'terminal.changed' }>, 'type'>;

/** In version 1 they travel in the meta of calls: what runs in them, what is printed and how they end, output maybe before the announcement. */
export function terminalsIn(meta: Readonly<Record<string, unknown>>): readonly TerminalUpdate[] {
  const value: TerminalUpdate[] = [];
  const info = terminalPart(meta.terminal_info);
  if (info) value.push({ terminal: { id: info.terminal_id, ...(typeof info.command === 'string' ? { command: info.command } : {}) } });
  const output = terminalPart(meta.terminal_output);
  if (output && typeof output.data === 'string') value.push({ terminal: { id: output.terminal_id }, delta: output.data });
  const end = terminalPart(meta.terminal_exit);
  if (end) {
    const code = typeof end.exit_code === 'number' ? end.exit_code : null;
    const signal = typeof end.signal === 'string' ? end.signal : null;
    value.push({ terminal: { id: end.terminal_id, exit: { code, signal } } });
  }
  return value;
}
function terminalPart(value: unknown) {
  if (typeof value !== 'object' || value === null || !('terminal_id' in value) || typeof value.terminal_id !== 'string') return undefined;
  return value as Readonly<Record<string, unknown>> & { readonly terminal_id: string };
}

// --- what an agent writes, in version 1: the other direction of what is read above

/** An update as it is written. The types are those that the client's schemas read. */
export type WrittenUpdate = Plain;
/** The params of a `session/update`, as `frameOf` reads them. */
export const updateParams = (sessionId: string, value: WrittenUpdate): object => ({ sessionId, update: value });
type Speaker = 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';
export const contentUpdate = (sessionUpdate: Speaker, content: ContentBlock): WrittenUpdate => ({ sessionUpdate, content });
export const textUpdate = (speaker: Speaker, text: string): WrittenUpdate => contentUpdate(speaker, { type: 'text', text });
export const planUpdate = (entries: readonly WirePlanEntry[]): WrittenUpdate => ({ sessionUpdate: 'plan', entries });

/** A call, or what has changed of one. */
export type WrittenCall = Omit<Extract<WrittenUpdate, { sessionUpdate: 'tool_call' }>, 'sessionUpdate'>;
export const announcedCall = (call: WrittenCall): WrittenUpdate => ({ sessionUpdate: 'tool_call', ...call });
export const changedCall = (call: WrittenCall): WrittenUpdate => ({ sessionUpdate: 'tool_call_update', ...call });
export const textItem = (text: string): ToolContent => ({ type: 'content', content: { type: 'text', text } });
export const terminalItemOf = (terminalId: string): ToolContent => ({ type: 'terminal', terminalId });
/** The edit of one file, as whole texts; `before` is null when there was no file. */
export const diffItemOf = (path: string, before: string | null, after: string): ToolContent => ({
  type: 'diff',
  path,
  oldText: before,
  newText: after,
});

/** The params of a `session/request_permission`, as the schema `permissionRequest` reads them, without the session. */
export interface PermissionParams {
  readonly toolCall: WrittenCall;
  readonly options: readonly { readonly optionId: string; readonly name: string; readonly kind: string }[];
}
/** The answer to one, which `permissionReply` writes; undefined when it is malformed. */
export function readPermissionReply(answer: unknown): { readonly optionId: string } | 'cancelled' | undefined {
  const { outcome } = (answer ?? {}) as { readonly outcome?: { readonly outcome?: unknown; readonly optionId?: unknown } | null };
  if (outcome?.outcome === 'cancelled') return 'cancelled';
  return outcome?.outcome === 'selected' && typeof outcome.optionId === 'string' ? { optionId: outcome.optionId } : undefined;
}

// --- ends and errors

/** Why a turn ended, in our words. An unknown reason is a normal end. */
export function endOf(reason: string): { readonly status: TurnStatus } & TurnEnd {
  const limit = (message: string) => ({ status: 'done' as const, error: { message, next: ['continue' as const] } });
  switch (reason) {
    case 'cancelled':
      return { status: 'cancelled' };
    case 'max_tokens':
      return limit(answerCut('length'));
    case 'max_turn_requests':
      return limit(limitReached('steps'));
    case 'refusal': {
      const message = t('The agent refused. It has forgotten this message and all it did about it.');
      return { status: 'failed', forgotten: true, error: { message } };
    }
    default:
      return { status: 'done' };
  }
}

/** An agent's error as a sentence for the user. Agents put details in several places, and one puts JSON into the message. */
export function faultOf({ kind, code, message: said, data }: Failure): Fault {
  if (kind !== 'refused') return { message: said };
  const details = ['details', 'message'].map((key) => stringAt(data, key)).find(Boolean);
  const message = innerMessage(said) || agentError();
  const text = details && !message.includes(details) ? `${message}: ${details}` : message;
  return {
    message: text.slice(0, 4000),
    code: String(code),
    ...(code === AUTH_REQUIRED || code === 401
      ? { next: ['retry', 'signIn', 'showLog'] as const }
      : { next: ['retry', 'showLog'] as const }),
  };
}

function innerMessage(message: string): string {
  if (!message.trimStart().startsWith('{') && !message.trimStart().startsWith('[')) return message;
  try {
    const value: unknown = parseJson(message);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    const inner = stringAt((first as { readonly error?: unknown } | undefined)?.error, 'message') ?? stringAt(first, 'message');
    return inner ?? message;
  } catch {
    return message;
  }
}

function stringAt(value: unknown, key: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found = (value as Readonly<Record<string, unknown>>)[key];
  return typeof found === 'string' && found ? found : undefined;
}

// --- requests of the agent

const EDITOR_REQUESTS = {
  'fs/read_text_file': readRequest,
  'fs/write_text_file': writeRequest,
  'terminal/create': terminalRequest,
  'terminal/output': terminalName,
  'terminal/wait_for_exit': terminalName,
  'terminal/kill': terminalName,
  'terminal/release': terminalName,
};
export type TerminalRequest = z.output<typeof terminalRequest>;
type EditorRequest = z.output<(typeof EDITOR_REQUESTS)[keyof typeof EDITOR_REQUESTS]>;
type ReadRequest =
  | { readonly request: EditorRequest; readonly refusal?: never }
  | { readonly refusal: ErrorAnswer; readonly request?: never };

/** A request about files and terminals, or why it is refused. */
export function readEditorRequest({ servesEditor }: Codec, method: string, params: unknown): ReadRequest {
  const refused = (code: number, message: string): ReadRequest => ({ refusal: { code, message } });
  const schema = Object.hasOwn(EDITOR_REQUESTS, method) ? EDITOR_REQUESTS[method as keyof typeof EDITOR_REQUESTS] : undefined;
  if (!schema) return refused(METHOD_NOT_FOUND, `Unknown method: ${method}`);
  if (!servesEditor) return refused(METHOD_NOT_FOUND, 'Files and terminals are not part of this version of the protocol.');
  const parsed = schema.safeParse(params);
  return parsed.success ? { request: parsed.data } : refused(INVALID_PARAMS, badParams(method, parsed.error));
}
/** Describes for the agent why its request is malformed. */
export function badParams(method: string, error: Parameters<typeof misfit>[1]): string {
  const { message = '', path = [] } = (error.issues[0] ?? {}) as { readonly message?: string; readonly path?: readonly PropertyKey[] };
  return `${method}: ${path.map(String).join('.')} ${message}`.trim();
}

/** A sentence about an answer that does not fit the protocol: which one, and the path of its first mistake. */
export function misfit(method: string, error: { readonly issues: readonly { readonly path: readonly PropertyKey[] }[] }): string {
  const where = error.issues[0]?.path.map(String).join('.');
  return unreadable(`${method}${where ? ` (${where})` : ''}`);
}
