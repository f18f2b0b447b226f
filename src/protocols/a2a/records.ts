import { plainStatus } from './plainStatus.ts';
import { artifactUpdate, type Message, message, type Part, statusUpdate, task } from './schema.ts';
import { type Fields, isRecord } from './words.ts';

export type TaskState =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'canceled'
  | 'failed'
  | 'rejected'
  | 'unknown';
const states: readonly string[] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'unknown',
];

/** One record of a stream, the same for both versions of A2A (a2a.md §4). */
export interface Incoming {
  readonly kind: 'task' | 'status' | 'artifact' | 'message';
  readonly taskId?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  readonly final: boolean;
  readonly parts: readonly Part[];
  readonly messageId?: string;
  readonly metadata?: Fields;
  readonly timestamp?: string;
  /** Of an artifact. */
  readonly artifact?: { readonly id: string; readonly append: boolean };
  /** Of a task: what was said and made so far. */
  readonly history?: readonly Message[];
  readonly artifacts?: readonly { readonly id: string; readonly parts: readonly Part[] }[];
}

/** undefined: nothing this build knows. */
export function toIncoming(result: unknown): Incoming | undefined {
  if (!isRecord(result)) return undefined;
  const wrapped = wrapping.find((name) => isRecord(result[name]) && result.kind === undefined && !('status' in result));
  const body = wrapped ? result[wrapped] : result;
  switch (wrapped ?? shapeOf(result)) {
    case 'task':
      return fromTask(body);
    case 'statusUpdate':
      return fromStatus(body);
    case 'artifactUpdate':
      return fromArtifact(body);
    case 'message':
      return fromMessage(body);
    default:
      return undefined;
  }
}

const wrapping = ['task', 'statusUpdate', 'artifactUpdate', 'message'] as const;

function shapeOf(result: Fields): (typeof wrapping)[number] | undefined {
  switch (result.kind) {
    case 'task':
      return 'task';
    case 'status-update':
      return 'statusUpdate';
    case 'artifact-update':
      return 'artifactUpdate';
    case 'message':
      return 'message';
    default:
      if ('status' in result) return 'taskId' in result ? 'statusUpdate' : 'id' in result ? 'task' : undefined;
      if ('artifact' in result) return 'artifactUpdate';
      return 'parts' in result && 'messageId' in result ? 'message' : undefined;
  }
}

export function stateOf(value: string | null | undefined): TaskState {
  if (value && states.includes(value)) return value as TaskState;
  const plain = (value ?? '')
    .toLowerCase()
    .replace(/^task_state_/, '')
    .replaceAll('_', '-');
  if (plain === 'cancelled') return 'canceled';
  return states.includes(plain) ? (plain as TaskState) : 'unknown';
}

/** The task takes no more messages, or says so. */
export function isOver(state: TaskState | undefined): boolean {
  return state === 'completed' || state === 'canceled' || state === 'failed' || state === 'rejected';
}

/** Nothing more comes until somebody says something. */
export function isAtRest(state: TaskState | undefined): boolean {
  return isOver(state) || state === 'input-required' || state === 'auth-required';
}

function ids(taskId: string | null | undefined, contextId: string | null | undefined) {
  return { ...(taskId ? { taskId } : {}), ...(contextId ? { contextId } : {}) };
}

function said(from: Message | null | undefined) {
  return { parts: from?.parts ?? [], ...(from?.messageId ? { messageId: from.messageId } : {}) };
}

function fromTask(body: unknown): Incoming | undefined {
  const parsed = task.safeParse(body);
  if (!parsed.success) return undefined;
  const { id, contextId, status, history, artifacts, metadata } = parsed.data;
  return {
    kind: 'task',
    ...ids(id, contextId),
    state: stateOf(status.state),
    final: false,
    ...said(status.message),
    ...(status.timestamp ? { timestamp: status.timestamp } : {}),
    metadata: { ...metadata, ...status.message?.metadata },
    history: history ?? [],
    artifacts: (artifacts ?? []).map((one) => ({ id: one.artifactId ?? '', parts: one.parts ?? [] })),
  };
}

function fromStatus(body: unknown): Incoming | undefined {
  const update = plainStatus(body) ?? statusUpdate.safeParse(body).data;
  if (!update) return undefined;
  const { taskId, contextId, status, final, metadata } = update;
  return {
    kind: 'status',
    ...ids(taskId, contextId),
    state: stateOf(status.state),
    final: final ?? false,
    ...said(status.message),
    metadata: { ...status.message?.metadata, ...metadata },
    ...(status.timestamp ? { timestamp: status.timestamp } : {}),
  };
}

function fromArtifact(body: unknown): Incoming | undefined {
  const parsed = artifactUpdate.safeParse(body);
  if (!parsed.success) return undefined;
  const { taskId, contextId, artifact, append, metadata } = parsed.data;
  return {
    kind: 'artifact',
    ...ids(taskId, contextId),
    final: false,
    parts: artifact.parts ?? [],
    artifact: { id: artifact.artifactId ?? '', append: append ?? false },
    ...(metadata ? { metadata } : {}),
  };
}

function fromMessage(body: unknown): Incoming | undefined {
  const parsed = message.safeParse(body);
  if (!parsed.success) return undefined;
  const { taskId, contextId, metadata } = parsed.data;
  return { kind: 'message', ...ids(taskId, contextId), final: true, ...said(parsed.data), ...(metadata ? { metadata } : {}) };
}
