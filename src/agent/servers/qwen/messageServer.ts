import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { errorLine, type Line, recordOf, successLine } from '../../../protocols/qwen/codec.ts';
import { AgentConversation, Cancelled } from '../../conversation.ts';
import type { AgentEvent } from '../../frontend.ts';
import { type TokenUsage, textOf, type UserPart } from '../../models/model.ts';
import { outcomeText } from '../../tools/tool.ts';
import { VERSION } from '../../version.ts';
import { QwenClient } from './client.ts';
import type { QwenServer, QwenServerOptions } from './qwenFrontend.ts';
import { type DialectLines, MODES, type Permission, type Policy, QwenFrontend } from './qwenFrontend.ts';
import { inputOf, nameOf, toolNames } from './toolWords.ts';

/** Milliseconds a user has for an approval, unless the client asks for more (docs/protocols/qwen.md §3.3). */
const APPROVAL_LIMIT = 60_000;
const LONGEST_APPROVAL = 600_000;

/** The message dialect, as Qwen Code serves it (docs/protocols/qwen.md §3). */
export class MessageServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #client: QwenClient;
  readonly #lines: MessageLines;
  readonly #frontend: QwenFrontend;
  readonly #conversation: AgentConversation;
  readonly #policy: Policy;
  readonly #queue: (readonly UserPart[])[] = [];
  #turn: Promise<void> | undefined;

  constructor(options: QwenServerOptions) {
    const { write, model, workspace, store, mode, session, partials, preferences } = options;
    this.#options = options;
    this.#policy = { mode, limit: APPROVAL_LIMIT };
    this.#client = new QwenClient('message', write);
    this.#lines = new MessageLines({ write, model: model.name, partials, client: this.#client }, session);
    this.#frontend = new QwenFrontend(this.#client, this.#lines, this.#policy);
    this.#conversation = new AgentConversation({
      ...preferences,
      frontend: this.#frontend,
      model,
      workspace,
      store,
      plan: mode === 'plan',
    });
    // A session that was taken up may be in it.
    if (this.#conversation.planMode) this.#policy.mode = 'plan';
  }

  take(line: Line): void {
    if (typeof line.type !== 'string') return this.#die('Missing required "type" field');
    if (line.type === 'control_request') return this.#answer(line);
    if (line.type === 'control_response') return void this.#client.take(line);
    if (line.type !== 'user') return;
    const parts = partsOf(recordOf(line.message).content);
    // An empty prompt has no result (docs/protocols/qwen.md §3).
    if (textOf(parts).trim() === '') return;
    this.#queue.push(parts);
    if (!this.#turn) this.#turn = this.#work();
  }

  log(_level: string, text: string): void {
    process.stderr.write(`parley-agent: ${text}\n`);
  }

  async end(): Promise<void> {
    this.#client.end();
    await this.#turn;
  }

  /** Ends the program: a client of this dialect sends no such line (docs/protocols/qwen.md §1). */
  #die(why: string): void {
    this.log('error', why);
    this.#options.exit(1);
  }

  /** Prompts one after the other, each with its own beginning and end. */
  async #work(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) await this.#runOne(next);
    this.#turn = undefined;
  }

  async #runOne(parts: readonly UserPart[]): Promise<void> {
    const began = performance.now();
    this.#lines.begin({
      cwd: this.#options.workspace.cwd,
      tools: [...toolNames, ...this.#client.offers.map(({ name }) => this.#client.fullName(name) ?? name)],
      mcp_servers: this.#client.servers.map((name) => ({ name, status: 'connected' })),
      permission_mode: this.#policy.mode,
      slash_commands: this.#commandNames(),
      agents: [],
      qwen_code_version: VERSION,
    });
    let problem: string | undefined;
    try {
      await this.#conversation.prompt(parts);
    } catch (error) {
      problem = error instanceof Cancelled ? 'Operation cancelled.' : messageOf(error);
      if (!(error instanceof Cancelled)) this.#lines.emit({ type: 'text', text: `[API Error: ${problem}]` });
      this.#lines.emit({ type: 'turn.ended' });
    }
    if (/^\/(clear|reset)\b/.test(textOf(parts).trim())) this.#lines.session = randomUUID();
    this.#lines.result(Math.max(1, Math.round(performance.now() - began)), problem);
  }

  #commandNames(): readonly string[] {
    return this.#conversation.commands.all.map((command) => command.name);
  }

  #answer(line: Line): void {
    const { request_id: id } = line;
    if (typeof id !== 'string') return this.log('error', 'a control request has no id');
    const answer = this.#answerTo(recordOf(line.request));
    this.#options.write('error' in answer ? errorLine('message', id, answer.error, true) : successLine('message', id, answer.ok));
    if (recordOf(line.request).subtype === 'initialize') void this.#connect(recordOf(recordOf(line.request).sdkMcpServers));
  }

  #answerTo(request: Line): { readonly ok: Line } | { readonly error: string } {
    const { model } = this.#options;
    switch (request.subtype) {
      case 'initialize': {
        const { canUseTool } = recordOf(request.timeout);
        if (typeof canUseTool === 'number' && canUseTool > 0 && canUseTool <= LONGEST_APPROVAL) this.#policy.limit = canUseTool;
        this.#frontend.asksQuestions = true;
        const { mode } = this.#policy;
        return { ok: { subtype: 'initialize', session_id: this.#lines.session, current_permission_mode: mode, capabilities } };
      }
      case 'interrupt':
        this.#conversation.cancel();
        return { ok: { subtype: 'interrupt' } };
      case 'set_permission_mode':
        return this.#setMode(String(request.mode));
      case 'set_model':
        if (request.model !== model.name) return { error: 'The model is chosen in the settings of the editor.' };
        return { ok: { subtype: 'set_model', model: request.model } };
      case 'supported_commands':
        return { ok: { subtype: 'supported_commands', commands: this.#commandNames() } };
      case 'get_context_usage':
        return { ok: { modelName: model.name, totalTokens: this.#conversation.history.tokens, contextWindowSize: model.contextSize } };
      case 'get_available_models':
        return { ok: { models: [{ id: model.name, label: model.name }] } };
      default:
        return { error: `Unknown control request subtype: ${String(request.subtype)}` };
    }
  }

  #setMode(wanted: string): { readonly ok: Line } | { readonly error: string } {
    const mode = MODES.find((one) => one === wanted);
    if (!mode) return { error: `Invalid permission mode: ${wanted}. Valid modes are: ${MODES.join(', ')}` };
    if (this.#conversation.planMode !== (mode === 'plan')) this.#conversation.setPlanMode(mode === 'plan');
    this.#policy.mode = mode;
    return { ok: { status: 'updated', mode } };
  }

  async #connect(servers: Line): Promise<void> {
    for (const server of Object.keys(servers)) {
      const problem = await this.#client.connect(server);
      if (problem !== undefined) this.log('warn', problem);
    }
  }
}

const capabilities = {
  can_handle_can_use_tool: true,
  can_handle_hook_callback: false,
  can_set_permission_mode: true,
  can_set_model: false,
  can_set_effort: false,
  can_get_context_usage: true,
  can_get_available_models: true,
  can_handle_mcp_message: true,
};

/** A prompt: text, or blocks of it; anything else is pasted as it came, as Qwen Code does. */
function partsOf(content: unknown): readonly UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (Array.isArray(content) ? content : []).map((one) => {
    const { text } = recordOf(one);
    return { type: 'text', text: typeof text === 'string' ? text : JSON.stringify(one) };
  });
}

interface MessageLinesOptions {
  readonly write: (line: Line) => void;
  readonly model: string;
  readonly partials: boolean;
  readonly client: QwenClient;
}
type Block = { readonly type: string } & Line;
/** A block whose end was not written yet. */
interface OpenBlock {
  readonly kind: 'text' | 'thinking';
  readonly text: string;
}
/** Output of the model in this round that no whole message holds yet. */
class MessageRound {
  #open: OpenBlock | undefined;
  #calls: readonly Block[] = [];

  get calls(): readonly Block[] {
    return this.#calls;
  }

  isIn(kind: OpenBlock['kind']): boolean {
    return this.#open?.kind === kind;
  }

  grow(kind: OpenBlock['kind'], text: string): void {
    this.#open = { kind, text: this.isIn(kind) ? `${this.#open?.text}${text}` : text };
  }

  call(call: Block): void {
    this.#calls = [...this.#calls, call];
  }

  takeOpen(): OpenBlock | undefined {
    const open = this.#open;
    this.#open = undefined;
    return open;
  }
  takeCalls(): readonly Block[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }
}
/** The figures of a turn's result. */
class ResultFigures {
  #steps = 0;
  #lastText = '';
  readonly #denials: Line[] = [];
  /** Calls that were told of and have no result, with their blocks. */
  readonly #unanswered = new Map<string, Block>();

  get figures(): { readonly steps: number; readonly text: string; readonly denials: readonly Line[] } {
    return { steps: this.#steps, text: this.#lastText, denials: this.#denials };
  }

  step(): void {
    this.#steps += 1;
  }
  noteText(text: string): void {
    this.#lastText = text;
  }
  called(id: string, block: Block): void {
    this.#unanswered.set(id, block);
  }
  answered(id: string): void {
    this.#unanswered.delete(id);
  }
  denied(id: string): void {
    const call = this.#unanswered.get(id);
    if (call) this.#denials.push({ tool_name: call.name, tool_use_id: id, tool_input: call.input });
  }

  takeUnanswered(): readonly string[] {
    const ids = [...this.#unanswered.keys()];
    this.#unanswered.clear();
    return ids;
  }
}

/** Writes a turn as lines of the message dialect: one assistant message for each kind of block, results as user lines (docs/protocols/qwen.md §3.7). */
class MessageLines implements DialectLines {
  session: string;
  readonly #options: MessageLinesOptions;
  readonly #parent: string | null;
  readonly #subs = new Map<string, MessageLines>();
  readonly #total = { input_tokens: 0, output_tokens: 0 };
  #round = new MessageRound();
  #tally = new ResultFigures();

  constructor(options: MessageLinesOptions, session: string, parent: string | null = null) {
    this.#options = options;
    this.session = session;
    this.#parent = parent;
  }

  // --- a turn

  begin(about: Line): void {
    this.#tally = new ResultFigures();
    const { session, model } = { session: this.session, model: this.#options.model };
    this.#options.write({ type: 'system', subtype: 'init', uuid: session, session_id: session, model, ...about });
  }

  result(duration: number, problem: string | undefined): void {
    const { steps, text, denials } = this.#tally.figures;
    this.#options.write({
      type: 'result',
      subtype: problem === undefined ? 'success' : 'error_during_execution',
      uuid: randomUUID(),
      session_id: this.session,
      is_error: problem !== undefined,
      duration_ms: duration,
      duration_api_ms: duration,
      num_turns: steps,
      usage: { ...this.#total },
      permission_denials: denials,
      ...(problem === undefined ? { result: text } : { error: { message: problem } }),
    });
  }

  // --- what happens in it

  emit(event: AgentEvent): void {
    switch (event.type) {
      case 'step.started':
        this.#tally.step();
        return this.#stream({
          type: 'message_start',
          message: { id: randomUUID(), role: 'assistant', model: this.#options.model, content: [] },
        });
      case 'step.retry': {
        const { calls } = this.#round;
        this.#round = new MessageRound();
        for (const call of calls) this.#tally.answered(String(call.id));
        return this.#line({
          type: 'system',
          subtype: 'retry',
          data: { message: event.reason, attempt: event.nextAttempt, wait: event.wait },
        });
      }
      case 'text':
        return this.#grow('text', event.text);
      case 'thought':
        return this.#grow('thinking', event.text);
      case 'call.started':
        return this.#cut();
      case 'call.ready':
        return this.#call(event.id, event.name, event.input);
      case 'status':
        if (event.usage) {
          this.#total.input_tokens += event.usage.input;
          this.#total.output_tokens += event.usage.output;
        }
        return this.#endRound(event.usage);
      case 'call.ended': {
        const { isError } = event.outcome;
        const content = outcomeText(event.outcome, '\n\n');
        this.#tally.answered(event.id);
        return this.#results([{ type: 'tool_result', tool_use_id: event.id, is_error: isError, content }]);
      }
      case 'sub': {
        const known = this.#subs.get(event.callId);
        const lines = known ?? new MessageLines({ ...this.#options, partials: false }, this.session, event.callId);
        if (!known) this.#subs.set(event.callId, lines);
        return lines.emit(event.said);
      }
      case 'turn.ended':
        for (const lines of this.#subs.values()) lines.emit(event);
        this.#subs.clear();
        this.#endRound(undefined);
        return this.#cutOff();
      default:
        return;
    }
  }

  permission({ callId, name, input }: Permission): object {
    return {
      tool_name: name,
      tool_use_id: callId,
      input,
      permission_suggestions: [
        { type: 'allow', label: 'Allow', description: name },
        { type: 'deny', label: 'Deny', description: name },
      ],
      blocked_path: null,
    };
  }

  decided(callId: string, allowed: boolean): void {
    if (!allowed) this.#tally.denied(callId);
  }

  #grow(kind: 'text' | 'thinking', text: string): void {
    if (!this.#round.isIn(kind)) {
      this.#cut();
      this.#stream({ type: 'content_block_start', index: 0, content_block: { type: kind, [kind]: '' } });
    }
    this.#round.grow(kind, text);
    this.#stream({ type: 'content_block_delta', index: 0, delta: { type: `${kind}_delta`, [kind]: text } });
  }

  /** The open block becomes a message of its own. */
  #cut(usage?: TokenUsage): void {
    const open = this.#round.takeOpen();
    if (!open) return;
    this.#stream({ type: 'content_block_stop', index: 0 });
    if (open.kind === 'text') this.#tally.noteText(open.text);
    this.#assistant([{ type: open.kind, [open.kind]: open.text }], null, usage);
  }

  #call(id: string, name: string, input: string): void {
    this.#cut();
    const block = { type: 'tool_use', id, name: this.#options.client.fullName(name) ?? nameOf(name), input: inputOf(name, input) };
    this.#stream({ type: 'content_block_start', index: this.#round.calls.length, content_block: { ...block, input: {} } });
    this.#stream({
      type: 'content_block_delta',
      index: this.#round.calls.length,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    });
    this.#stream({ type: 'content_block_stop', index: this.#round.calls.length });
    this.#round.call(block);
    this.#tally.called(id, block);
  }

  #endRound(usage: TokenUsage | undefined): void {
    this.#cut(usage);
    const calls = this.#round.takeCalls();
    if (calls.length > 0) this.#assistant(calls, 'tool_use', usage);
    this.#stream({ type: 'message_stop' });
  }

  #assistant(content: readonly Block[], stop: string | null, usage: TokenUsage | undefined): void {
    const id = randomUUID();
    const tokens = { input_tokens: usage?.input ?? 0, output_tokens: usage?.output ?? 0 };
    const message = { id, type: 'message', role: 'assistant', model: this.#options.model, content, stop_reason: stop, usage: tokens };
    this.#line({ type: 'assistant', uuid: id, message });
  }

  /** A turn that was stopped leaves no call without a result (docs/protocols/qwen.md §7). */
  #cutOff(): void {
    for (const id of this.#tally.takeUnanswered()) {
      const content = '[Operation Cancelled] Reason: Request aborted';
      this.#results([{ type: 'tool_result', tool_use_id: id, is_error: true, content }]);
    }
  }

  #results(content: readonly Block[]): void {
    this.#line({ type: 'user', uuid: randomUUID(), message: { role: 'user', content } });
  }

  #stream(event: Line): void {
    if (this.#options.partials) this.#line({ type: 'stream_event', uuid: randomUUID(), event });
  }

  #line(line: Line): void {
    this.#options.write({ ...line, session_id: this.session, parent_tool_use_id: this.#parent });
  }
}
