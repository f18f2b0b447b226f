import { randomUUID } from 'node:crypto';
import type { Part, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import type { ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { messageOf } from '../../../base/log.ts';
import { EXTENSION } from '../../../protocols/a2a/schema.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { type Model, ModelError } from '../../models/model.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { decisionIn } from './decision.ts';
import type { EditorTools } from './editorTools.ts';
import type { Json } from './shapes.ts';
import { type Kind, TaskFrontend } from './taskFrontend.ts';

type State = TaskStatusUpdateEvent['status']['state'];

/** One context: its conversation, at most one turn, and the stream that turn is told on just now. */
export class Run {
  readonly #frontend: TaskFrontend;
  readonly #conversation: Conversation;
  #turn: Promise<void> | undefined;
  /** Of the turn that runs: a stop may come before the conversation has it. */
  #stopping = new AbortController();
  #bus: ExecutionEventBus | undefined;
  #ids = { taskId: '', contextId: '' };
  /** Said while no stream was open. */
  #held: TaskStatusUpdateEvent[] = [];
  readonly #modelName: string;

  constructor(model: Model, workspace: Workspace, editor?: EditorTools) {
    this.#modelName = model.name;
    const pipe = {
      text: (text: string) => this.#publish('TEXT_CONTENT', 'working', [{ kind: 'text', text }]),
      data: (kind: Kind, data: Json) => this.#publish(kind, 'working', [{ kind: 'data', data }]),
      suspend: () => this.#final('input-required'),
    };
    this.#frontend = new TaskFrontend(pipe, workspace.cwd, editor);
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace });
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** It works, and no stream of another message may take its place. */
  get works(): boolean {
    return this.busy && !this.suspended;
  }

  /** The turn stands still until a user decides, and no stream is open. */
  get suspended(): boolean {
    return this.busy && this.#bus === undefined;
  }

  /** A prompt or a decision; settles when its stream has nothing more to say. */
  async take(request: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage, task } = request;
    if (!task) {
      const status = { state: 'submitted' as const, timestamp: new Date().toISOString() };
      bus.publish({ kind: 'task', id: taskId, contextId, status, history: [userMessage] });
    }
    const decisions = userMessage.parts.flatMap(decisionIn);
    if (decisions.length > 0) {
      this.#attach(bus, taskId, contextId);
      let known = false;
      for (const { id, answer } of decisions) known = this.#frontend.answer(id, answer) || known;
      // Nobody waits for this decision: the state is told, and nothing else happens.
      if (!known && this.#frontend.waiting > 0) this.#final('input-required');
      else if (!known && !this.busy) this.#final('completed');
      return;
    }
    const before = this.#ids.taskId;
    const left = await this.#end();
    // Calls of this task that waited are over: what became of them stands in it.
    if (before === taskId) this.#held = left.filter((event) => !event.final);
    this.#attach(bus, taskId, contextId);
    const text = userMessage.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
    this.#publish('STATE_CHANGE', 'working', []);
    this.#turn = this.#toEnd(text);
    await this.#turn;
  }

  /** Ends the turn that runs; settles when it is over, with what no stream was open for. */
  stop(): Promise<readonly TaskStatusUpdateEvent[]> {
    return this.#end();
  }

  /** Gives back what was said for no stream. */
  async #end(): Promise<readonly TaskStatusUpdateEvent[]> {
    this.#stopping.abort(new Cancelled());
    this.#conversation.cancel();
    await this.#turn;
    return this.#held.splice(0);
  }

  #attach(bus: ExecutionEventBus, taskId: string, contextId: string): void {
    this.#bus = bus;
    this.#ids = { taskId, contextId };
    for (const event of this.#held.splice(0)) bus.publish(event);
  }

  async #toEnd(text: string): Promise<void> {
    let state: State = 'completed';
    let error: string | undefined;
    this.#stopping = new AbortController();
    const { signal } = this.#stopping;
    try {
      await this.#frontend.prepare();
      signal.throwIfAborted();
      await this.#conversation.prompt([{ type: 'text', text }]);
    } catch (thrown) {
      state = thrown instanceof Cancelled ? 'canceled' : 'failed';
      if (state === 'failed') error = thrown instanceof ModelError ? thrown.message : `The agent failed: ${messageOf(thrown)}`;
    } finally {
      this.#frontend.end();
      this.#turn = undefined;
      this.#final(state, error);
    }
  }

  #final(state: State, error?: string): void {
    this.#publish('STATE_CHANGE', state, error === undefined ? [] : [{ kind: 'text', text: error }], true, error);
    this.#bus?.finished();
    this.#bus = undefined;
  }

  #publish(kind: Kind, state: State, parts: Part[], final = false, error?: string): void {
    const { taskId, contextId } = this.#ids;
    const event: TaskStatusUpdateEvent = {
      kind: 'status-update',
      taskId,
      contextId,
      final,
      status: {
        state,
        timestamp: new Date().toISOString(),
        message: { kind: 'message', role: 'agent', messageId: randomUUID(), taskId, contextId, parts },
      },
      metadata: { [EXTENSION]: { kind, model: this.#modelName, ...(error === undefined ? {} : { error }) } },
    };
    if (this.#bus) this.#bus.publish(event);
    else this.#held.push(event);
  }
}

/** A task that ends before it begins, with the reason. */
export function refuse({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus, reason: string): void {
  const timestamp = new Date().toISOString();
  bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted', timestamp }, history: [userMessage] });
  const message = {
    kind: 'message' as const,
    role: 'agent' as const,
    messageId: randomUUID(),
    parts: [{ kind: 'text' as const, text: reason }],
  };
  bus.publish({
    kind: 'status-update',
    taskId,
    contextId,
    final: true,
    status: { state: 'failed', timestamp, message },
    metadata: { [EXTENSION]: { kind: 'STATE_CHANGE', error: reason } },
  });
  bus.finished();
}
