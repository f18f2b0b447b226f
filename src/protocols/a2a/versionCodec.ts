import { type A2aVersion, type Fields, isRecord } from './schema.ts';

/*
 * How 0.3 and 1.0 spell the same things, for client and server (docs/protocols/a2a.md §4): methods, messages, tasks with their updates, addresses
 * for notifications. Pure.
 */

// --- methods

/** The name of each method in 0.3 and in 1.0. */
const METHODS = {
  send: ['message/send', 'SendMessage'],
  stream: ['message/stream', 'SendStreamingMessage'],
  get: ['tasks/get', 'GetTask'],
  list: [undefined, 'ListTasks'],
  cancel: ['tasks/cancel', 'CancelTask'],
  subscribe: ['tasks/resubscribe', 'SubscribeToTask'],
  pushSet: ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
  pushGet: ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
  pushList: ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
  pushDelete: ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
  extendedCard: ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard'],
  commands: ['commands/get', 'commands/get'],
  execute: ['command/execute', 'command/execute'],
} as const;
export type Operation = keyof typeof METHODS;

/** The operation that a version calls so; undefined when it has no such method. */
export function operationOf(version: A2aVersion, method: string): Operation | undefined {
  const at = version === '0.3' ? 0 : 1;
  return (Object.keys(METHODS) as Operation[]).find((operation) => METHODS[operation][at] === method);
}
/** The name in `version` of a method that 0.3 calls `method`. */
export function methodOn(version: A2aVersion, method: string): string {
  const operation = version === '0.3' ? undefined : operationOf('0.3', method);
  return operation === undefined ? method : METHODS[operation][1];
}

// --- messages and tasks

/** The states of tasks by their names in 0.3. */
const STATES = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'unknown',
] as const;
export type TaskState = (typeof STATES)[number];
export type KnownTaskState = Exclude<TaskState, 'unknown'>;
export type A2aPart = { readonly text: string } | { readonly data: Fields };
/** A message of the user or of the agent. */
export interface A2aMessage {
  readonly messageId: string;
  readonly role: 'user' | 'agent';
  readonly parts: readonly A2aPart[];
  readonly taskId?: string;
  readonly contextId?: string;
  readonly metadata?: Fields;
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}
export interface TaskStatus {
  readonly state: KnownTaskState;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly message?: A2aMessage;
}
/** A task with as much of its history as is wanted. */
export interface TaskRecord {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly history: readonly A2aMessage[];
}
/** `final`: nothing follows until the next message. */
export interface TaskStatusUpdate {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly final: boolean;
  readonly metadata: Fields;
}

/** States by the names that agents write in nearly every record. */
const SPELLED: ReadonlyMap<string | null | undefined, TaskState> = new Map(
  STATES.flatMap((state) => [
    [state, state],
    [stateOn('1.0', state), state],
  ]),
);

/** A state by its name in either version; `unknown` for any other text. */
export function stateOf(value: string | null | undefined): TaskState {
  const spelled = SPELLED.get(value);
  if (spelled !== undefined) return spelled;
  const plain = (value ?? '')
    .toLowerCase()
    .replace(/^task_state_/, '')
    .replaceAll('_', '-');
  if (plain === 'cancelled') return 'canceled';
  return STATES.find((state) => state === plain) ?? 'unknown';
}
/** The other direction of `stateOf`. */
export function stateOn(version: A2aVersion, state: TaskState): string {
  return version === '0.3' ? state : `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}
function partOn(version: A2aVersion, part: A2aPart): Fields {
  if (version === '1.0') return part;
  return 'text' in part ? { kind: 'text', text: part.text } : { kind: 'data', data: part.data };
}
export function messageOn(version: A2aVersion, { role, messageId, parts, ...rest }: A2aMessage): Fields {
  const spelled = version === '0.3' ? { kind: 'message', role } : { role: `ROLE_${role.toUpperCase()}` };
  return { ...spelled, messageId, parts: parts.map((part) => partOn(version, part)), ...rest };
}
function statusOn(version: A2aVersion, { state, timestamp, message: said }: TaskStatus): Fields {
  return { state: stateOn(version, state), timestamp, ...(said ? { message: messageOn(version, said) } : {}) };
}
export function taskOn(version: A2aVersion, { id, contextId, status, history }: TaskRecord): Fields {
  const spelled = { id, contextId, status: statusOn(version, status), history: history.map((one) => messageOn(version, one)) };
  return version === '0.3' ? { kind: 'task', ...spelled } : spelled;
}
/** A task as the first record of a stream and as the answer to a message. */
export function taskRecord(version: A2aVersion, one: TaskRecord): Fields {
  return version === '0.3' ? taskOn(version, one) : { task: taskOn(version, one) };
}
export function updateRecord(version: A2aVersion, { taskId, contextId, status, final, metadata }: TaskStatusUpdate): Fields {
  const update = { taskId, contextId, status: statusOn(version, status), metadata };
  return version === '0.3' ? { kind: 'status-update', ...update, final } : { statusUpdate: update };
}

// --- addresses for notifications

/** An address that the agent notifies of a task's updates (docs/protocols/a2a.md §12). */
export interface PushConfig {
  readonly id: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials: string };
}
function pushConfigOn(version: A2aVersion, { id, url, token, authentication }: PushConfig): Fields {
  const way = version === '1.0' ? { scheme: authentication?.scheme } : { schemes: [authentication?.scheme] };
  const { credentials } = authentication ?? {};
  return { id, url, ...(token === undefined ? {} : { token }), ...(authentication ? { authentication: { ...way, credentials } } : {}) };
}
/** As the `configuration` of a message. */
export function pushInMessage(version: A2aVersion, config: PushConfig): Fields {
  return { [version === '1.0' ? 'taskPushNotificationConfig' : 'pushNotificationConfig']: pushConfigOn(version, config) };
}
/** As the params of `tasks/pushNotificationConfig/set`, and as the answer to it. */
export function pushOfTask(version: A2aVersion, taskId: string, config: PushConfig): Fields {
  const written = pushConfigOn(version, config);
  return version === '1.0' ? { taskId, ...written } : { taskId, pushNotificationConfig: written };
}
/** As the params of `tasks/pushNotificationConfig/get` and `delete`. */
export function pushName(version: A2aVersion, taskId: string, id: string): Fields {
  return version === '1.0' ? { taskId, id } : { id: taskId, pushNotificationConfigId: id };
}
/** The other directions of these three; unchecked. */
export function pushFromMessage(version: A2aVersion, configuration: Fields): unknown {
  return version === '1.0' ? configuration.taskPushNotificationConfig : configuration.pushNotificationConfig;
}
export function pushFromTask(version: A2aVersion, params: Fields): unknown {
  return version === '1.0' ? params : params.pushNotificationConfig;
}
export function readPushName(version: A2aVersion, params: Fields): { readonly taskId: unknown; readonly id: unknown } {
  return version === '1.0' ? { taskId: params.taskId, id: params.id } : { taskId: params.id, id: params.pushNotificationConfigId };
}
/** The members of an address for notifications that are there, of either version. */
export function readPushConfig({ id, url, token, authentication }: Fields): Partial<PushConfig> {
  const { scheme, schemes, credentials } = isRecord(authentication) ? authentication : ({} as Fields);
  const way = textIn(scheme) ?? (Array.isArray(schemes) ? textIn(schemes[0]) : undefined);
  const [ownId, ownUrl, ownToken] = [id, url, token].map(textIn);
  return {
    ...(ownId === undefined ? {} : { id: ownId }),
    ...(ownUrl === undefined ? {} : { url: ownUrl }),
    ...(ownToken === undefined ? {} : { token: ownToken }),
    ...(way !== undefined && typeof credentials === 'string' ? { authentication: { scheme: way, credentials } } : {}),
  };
}
/** undefined for what is no text and for an empty one. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
