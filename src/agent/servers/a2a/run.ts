import { messageOf } from '../../../base/log.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { type Model, ModelError } from '../../models/model.ts';
import type { Workspace } from '../../workspace/paths.ts';
import type { Decision } from './decision.ts';
import { Outlet } from './outlet.ts';
import { TaskFrontend } from './taskFrontend.ts';
import type { Task } from './tasks.ts';
import type { ToolServer } from './toolServer.ts';
import type { State } from './wire.ts';

interface RunningTurn {
  readonly stop: AbortController;
  /** Its task goes on with another message: that it was stopped is not the end of the task. */
  isReplaced: boolean;
  done: Promise<void>;
}

/** One context: its conversation, and at most one turn. */
export class Run {
  readonly #outlet: Outlet;
  readonly #frontend: TaskFrontend;
  readonly #conversation: Conversation;
  #turn: RunningTurn | undefined;

  constructor(model: Model, workspace: Workspace, servers: readonly ToolServer[] = []) {
    this.#outlet = new Outlet(model.name);
    this.#frontend = new TaskFrontend(this.#outlet, workspace.cwd, servers);
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace });
  }

  /** It works: no other message may take its place. */
  get works(): boolean {
    return this.#turn !== undefined && !(this.#outlet.isSuspended && !this.#turn.stop.signal.aborted);
  }
  /** What the user is asked, while the turn stands still for it. */
  get waitsFor(): 'shell' | 'action' | undefined {
    return this.#turn && this.#outlet.isSuspended ? this.#frontend.waitsFor : undefined;
  }

  /** Runs a prompt to its end. One that waits for a decision in this context is stopped first. Never rejects. */
  async prompt(task: Task, text: string): Promise<void> {
    const before = this.#turn;
    if (before && this.#outlet.task === task) before.isReplaced = true;
    await this.stop();
    const turn: RunningTurn = { stop: new AbortController(), isReplaced: false, done: Promise.resolve() };
    this.#turn = turn;
    this.#outlet.begin(task);
    turn.done = this.#toEnd(turn, text);
    await turn.done;
  }

  /** The user decided about calls of that task. */
  decide(task: Task, decisions: readonly Decision[]): void {
    const isOurs = this.#turn !== undefined && this.#outlet.task === task;
    let isKnown = false;
    if (isOurs && this.#outlet.isSuspended) this.#outlet.resume();
    for (const { id, answer } of decisions) isKnown = (isOurs && this.#frontend.answer(id, answer)) || isKnown;
    if (isKnown) return;
    // Nobody waits for this decision: the state is told, and nothing else happens.
    if (isOurs && this.#frontend.waitsFor) this.#outlet.suspend();
    else if (!isOurs) task.tell(task.state === 'submitted' ? 'completed' : task.state, [], {}, true);
  }

  /** Ends the turn that runs; settles when it is over. */
  async stop(): Promise<void> {
    const turn = this.#turn;
    turn?.stop.abort(new Cancelled());
    this.#conversation.cancel();
    await turn?.done;
  }

  async #toEnd(turn: RunningTurn, text: string): Promise<void> {
    const { signal } = turn.stop;
    let state: State = 'completed';
    let error: string | undefined;
    try {
      await this.#frontend.prepare();
      signal.throwIfAborted();
      await this.#conversation.prompt([{ type: 'text', text }]);
    } catch (thrown) {
      state = thrown instanceof Cancelled ? 'canceled' : 'failed';
      if (state === 'failed') error = thrown instanceof ModelError ? thrown.message : `The agent failed: ${messageOf(thrown)}`;
    }
    this.#frontend.end();
    this.#turn = undefined;
    if (!turn.isReplaced) this.#outlet.end(state, error);
  }
}
