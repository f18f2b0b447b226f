import { randomUUID } from 'node:crypto';
import { runningCallIn } from '../../../protocols/a2a/codec.ts';
import type { A2aVersion, Fields } from '../../../protocols/a2a/schema.ts';
import {
  type A2aMessage,
  type A2aPart,
  type KnownTaskState,
  type PushConfig,
  type TaskRecord,
  type TaskStatus,
  type TaskStatusUpdate,
  taskRecord,
  updateRecord,
} from '../../../protocols/a2a/versionCodec.ts';

/** Messages of a task; clients take no longer lists. The oldest go first. */
const MOST_MESSAGES = 10_000;
/** Most idle tasks; the oldest are dropped. */
const MOST_TASKS = 1000;

export type Listener = (update: TaskStatusUpdate) => void;

/** One task: its state, history and listeners. It continues with or without listeners. */
export class ServedTask {
  readonly id = randomUUID();
  readonly contextId: string;
  readonly #history: A2aMessage[] = [];
  readonly #listeners = new Set<Listener>();
  /** Observers that receive everything but do not count as listeners. */
  readonly #observers = new Set<Listener>();
  #status: TaskStatus = { state: 'submitted', timestamp: new Date().toISOString() };
  /** Updates without a listener since the last final update. */
  #unheard: TaskStatusUpdate[] = [];

  constructor(contextId: string) {
    this.contextId = contextId;
  }

  get state(): KnownTaskState {
    return this.#status.state;
  }
  /** True when it accepts no more messages. A completed task continues with another message, as the extension defines. */
  get isOver(): boolean {
    return this.state === 'failed' || this.state === 'canceled';
  }
  /** True when no update follows until the next message. */
  get isAtRest(): boolean {
    return this.isOver || this.state === 'completed' || this.state === 'input-required';
  }

  record(historyLength?: number): TaskRecord {
    const history = historyLength === 0 ? [] : this.#history.slice(-(historyLength ?? MOST_MESSAGES));
    return { id: this.id, contextId: this.contextId, status: this.#status, history };
  }

  /** A message of the user. */
  take(message: A2aMessage): void {
    this.#keep({ ...message, taskId: this.id, contextId: this.contextId });
  }

  /** The agent sent a message, or the state changed. */
  publish(state: KnownTaskState, parts: readonly A2aPart[], metadata: Fields, final = false): void {
    const message = parts.length > 0 ? this.#message(parts) : undefined;
    this.#status = { state, timestamp: new Date().toISOString(), ...(message ? { message } : {}) };
    if (message) this.#keep(message);
    const update = { taskId: this.id, contextId: this.contextId, status: this.#status, final, metadata };
    if (this.#listeners.size === 0 && !final) this.#unheard.push(update);
    for (const listener of [...this.#observers, ...this.#listeners]) listener(update);
  }

  /** Subscribes to all updates, beginning with the undelivered ones. Returns the subscription's disposer. */
  follow(listener: Listener): () => void {
    for (const update of this.#unheard.splice(0)) listener(update);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  observe(listener: Listener): void {
    this.#observers.add(listener);
  }

  #message(parts: readonly A2aPart[]): A2aMessage {
    return { messageId: randomUUID(), role: 'agent', parts, taskId: this.id, contextId: this.contextId };
  }

  #keep(message: A2aMessage): void {
    const last = this.#history.at(-1);
    // Each update of a running call repeats its whole output, so only the newest is kept.
    if (last && runningCall(last) !== undefined && runningCall(last) === runningCall(message)) this.#history.pop();
    this.#history.push(message);
    if (this.#history.length > MOST_MESSAGES) this.#history.splice(0, MOST_MESSAGES / 10);
  }
}

/** The id of the call that a message reports as running. */
function runningCall({ parts: [part] }: A2aMessage): unknown {
  return part && 'data' in part ? runningCallIn(part.data) : undefined;
}

/** All tasks since this agent was started, the newest last. */
export class TaskStore {
  readonly #tasks = new Map<string, ServedTask>();

  get all(): readonly ServedTask[] {
    return [...this.#tasks.values()];
  }

  find(id: unknown): ServedTask | undefined {
    return typeof id === 'string' ? this.#tasks.get(id) : undefined;
  }

  /** A new task, and the one that is dropped for it. */
  begin(contextId: string): { readonly task: ServedTask; readonly dropped: ServedTask | undefined } {
    const task = new ServedTask(contextId);
    this.#tasks.set(task.id, task);
    const dropped = this.#tasks.size > MOST_TASKS ? this.#oldestIdle() : undefined;
    if (dropped) this.#tasks.delete(dropped.id);
    return { task, dropped };
  }

  #oldestIdle(): ServedTask | undefined {
    for (const task of this.#tasks.values()) if (task.isAtRest && task.state !== 'input-required') return task;
    return undefined;
  }
}

// --- notifications

/** Milliseconds in which an address must accept a notification. */
const WITHIN = 5000;

/** Addresses for one task; the oldest is dropped. */
const MOST_TARGETS = 10;
/** Characters of updates of one task that wait to be sent; the oldest are dropped. */
const MOST_WAITING = 4 * 1024 * 1024;

interface PushTarget {
  readonly config: PushConfig;
  readonly version: A2aVersion;
}

/** Sends task updates to the addresses that clients named, in order. Ignores addresses that do not answer. */
export class Notifications {
  readonly #targets = new Map<string, Map<string, PushTarget>>();
  /** Of tasks whose updates are being sent: those that wait. */
  readonly #waiting = new Map<string, Update[]>();

  /** With its first address a task is observed. */
  set(task: ServedTask, config: PushConfig, version: A2aVersion): void {
    const known = this.#targets.get(task.id);
    if (known) {
      known.delete(config.id);
      known.set(config.id, { config, version });
      const [oldest] = known.keys();
      if (known.size > MOST_TARGETS && oldest !== undefined) known.delete(oldest);
      return;
    }
    this.#targets.set(task.id, new Map([[config.id, { config, version }]]));
    task.observe((update) => this.#publish(task, update));
  }
  /** Notifies about a task that was just created. */
  announce(task: ServedTask): void {
    this.#publish(task, undefined);
  }
  list(taskId: string): readonly PushConfig[] {
    return [...(this.#targets.get(taskId)?.values() ?? [])].map(({ config }) => config);
  }
  delete(taskId: string, id: string): void {
    this.#targets.get(taskId)?.delete(id);
  }

  forget(taskId: string): void {
    this.#targets.delete(taskId);
  }

  #publish(task: ServedTask, update: TaskStatusUpdate | undefined): void {
    const targets = [...(this.#targets.get(task.id)?.values() ?? [])];
    if (targets.length === 0) return;
    const bodies = targets.map((target) => ({ target, body: JSON.stringify(bodyOf(target.version, task, update)) }));
    const one: Update = { bodies, length: bodies.reduce((sum, { body }) => sum + body.length, 0) };
    const waiting = this.#waiting.get(task.id);
    if (waiting) return wait(waiting, one);
    this.#waiting.set(task.id, [one]);
    void this.#send(task.id);
  }

  async #send(taskId: string): Promise<void> {
    const waiting = this.#waiting.get(taskId) ?? [];
    for (let next = waiting.shift(); next; next = waiting.shift())
      await Promise.all(next.bodies.map(({ target, body }) => post(target, body)));
    this.#waiting.delete(taskId);
  }
}

/** One update, as each receiver gets it. */
interface Update {
  readonly bodies: readonly { readonly target: PushTarget; readonly body: string }[];
  /** UTF-16 units of all bodies. */
  readonly length: number;
}

function wait(waiting: Update[], one: Update): void {
  waiting.push(one);
  let length = waiting.reduce((sum, update) => sum + update.length, 0);
  while (length > MOST_WAITING && waiting.length > 1) length -= waiting.shift()?.length ?? 0;
}

/** 0.3 sends the whole task with every notification, 1.0 the update. */
function bodyOf(version: A2aVersion, task: ServedTask, update: TaskStatusUpdate | undefined): object {
  return version === '0.3' || !update ? taskRecord(version, task.record(0)) : updateRecord(version, update);
}

async function post({ config, version }: PushTarget, body: string): Promise<void> {
  const { url, token, authentication } = config;
  const headers = {
    'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json',
    ...(version === '1.0' && authentication
      ? { authorization: `${authentication.scheme} ${authentication.credentials}` }
      : token === undefined
        ? {}
        : { 'x-a2a-notification-token': token }),
  };
  // An address on this machine must not redirect elsewhere.
  await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal: AbortSignal.timeout(WITHIN) }).then(
    (answer) => answer.body?.cancel(),
    () => {},
  );
}
