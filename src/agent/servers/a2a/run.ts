import path from 'node:path';
import { messageOf } from '../../../base/log.ts';
import { EXTENSION } from '../../../protocols/a2a/schema.ts';
import { AgentConversation, Cancelled, type Preferences } from '../../conversation.ts';
import type { AgentEvent, ApprovalRequest, Frontend, PermissionAnswer } from '../../frontend.ts';
import { localize } from '../../locale.ts';
import { type Model, ModelError, type ModelTool } from '../../models/model.ts';
import { Permissions } from '../../permissions.ts';
import { failed, type OutcomeDisplay, type ToolOutcome } from '../../tools/tool.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { filePatch } from '../filePatch.ts';
import type { ServedTask } from './tasks.ts';
import { type McpToolServer, offersOf, type ServedTool } from './toolServer.ts';
import type { DecisionMessage } from './wire.ts';
import { type A2aPart, isRecord, type Json, type State } from './wire.ts';

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

/** The number of last characters of a running call's output that every update repeats. */
const MOST_LIVE = 64 * 1024;

interface OpenCall {
  readonly tool: string;
  readonly input: Json;
  description?: string;
  live: string;
  rejected: boolean;
  /** It was told that the call runs. */
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
  /** Where commands run. */
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
        return this.#show(said.id, 'PENDING');
      case 'call.runs':
        return this.#runs(said.id);
      case 'call.output': {
        const call = this.#calls.get(said.id);
        if (call) call.live = (call.live + said.text).slice(-MOST_LIVE);
        return this.#show(said.id, 'EXECUTING');
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
    if (!served) return failed(`There is no tool "${call.name}" any more.`);
    if (served.asks) {
      const { server, tool } = served;
      const description = `${server.name}: ${tool}`;
      const request = { callId: call.id, tool: call.name, action: `use ${server.name}/${tool}`, description, shown: [] };
      await this.#permissions.ask(this, request, signal);
    }
    this.#show(call.id, 'EXECUTING');
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
        if (given.allow) this.#show(callId, 'EXECUTING');
        resolve(given);
      };
      const about = request.shown.some((one) => one.type === 'command') ? 'shell' : 'action';
      this.#asked.set(callId, { about, answer });
      signal.addEventListener('abort', stopped, { once: true });
      this.#show(callId, 'PENDING', { confirmation_request: requestOf(request, this.#cwd, this.#mcpTool(request.tool)) });
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
      this.#show(id, 'CANCELLED');
      this.#calls.delete(id);
    }
  }

  #served(name: string): ServedTool | undefined {
    return this.#tools.find(({ offer }) => offer.name === name);
  }

  #mcpTool(name: string): McpTool | undefined {
    const served = this.#served(name);
    return served && { server: served.server.name, tool: served.tool };
  }

  /** Told once: after the call was allowed, when it begins without being asked about, or before its end. */
  #runs(id: string): void {
    if (!this.#calls.get(id)?.ran) this.#show(id, 'EXECUTING');
  }

  #ended(id: string, outcome: ToolOutcome): void {
    const call = this.#calls.get(id);
    if (!call) return;
    const status = call.rejected ? 'CANCELLED' : outcome.isError ? 'FAILED' : 'SUCCEEDED';
    if (status !== 'CANCELLED') this.#runs(id);
    const result =
      status === 'SUCCEEDED'
        ? { output: outputOf(outcome) }
        : status === 'FAILED'
          ? { error: errorOf(call.tool, outcome, this.#served(call.tool) !== undefined) }
          : {};
    this.#show(id, status, result);
    this.#calls.delete(id);
  }

  #show(id: string, status: string, more: Json = {}): void {
    const call = this.#calls.get(id);
    if (!call) return;
    if (status === 'EXECUTING') call.ran = true;
    this.#outlet.data('confirmation_request' in more ? 'TOOL_CALL_CONFIRMATION' : 'TOOL_CALL_UPDATE', {
      tool_call_id: id,
      status,
      tool_name: call.tool,
      ...(call.description === undefined ? {} : { description: call.description }),
      input_parameters: call.input,
      ...(call.live === '' || 'output' in more ? {} : { live_content: call.live }),
      ...more,
    });
  }

  #endThought(): void {
    if (this.#thought === '') return;
    const thought = this.#thought;
    this.#thought = '';
    // Models that give a thought a heading write it in bold.
    const [, subject = '', description = thought] = /^\s*\*\*([^*\n]+)\*\*\s*([\s\S]*)$/.exec(thought) ?? [];
    this.#outlet.data('THOUGHT', { subject, description });
  }
}

/** The RFC's objects as this frontend writes them (docs/protocols/a2a.md §6). */

/** A tool of a server that the client named. */
interface McpTool {
  readonly server: string;
  readonly tool: string;
}

function diffOf(shown: readonly OutcomeDisplay[]): Json | undefined {
  const diff = shown.find((one) => one.type === 'diff');
  if (!diff) return undefined;
  return {
    file_name: path.basename(diff.path),
    file_path: diff.path,
    ...(diff.before === null ? {} : { old_content: diff.before }),
    new_content: diff.after,
    formatted_diff: filePatch(diff.path, diff.before ?? '', diff.after, { context: 4 }).text,
  };
}

/** ToolOutput: an edit, anything that has members, or text. */
function outputOf(outcome: ToolOutcome): Json {
  const diff = diffOf(outcome.shown);
  if (diff) return { diff };
  for (const one of outcome.shown) {
    if (one.type === 'todo') return { structured_data: { items: one.items } };
    if (one.type === 'task') return { structured_data: { task: one.task } };
    if (one.type === 'other' && isRecord(one.value)) return { structured_data: one.value };
  }
  return { text: [outcome.text, outcome.message].filter(Boolean).join('\n') };
}

/** Classes of failures, by the tool; named like those of Gemini CLI where it has the same tool. */
const FAILURES: Readonly<Record<string, string>> = {
  ReadFile: 'read_content_failure',
  ListDirectory: 'ls_execution_error',
  Glob: 'glob_execution_error',
  Grep: 'grep_execution_error',
  WriteFile: 'file_write_failure',
  StrReplaceFile: 'edit_no_occurrence_found',
  Shell: 'shell_execute_error',
};

/** ErrorDetails. */
export function errorOf(tool: string, outcome: ToolOutcome, mcp: boolean): Json {
  // An edit that fits fails as any writing does.
  const as = tool === 'StrReplaceFile' && outcome.isBroken ? 'WriteFile' : tool;
  const type = mcp ? 'mcp_tool_error' : (FAILURES[as] ?? 'execution_failed');
  const message = [outcome.message, outcome.text].filter(Boolean).join('\n');
  return { message, type, ...(outcome.exitCode === undefined ? {} : { status_code: outcome.exitCode }) };
}

/** ConfirmationRequest. `cwd`: where a command would run. */
function requestOf(request: ApprovalRequest, cwd: string, mcp?: McpTool): Json {
  const command = request.shown.find((one) => one.type === 'command');
  const diff = diffOf(request.shown);
  return {
    options: [
      { id: 'proceed_once', name: localize('Allow once', '允许一次') },
      { id: 'proceed_always', name: localize('Allow for this session', '在本次会话中允许'), description: request.action },
      { id: 'cancel', name: localize('Reject', '拒绝') },
    ],
    ...(mcp
      ? { mcp_details: { server_name: mcp.server, tool_name: mcp.tool } }
      : diff
        ? { file_edit_details: diff }
        : command
          ? { execute_details: { command: command.command, working_directory: cwd } }
          : { generic_details: { description: request.description } }),
  };
}

function inputOf(text: string): Json {
  try {
    const value: unknown = JSON.parse(text || '{}');
    return isRecord(value) ? value : { value };
  } catch {
    return { text };
  }
}

/** Kinds of DevelopmentToolEvent (docs/protocols/a2a.md §6). */
type Kind = 'TOOL_CALL_CONFIRMATION' | 'TOOL_CALL_UPDATE' | 'TEXT_CONTENT' | 'STATE_CHANGE' | 'THOUGHT';

/** Sends the output of a turn to its task, as events of the extension. */
class TaskOutput {
  readonly #model: string;
  #task: ServedTask | undefined;
  #isSuspended = false;

  /** `model`: the name told with every event. */
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
    this.#tell('STATE_CHANGE', 'working', []);
  }
  text(text: string): void {
    this.#tell('TEXT_CONTENT', 'working', [{ text }]);
  }
  data(kind: Kind, data: Json): void {
    this.#tell(kind, 'working', [{ data }]);
  }
  suspend(): void {
    this.#isSuspended = true;
    this.#tell('STATE_CHANGE', 'input-required', [], true);
  }
  resume(): void {
    this.#isSuspended = false;
  }
  end(state: State, error?: string): void {
    this.#isSuspended = false;
    this.#tell('STATE_CHANGE', state, error === undefined ? [] : [{ text: error }], true, error);
  }

  #tell(kind: Kind, state: State, parts: readonly A2aPart[], final = false, error?: string): void {
    const event = { kind, model: this.#model, ...(error === undefined ? {} : { error }) };
    this.#task?.tell(state, parts, { [EXTENSION]: event }, final);
  }
}
