import type { AgentEvent, ApprovalAnswer, ApprovalRequest, Frontend } from '../../frontend.ts';
import type { ToolOffer } from '../../models/model.ts';
import { Permissions } from '../../permissions.ts';
import { failed, type Outcome } from '../../tools/tool.ts';
import type { Outlet } from './outlet.ts';
import { errorOf, inputOf, type McpTool, outputOf, requestOf } from './shapes.ts';
import { offersOf, type ServedTool, type ToolServer } from './toolServer.ts';
import type { Json } from './wire.ts';

/** Characters of what a running call has printed: every update repeats them. The last ones are told. */
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
  answer(answer: ApprovalAnswer): void;
}

/** The development-tool extension, as the loop sees it: every update of a call is the whole call. */
export class TaskFrontend implements Frontend {
  readonly asksQuestions = false;
  readonly hasPlanMode = false;
  readonly #outlet: Outlet;
  /** Where commands run. */
  readonly #cwd: string;
  readonly #servers: readonly ToolServer[];
  /** Answers for the session about tools of these servers. */
  readonly #permissions = new Permissions();
  readonly #calls = new Map<string, OpenCall>();
  readonly #asked = new Map<string, Asked>();
  #tools: readonly ServedTool[] = [];
  #thought = '';

  constructor(outlet: Outlet, cwd: string, servers: readonly ToolServer[]) {
    this.#cwd = cwd;
    this.#outlet = outlet;
    this.#servers = servers;
  }

  /** Before a turn: what tool servers offer just now. */
  async prepare(): Promise<void> {
    this.#tools = await offersOf(this.#servers);
  }

  /** What the user has to decide about first; undefined: nothing. */
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

  clientTools(): readonly ToolOffer[] {
    return this.#tools.map(({ offer }) => offer);
  }

  async question(): Promise<undefined> {
    return undefined;
  }

  async hook(): Promise<undefined> {
    return undefined;
  }

  async callClient(call: { readonly id: string; readonly name: string; readonly input: string }, signal: AbortSignal): Promise<Outcome> {
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

  approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
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
      const answer = (given: ApprovalAnswer) => {
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

  /** False when nobody asked about that call. */
  answer(callId: string, answer: ApprovalAnswer): boolean {
    const asked = this.#asked.get(callId);
    asked?.answer(answer);
    return asked !== undefined;
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

  #ended(id: string, outcome: Outcome): void {
    const call = this.#calls.get(id);
    if (!call) return;
    const status = call.rejected ? 'CANCELLED' : outcome.isError ? 'FAILED' : 'SUCCEEDED';
    // A call that needs no approval is told as running, too.
    if (status !== 'CANCELLED' && !call.ran) this.#show(id, 'EXECUTING');
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
