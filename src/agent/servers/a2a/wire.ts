import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { LENGTHS, message as messageSchema } from '../../../protocols/a2a/schema.ts';
import type { SlashCommand } from '../../commands.ts';
import type { PermissionAnswer } from '../../frontend.ts';

/*
 * A2A as this server writes and reads it, in version 0.3 and 1.0 (docs/protocols/a2a.md §4). The rest of the server knows one kind of objects; what
 * a version calls them, and which errors it has, stands here.
 */

export type A2aVersion = '0.3' | '1.0';
export type Json = Readonly<Record<string, unknown>>;

export type State = 'submitted' | 'working' | 'input-required' | 'completed' | 'canceled' | 'failed';
export type A2aPart = { readonly text: string } | { readonly data: Json };
export interface A2aMessage {
  readonly messageId: string;
  readonly role: 'user' | 'agent';
  readonly parts: readonly A2aPart[];
  readonly taskId?: string;
  readonly contextId?: string;
  readonly metadata?: Json;
}
export interface Status {
  readonly state: State;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly message?: A2aMessage;
}
/** A task as it stands, with as much of its history as is wanted. */
export interface TaskRecord {
  readonly id: string;
  readonly contextId: string;
  readonly status: Status;
  readonly history: readonly A2aMessage[];
}
/** `final`: nothing follows until somebody says something. */
export interface TaskStatusUpdate {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: Status;
  readonly final: boolean;
  readonly metadata: Json;
}
/** Where notifications go. */
export interface PushConfig {
  readonly id: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials: string };
}

/** An error of JSON-RPC. Clients of 1.0 get the `reason`. */
export class A2aError extends Error {
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}
export const invalidRequest = (message: string) => new A2aError(-32600, 'INVALID_REQUEST', message);
export const invalidParams = (message: string) => new A2aError(-32602, 'INVALID_PARAMS', message);
export const methodNotFound = (method: string) => new A2aError(-32601, 'METHOD_NOT_FOUND', `Method not found: ${method}`);
export const taskNotFound = (id: unknown) => new A2aError(-32001, 'TASK_NOT_FOUND', `Task not found: ${String(id)}`);
export const notCancelable = (id: string) => new A2aError(-32002, 'TASK_NOT_CANCELABLE', `Task not cancelable: ${id}`);
export const unsupported = (message: string) => new A2aError(-32004, 'UNSUPPORTED_OPERATION', message);
export const wrongContent = (message: string) => new A2aError(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', message);
export const noExtendedCard = () => new A2aError(-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'There is no extended agent card.');
export const wrongVersion = (version: string) =>
  new A2aError(-32009, 'VERSION_NOT_SUPPORTED', `A2A ${version} is not supported. Supported versions: 0.3, 1.0`);

/** The extension was not named in the header. Only 1.0 has an error of its own for that. */
export function extensionRequired(version: A2aVersion, uri: string): A2aError {
  const message = `The extension ${uri} is required.`;
  return version === '1.0' ? new A2aError(-32008, 'EXTENSION_SUPPORT_REQUIRED', message) : invalidRequest(message);
}
/** The task takes no more messages. */
export function taskIsOver(version: A2aVersion, id: string, state: State): A2aError {
  const message = `Task ${id} is in a terminal state (${state}) and cannot be modified.`;
  return version === '1.0' ? unsupported(message) : invalidRequest(message);
}

export function errorOn(version: A2aVersion, error: unknown): Json {
  if (!(error instanceof A2aError)) return { code: -32603, message: error instanceof Error ? error.message : 'Internal error' };
  const { code, message, reason } = error;
  if (version === '0.3') return { code, message };
  return { code, message, data: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }] };
}

// --- methods

const METHODS = {
  '0.3': {
    'message/send': 'send',
    'message/stream': 'stream',
    'tasks/get': 'get',
    'tasks/cancel': 'cancel',
    'tasks/resubscribe': 'subscribe',
    'tasks/pushNotificationConfig/set': 'pushSet',
    'tasks/pushNotificationConfig/get': 'pushGet',
    'tasks/pushNotificationConfig/list': 'pushList',
    'tasks/pushNotificationConfig/delete': 'pushDelete',
    'agent/getAuthenticatedExtendedCard': 'extendedCard',
    'commands/get': 'commands',
    'command/execute': 'execute',
  },
  '1.0': {
    SendMessage: 'send',
    SendStreamingMessage: 'stream',
    GetTask: 'get',
    ListTasks: 'list',
    CancelTask: 'cancel',
    SubscribeToTask: 'subscribe',
    CreateTaskPushNotificationConfig: 'pushSet',
    GetTaskPushNotificationConfig: 'pushGet',
    ListTaskPushNotificationConfigs: 'pushList',
    DeleteTaskPushNotificationConfig: 'pushDelete',
    GetExtendedAgentCard: 'extendedCard',
    'commands/get': 'commands',
    'command/execute': 'execute',
  },
} as const;
type Names = (typeof METHODS)[A2aVersion];
export type Operation = { [V in keyof Names]: Names[V] }[keyof Names] | (typeof METHODS)['1.0'][keyof (typeof METHODS)['1.0']];

export function operationOf(version: A2aVersion, method: string): Operation {
  const names: Readonly<Record<string, Operation>> = METHODS[version];
  if (!Object.hasOwn(names, method)) throw methodNotFound(method);
  return names[method] as Operation;
}

/** By the header `A2A-Version`; a client that sends none speaks 0.3. */
export function versionOf(header: string): A2aVersion {
  const version = header.trim();
  if (version === '' || /^0\.3(\.|$)/.test(version)) return '0.3';
  if (/^1\.0(\.|$)/.test(version)) return '1.0';
  throw wrongVersion(version);
}

// --- what we write

export function stateOn(version: A2aVersion, state: State): string {
  return version === '0.3' ? state : `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}
function partOn(version: A2aVersion, part: A2aPart): Json {
  if (version === '1.0') return part;
  return 'text' in part ? { kind: 'text', text: part.text } : { kind: 'data', data: part.data };
}
function messageOn(version: A2aVersion, { role, parts, ...rest }: A2aMessage): Json {
  const spelled = version === '0.3' ? { kind: 'message', role } : { role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT' };
  return { ...spelled, parts: parts.map((part) => partOn(version, part)), ...rest };
}
function statusOn(version: A2aVersion, { state, timestamp, message }: Status): Json {
  return { state: stateOn(version, state), timestamp, ...(message ? { message: messageOn(version, message) } : {}) };
}
export function taskOn(version: A2aVersion, { id, contextId, status, history }: TaskRecord): Json {
  const task = { id, contextId, status: statusOn(version, status), history: history.map((one) => messageOn(version, one)) };
  return version === '0.3' ? { kind: 'task', ...task } : task;
}
/** The first record of a stream, and the answer to a message. */
export function wrappedTaskOn(version: A2aVersion, task: TaskRecord): Json {
  return version === '0.3' ? taskOn(version, task) : { task: taskOn(version, task) };
}
export function updateOn(version: A2aVersion, { taskId, contextId, status, final, metadata }: TaskStatusUpdate): Json {
  const update = { taskId, contextId, status: statusOn(version, status), metadata };
  return version === '0.3' ? { kind: 'status-update', ...update, final } : { statusUpdate: update };
}
export function pushConfigOn(version: A2aVersion, taskId: string, { id, url, token, authentication }: PushConfig): Json {
  const place = { id, url, ...(token === undefined ? {} : { token }) };
  if (version === '1.0') return { taskId, ...place, ...(authentication ? { authentication } : {}) };
  const old = authentication && { schemes: [authentication.scheme], credentials: authentication.credentials };
  return { taskId, pushNotificationConfig: { ...place, ...(old ? { authentication: old } : {}) } };
}

// --- what we read

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A user's message. Throws invalidParams for what the schema of its version does not allow. */
export function messageIn(version: A2aVersion, params: Json): A2aMessage {
  const { message } = params;
  if (!isRecord(message)) throw invalidParams('params.message has to be an object.');
  const { messageId, role, parts, taskId, contextId, metadata } = message;
  if (textIn(messageId) === undefined) throw invalidParams('message.messageId has to be a text.');
  if (role !== (version === '0.3' ? 'user' : 'ROLE_USER')) throw invalidParams('message.role has to be that of a user.');
  if (!Array.isArray(parts) || parts.length === 0) throw invalidParams('message.parts has to be a list that is not empty.');
  const parsed = messageSchema.safeParse({ messageId, role, taskId, contextId, metadata, parts });
  if (!parsed.success) throw invalidParams(`The message is malformed: ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
  return {
    messageId: messageId as string,
    role: 'user',
    parts: parts.map((part) => partIn(version, part)),
    ...(textIn(taskId) === undefined ? {} : { taskId: taskId as string }),
    ...(textIn(contextId) === undefined ? {} : { contextId: contextId as string }),
    ...(isRecord(metadata) ? { metadata } : {}),
  };
}
function partIn(version: A2aVersion, part: unknown): A2aPart {
  if (!isRecord(part)) throw invalidParams('Each part has to be an object.');
  if (version === '0.3' && typeof part.kind !== 'string') throw invalidParams('Each part has to name its kind.');
  const kind = version === '0.3' ? part.kind : ['text', 'data', 'raw', 'url'].find((name) => part[name] !== undefined);
  if (kind === 'text' && typeof part.text === 'string') return { text: part.text };
  if (kind === 'data' && isRecord(part.data)) return { data: part.data };
  if (kind === 'file' || kind === 'raw' || kind === 'url') throw wrongContent('Files are not supported: send text.');
  throw invalidParams('A part has to hold a text or an object.');
}
/** An agent's message. */
export function agentMessage(taskId: string, contextId: string, parts: readonly A2aPart[]): A2aMessage {
  return { messageId: randomUUID(), role: 'agent', parts, taskId, contextId };
}

/** How many messages of the history are wanted; undefined: all. */
export function historyLengthIn(params: Json): number | undefined {
  const { historyLength } = params;
  if (historyLength === undefined || historyLength === null) return undefined;
  if (typeof historyLength !== 'number' || !Number.isInteger(historyLength) || historyLength < 0) {
    throw invalidParams('historyLength has to be a whole number.');
  }
  return historyLength;
}

/** The place for notifications that comes with a message. Throws when it is none on this machine. */
export function pushInMessage(version: A2aVersion, configuration: Json): PushConfig | undefined {
  const given = version === '0.3' ? configuration.pushNotificationConfig : configuration.taskPushNotificationConfig;
  return given === undefined || given === null ? undefined : pushConfigIn(given);
}
/** The place for notifications in the params of a method of its own. */
export function pushInParams(version: A2aVersion, params: Json): PushConfig {
  return pushConfigIn(version === '0.3' ? params.pushNotificationConfig : params);
}
function pushConfigIn(given: unknown): PushConfig {
  if (!isRecord(given)) throw invalidParams('The notification config has to be an object.');
  const { id, url, token, authentication } = given;
  if (!isOnThisMachine(url)) throw invalidParams('Notifications go to an address on this machine only.');
  const { scheme, schemes, credentials } = isRecord(authentication) ? authentication : {};
  const way = textIn(scheme) ?? (Array.isArray(schemes) ? textIn(schemes[0]) : undefined);
  return {
    id: textIn(id)?.slice(0, LENGTHS.id) ?? randomUUID(),
    url,
    ...(textIn(token) === undefined ? {} : { token: token as string }),
    ...(way !== undefined && typeof credentials === 'string' ? { authentication: { scheme: way, credentials } } : {}),
  };
}
/** True for an address on this machine: the agent serves and notifies only local programs. */
function isOnThisMachine(url: unknown): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return /^https?:$/.test(protocol) && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(hostname);
}

// --- decisions

/** The options of every approval. */
const OPTION_IDS = ['proceed_once', 'proceed_always', 'cancel'] as const;

/** A user's answer to the approval of the call of that id. */
export interface DecisionMessage {
  readonly id: string;
  readonly answer: PermissionAnswer;
}

/**
 * The decisions in the parts of a message; none in most (docs/protocols/a2a.md §6). Throws invalidParams for one that names no call, an option that
 * was not offered, or contradicts another: none of the message then counts.
 */
export function decisionsIn(parts: readonly A2aPart[]): readonly DecisionMessage[] {
  const found = new Map<string, PermissionAnswer>();
  for (const part of parts) {
    if (!('data' in part)) continue;
    const options = [part.data.selected_option_id, part.data.selectedOptionId].filter((option) => option != null);
    const ids = [part.data.tool_call_id, part.data.toolCallId].filter((id) => id != null);
    if (options.length === 0 && ids.length === 0) continue;
    const id = agreed(...ids);
    if (typeof id !== 'string') throw invalidParams('A decision has to name one call in tool_call_id.');
    const answer = answerIn(part.data, agreed(...options), id);
    const before = found.get(id);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(answer))
      throw invalidParams(`The message decides twice about the call ${shortened(id)}.`);
    found.set(id, answer);
  }
  return [...found].map(([id, answer]) => ({ id, answer }));
}

/** An id as errors repeat it. */
export function shortened(id: string): string {
  return id.length <= 100 ? id : `${id.slice(0, 100)}…`;
}

/** The one value that is there, in whatever style of names; undefined when there are two. */
function agreed<T>(...values: readonly T[]): T | undefined {
  const given = new Set(values.filter((value) => value !== undefined && value !== null));
  return given.size === 1 ? [...given][0] : undefined;
}

function answerIn(data: Json, option: unknown, id: string): PermissionAnswer {
  if (!OPTION_IDS.some((offered) => offered === option))
    throw invalidParams(`The decision about the call ${shortened(id)} has to select one of its options: ${OPTION_IDS.join(', ')}.`);
  if (option === 'cancel') return { allow: false };
  const edited = editedIn(data);
  // A user who changed the proposal has not approved the original.
  if (edited === unreadable) return { allow: false, feedback: 'The user changed the proposed text, but the change could not be read.' };
  return { allow: true, forSession: option === 'proceed_always', ...(edited === undefined ? {} : { edited }) };
}

const unreadable = Symbol('unreadable');

/** Reads the user's text of the file: the oneof has no name in ProtoJSON, but some writers wrap it in its name. */
function editedIn(data: Json): string | undefined | typeof unreadable {
  const wrapper = data.modified_details ?? data.modifiedDetails ?? undefined;
  const inside = isRecord(wrapper) && Object.keys(wrapper).length > 0 ? wrapper : undefined;
  const files = [data.file_details, data.fileDetails, inside?.file_details, inside?.fileDetails].filter(
    (file) => file !== undefined && file !== null,
  );
  if (inside && (files.length === 0 || 'new_content' in inside || 'newContent' in inside)) files.push(inside);
  if (files.length === 0) return wrapper === undefined || isRecord(wrapper) ? undefined : unreadable;
  const edited = agreed(...files.flatMap((file) => (isRecord(file) ? [file.new_content, file.newContent] : [])));
  return typeof edited === 'string' ? edited : unreadable;
}

// --- slash commands, as the extension has them (docs/protocols/a2a.md §13)

const text = z.nullish(z.string());
const command = z.object({
  command_path: z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
  args: text,
  contextId: z.nullish(z.string().check(z.maxLength(LENGTHS.id))),
  metadata: z.nullish(z.record(z.string(), z.unknown())),
});

/** The params of `command/execute`, in either style of names. */
export function commandIn(params: Json): z.infer<typeof command> {
  const { commandPath, ...rest } = params;
  const parsed = command.safeParse({ command_path: commandPath, ...rest });
  if (!parsed.success) throw invalidParams('command_path has to be a list of names, args a text.');
  return parsed.data;
}

/** `skill:tidy` is the command `tidy` below `skill`, which is none by itself. */
export function commandTree(all: readonly SlashCommand[]): readonly Json[] {
  const groups = new Map<string, Json[]>();
  const top: Json[] = [];
  for (const { name, description, args = [] } of all) {
    const [group, ...rest] = name.split(':');
    const own = {
      description,
      arguments: args.map((one) => ({ name: one.name, description: one.description, is_required: one.isRequired === true })),
      sub_commands: [],
    };
    if (group === undefined || rest.length === 0) {
      top.push({ name, ...own });
      continue;
    }
    const below = groups.get(group) ?? [];
    if (below.length === 0) top.push({ name: group, description: '', arguments: [], sub_commands: below });
    groups.set(group, below);
    below.push({ name: rest.join(':'), ...own });
  }
  return top;
}

/** The extension's state of a command that was just started. */
export function startedAs(waitsFor: 'shell' | 'action' | undefined): string {
  if (waitsFor === undefined) return 'STARTED';
  return waitsFor === 'shell' ? 'AWAITING_SHELL_CONFIRMATION' : 'AWAITING_ACTION_CONFIRMATION';
}
