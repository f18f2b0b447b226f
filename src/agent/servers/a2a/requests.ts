import { randomUUID } from 'node:crypto';
import { type ReadDecision, readCommandRequest, readDecision } from '../../../protocols/a2a/codec.ts';
import {
  type A2aVersion,
  type CommandShape,
  type CommandState,
  type Fields,
  isRecord,
  LENGTHS,
  message as messageSchema,
} from '../../../protocols/a2a/schema.ts';
import {
  type A2aMessage,
  type A2aPart,
  type KnownTaskState,
  type Operation,
  operationOf as operationNamed,
  type PushConfig,
  pushFromMessage,
  pushFromTask,
  readPushConfig,
  textIn,
} from '../../../protocols/a2a/versionCodec.ts';
import type { SlashCommand } from '../../commands.ts';
import type { PermissionAnswer } from '../../frontend.ts';

/*
 * Requests of clients, and the errors they get. How things are spelled is the codec's, which client and server share; here is what
 * this server refuses: a client takes all that it understands, a server only what its version allows (docs/protocols/a2a.md §4).
 */

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
export function taskIsOver(version: A2aVersion, id: string, state: KnownTaskState): A2aError {
  const message = `Task ${id} is in a terminal state (${state}) and cannot be modified.`;
  return version === '1.0' ? unsupported(message) : invalidRequest(message);
}

export function errorOn(version: A2aVersion, error: unknown): Fields {
  if (!(error instanceof A2aError)) return { code: -32603, message: error instanceof Error ? error.message : 'Internal error' };
  const { code, message, reason } = error;
  if (version === '0.3') return { code, message };
  return { code, message, data: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }] };
}

// --- methods

/** Throws for a name that the version does not have. */
export function operationOf(version: A2aVersion, method: string): Operation {
  const operation = operationNamed(version, method);
  if (operation === undefined) throw methodNotFound(method);
  return operation;
}

/** By the header `A2A-Version`; a client that sends none speaks 0.3. */
export function versionOf(header: string): A2aVersion {
  const version = header.trim();
  if (version === '' || /^0\.3(\.|$)/.test(version)) return '0.3';
  if (/^1\.0(\.|$)/.test(version)) return '1.0';
  throw wrongVersion(version);
}

// --- messages

/** A user's message. Throws invalidParams for what the schema of its version does not allow. */
export function messageIn(version: A2aVersion, params: Fields): A2aMessage {
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
/** Number of messages of the history that are wanted; undefined: all. */
export function historyLengthIn(params: Fields): number | undefined {
  const { historyLength } = params;
  if (historyLength === undefined || historyLength === null) return undefined;
  if (typeof historyLength !== 'number' || !Number.isInteger(historyLength) || historyLength < 0) {
    throw invalidParams('historyLength has to be a whole number.');
  }
  return historyLength;
}

/** The address for notifications that comes with a message. Throws when it is not on this machine. */
export function messagePush(version: A2aVersion, configuration: Fields): PushConfig | undefined {
  const given = pushFromMessage(version, configuration);
  return given === undefined || given === null ? undefined : localPush(given);
}
/** The address for notifications in the params of a method of its own. */
export function taskPush(version: A2aVersion, params: Fields): PushConfig {
  return localPush(pushFromTask(version, params));
}
function localPush(given: unknown): PushConfig {
  if (!isRecord(given)) throw invalidParams('The notification config has to be an object.');
  const { id, url, ...rest } = readPushConfig(given);
  if (!isOnThisMachine(url)) throw invalidParams('Notifications go to an address on this machine only.');
  return { id: id?.slice(0, LENGTHS.id) ?? randomUUID(), url, ...rest };
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
    const decision = 'data' in part ? readDecision(part.data) : undefined;
    if (!decision) continue;
    const { callId: id } = decision;
    if (typeof id !== 'string') throw invalidParams('A decision has to name one call in tool_call_id.');
    const answer = answerIn(decision, id);
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

function answerIn({ option, edited }: ReadDecision, id: string): PermissionAnswer {
  if (!OPTION_IDS.some((offered) => offered === option))
    throw invalidParams(`The decision about the call ${shortened(id)} has to select one of its options: ${OPTION_IDS.join(', ')}.`);
  if (option === 'cancel') return { allow: false };
  // A user who changed the proposal has not approved the original.
  if (edited === 'unreadable') return { allow: false, feedback: 'The user changed the proposed text, but the change could not be read.' };
  return { allow: true, forSession: option === 'proceed_always', ...(edited === 'none' ? {} : { edited: edited.text }) };
}

// --- slash commands, as the extension has them (docs/protocols/a2a.md §13)

/** The params of `command/execute`, in either style of names. */
export function commandIn(params: Fields): NonNullable<ReturnType<typeof readCommandRequest>> {
  const request = readCommandRequest(params);
  if (!request) throw invalidParams('command_path has to be a list of names, args a text.');
  return request;
}

/** `skill:tidy` is the command `tidy` below `skill`, which is not a command by itself. */
export function listedCommands(all: readonly SlashCommand[]): readonly CommandShape[] {
  const groups = new Map<string, CommandShape[]>();
  const top: CommandShape[] = [];
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
export function startedAs(waitsFor: 'shell' | 'action' | undefined): CommandState {
  if (waitsFor === undefined) return 'started';
  return waitsFor === 'shell' ? 'awaiting_shell_confirmation' : 'awaiting_action_confirmation';
}
