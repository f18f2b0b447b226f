import { messageOf } from '../../../base/log.ts';
import { type CallUpdate, callData, eventMetadata, thoughtData, type UpdateEvent } from '../../../protocols/a2a/codec.ts';
import type { Fields } from '../../../protocols/a2a/schema.ts';
import type { A2aPart, KnownTaskState } from '../../../protocols/a2a/versionCodec.ts';
import { AgentConversation, Cancelled, type Preferences } from '../../conversation.ts';
import type { AgentEvent, ApprovalRequest, Frontend, PermissionAnswer } from '../../frontend.ts';
import { type Model, ModelError, type ModelTool } from '../../models/model.ts';
import { Permissions } from '../../permissions.ts';
import { type ToolOutcome, toldFailed } from '../../tools/tool.ts';
import type { Workspace } from '../../workspace/paths.ts';
import type { DecisionMessage } from './requests.ts';
import type { ServedTask } from './tasks.ts';
import { type McpToolServer, offersOf, type ServedTool } from './toolServer.ts';
import { type ClientTool, errorOf, inputOf, outputOf, requestOf } from './words.ts';

interface RunningTurn {
  readonly stop: AbortController;
  /** Its task goes on with another message: that it was stopped is not the end of the task. */
  isReplaced: boolean;
  done: Promise<void>;
}

export interface RunOptions {
  readonly model: Model;
  readonly workspace: Workspace;
  readonly servers: readonly McpToolServer[];
  readonly preferences?: Preferences;
}

/** One context: its conversation, and at most one turn. */
export class TaskRunner {
  readonly #outlet: TaskOutput;
  readonly #frontend: TaskFrontend;
  readonly #conversation: AgentConversation;
  #turn: RunningTurn | undefined;

  constructor({ model, workspace, servers, preferences }: RunOptions) {
    this.#outlet = new TaskOutput(model.name);
    this.#frontend = new TaskFrontend(this.#outlet, workspace.cwd, servers);
    this.#conversation = new AgentConversation({ ...preferences, frontend: this.#frontend, model, workspace });
  }

  /** True while it works: no other message may replace it. */
  get works(): boolean {
    return this.#turn !== undefined && !(this.#outlet.isSuspended && !this.#turn.stop.signal.aborted);
  }
  /** The kind of decision that the suspended turn waits for. */
  get waitsFor(): 'shell' | 'action' | undefined {
    return this.#turn && this.#outlet.isSuspended ? this.#frontend.waitsFor : undefined;
  }

  /** Runs a prompt to its end. One that waits for a decision in this context is stopped first. Never rejects. */
  async prompt(task: ServedTask, text: string): Promise<void> {
    const before = this.#turn;
    if (before && this.#outlet.task === task) before.isReplaced = true;
    await this.stop();
    const turn: RunningTurn = { stop: new AbortController(), isReplaced: false, done: Promise.resolve() };
    this.#turn = turn;
    this.#outlet.begin(task);
    turn.done = this.#toEnd(turn, text);
    await turn.done;
  }

  /** True while the call of that task waits for the user's decision. */
  awaits(task: ServedTask, callId: string): boolean {
    return this.#turn !== undefined && this.#outlet.task === task && this.#frontend.awaits(callId);
  }

  /** The user decided about calls of that task. Ignores calls that another message has decided since. */
  decide(task: ServedTask, decisions: readonly DecisionMessage[]): void {
    const waiting = decisions.filter(({ id }) => this.awaits(task, id));
    if (waiting.length > 0) this.#outlet.resume();
    for (const { id, answer } of waiting) this.#frontend.answer(id, answer);
  }

  /** Ends the running turn; settles once it has ended. */
  async stop(): Promise<void> {
    const turn = this.#turn;
    turn?.stop.abort(new Cancelled());
    this.#conversation.cancel();
    await turn?.done;
  }

  async #toEnd(turn: RunningTurn, text: string): Promise<void> {
    const { signal } = turn.stop;
    let state: KnownTaskState = 'completed';
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

/** The number of last characters of a running call's output that every update repeats. */
const MOST_LIVE = 64 * 1024;

interface OpenCall {
  readonly tool: string;
  readonly input: Fields;
  description?: string;
  live: string;
  rejected: boolean;
  /** The client knows that the call runs. */
  ran: boolean;
}
interface Asked {
  readonly about: 'shell' | 'action';
  answer(answer: PermissionAnswer): void;
}

/** The development-tool extension, as the loop sees it: every update of a call is the whole call. */
class TaskFrontend implements Frontend {
  readonly asksQuestions = false;
  readonly hasPlanMode = false;
  readonly #outlet: TaskOutput;
  /** The folder that commands run in. */
  readonly #cwd: string;
  readonly #servers: readonly McpToolServer[];
  /** Answers for the session about tools of these servers. */
  readonly #permissions = new Permissions();
  readonly #calls = new Map<string, OpenCall>();
  readonly #asked = new Map<string, Asked>();
  #tools: readonly ServedTool[] = [];
  #thought = '';

  constructor(outlet: TaskOutput, cwd: string, servers: readonly McpToolServer[]) {
    this.#cwd = cwd;
    this.#outlet = outlet;
    this.#servers = servers;
  }

  /** Refreshes the offers of tool servers before a turn. */
  async prepare(): Promise<void> {
    this.#tools = await offersOf(this.#servers);
  }

  /** The kind of the first pending decision; undefined: none. */
  get waitsFor(): 'shell' | 'action' | undefined {
    return this.#asked.values().next().value?.about;
  }

  emit(said: AgentEvent): void {
    if (said.type === 'thought') {
      this.#thought += said.text;
      return;
    }
    this.#endThought();
    switch (said.type) {
      case 'text':
        return this.#outlet.text(said.text);
      case 'call.ready':
        this.#calls.set(said.id, { tool: said.name, input: inputOf(said.input), live: '', rejected: false, ran: false });
        return this.#show(said.id, 'pending');
      case 'call.runs':
        return this.#runs(said.id);
      case 'call.output': {
        const call = this.#calls.get(said.id);
        if (call) call.live = (call.live + said.text).slice(-MOST_LIVE);
        return this.#show(said.id, 'executing');
      }
      case 'call.ended':
        return this.#ended(said.id, said.outcome);
      case 'plan.shown':
        return this.#outlet.text(`${said.text}\n`);
      default:
        return;
    }
  }

  clientTools(): readonly ModelTool[] {
    return this.#tools.map(({ offer }) => offer);
  }

  async question(): Promise<undefined> {
    return undefined;
  }

  async hook(): Promise<undefined> {
    return undefined;
  }

  async callClient(
    call: { readonly id: string; readonly name: string; readonly input: string },
    signal: AbortSignal,
  ): Promise<ToolOutcome> {
    const served = this.#served(call.name);
    if (!served) return toldFailed(`There is no tool "${call.name}" any more.`, `工具“${call.name}”已不存在。`);
    if (served.asks) {
      const { server, tool } = served;
      const description = `${server.name}: ${tool}`;
      const request = { callId: call.id, tool: call.name, action: `use ${server.name}/${tool}`, description, shown: [] };
      await this.#permissions.ask(this, request, signal);
    }
    this.#show(call.id, 'executing');
    return served.server.call(served.tool, call.input, signal);
  }

  approve(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    signal.throwIfAborted();
    this.#endThought();
    const { callId } = request;
    const call = this.#calls.get(callId) ?? { tool: request.tool, input: {}, live: '', rejected: false, ran: false };
    call.description = request.description;
    this.#calls.set(callId, call);
    return new Promise((resolve, reject) => {
      const stopped = () => {
        this.#asked.delete(callId);
        reject(signal.reason as Error);
      };
      const answer = (given: PermissionAnswer) => {
        this.#asked.delete(callId);
        signal.removeEventListener('abort', stopped);
        call.rejected = !given.allow;
        if (given.allow) this.#show(callId, 'executing');
        resolve(given);
      };
      const about = request.shown.some((one) => one.type === 'command') ? 'shell' : 'action';
      this.#asked.set(callId, { about, answer });
      signal.addEventListener('abort', stopped, { once: true });
      this.#show(callId, 'pending', { request: requestOf(request, this.#cwd, this.#mcpTool(request.tool)) });
      this.#outlet.suspend();
    });
  }

  awaits(callId: string): boolean {
    return this.#asked.has(callId);
  }

  answer(callId: string, answer: PermissionAnswer): void {
    this.#asked.get(callId)?.answer(answer);
  }

  /** The turn is over: calls that have not ended never will. */
  end(): void {
    this.#endThought();
    for (const id of [...this.#calls.keys()]) {
      this.#show(id, 'cancelled');
      this.#calls.delete(id);
    }
  }

  #served(name: string): ServedTool | undefined {
    return this.#tools.find(({ offer }) => offer.name === name);
  }

  #mcpTool(name: string): ClientTool | undefined {
    const served = this.#served(name);
    return served && { server: served.server.name, tool: served.tool };
  }

  /** Told once: after the call was allowed, when it begins without being asked about, or before its end. */
  #runs(id: string): void {
    if (!this.#calls.get(id)?.ran) this.#show(id, 'executing');
  }

  #ended(id: string, outcome: ToolOutcome): void {
    const call = this.#calls.get(id);
    if (!call) return;
    const status = call.rejected ? 'cancelled' : outcome.isError ? 'failed' : 'succeeded';
    if (status !== 'cancelled') this.#runs(id);
    const result =
      status === 'succeeded'
        ? { output: outputOf(outcome) }
        : status === 'failed'
          ? { error: errorOf(call.tool, outcome, this.#served(call.tool) !== undefined) }
          : {};
    this.#show(id, status, result);
    this.#calls.delete(id);
  }

  #show(id: string, status: CallUpdate['status'], more: Pick<CallUpdate, 'output' | 'error' | 'request'> = {}): void {
    const call = this.#calls.get(id);
    if (!call) return;
    if (status === 'executing') call.ran = true;
    const { tool, description, input, live } = call;
    const data = callData({
      id,
      status,
      tool,
      ...(description === undefined ? {} : { description }),
      input,
      ...(live === '' || more.output ? {} : { live }),
      ...more,
    });
    this.#outlet.data(more.request ? 'tool_call_confirmation' : 'tool_call_update', data);
  }

  #endThought(): void {
    if (this.#thought === '') return;
    const thought = this.#thought;
    this.#thought = '';
    // Models that give a thought a heading write it in bold.
    const [, subject = '', description = thought] = /^\s*\*\*([^*\n]+)\*\*\s*([\s\S]*)$/.exec(thought) ?? [];
    this.#outlet.data('thought', thoughtData(subject, description));
  }
}

/** Sends the output of a turn to its task, as events of the extension. */
class TaskOutput {
  readonly #model: string;
  #task: ServedTask | undefined;
  #isSuspended = false;

  /** `model`: the name in every event. */
  constructor(model: string) {
    this.#model = model;
  }

  get task(): ServedTask | undefined {
    return this.#task;
  }
  /** A user has to decide before anything goes on. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  begin(task: ServedTask): void {
    this.#task = task;
    this.#isSuspended = false;
    this.#sendUpdate('state_change', 'working', []);
  }
  text(text: string): void {
    this.#sendUpdate('text_content', 'working', [{ text }]);
  }
  data(kind: UpdateEvent['kind'], data: Fields): void {
    this.#sendUpdate(kind, 'working', [{ data }]);
  }
  suspend(): void {
    this.#isSuspended = true;
    this.#sendUpdate('state_change', 'input-required', [], true);
  }
  resume(): void {
    this.#isSuspended = false;
  }
  end(state: KnownTaskState, error?: string): void {
    this.#isSuspended = false;
    this.#sendUpdate('state_change', state, error === undefined ? [] : [{ text: error }], true, error);
  }

  #sendUpdate(kind: UpdateEvent['kind'], state: KnownTaskState, parts: readonly A2aPart[], final = false, error?: string): void {
    const event = { kind, model: this.#model, ...(error === undefined ? {} : { error }) };
    this.#task?.publish(state, parts, eventMetadata(event), final);
  }
}
