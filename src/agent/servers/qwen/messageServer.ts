import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { textOf, type UserPart } from '../../models/model.ts';
import { VERSION } from '../../version.ts';
import { ClientTools } from './clientTools.ts';
import { Control, type Envelope, errorText, record } from './control.ts';
import { MessageLines } from './messageLines.ts';
import { QwenFrontend } from './qwenFrontend.ts';
import type { QwenServer, QwenServerOptions } from './server.ts';

const MODES: readonly string[] = ['plan', 'default', 'auto-edit', 'yolo'];
/** Milliseconds a user has for an approval, unless the client asks for more (docs/protocols/qwen.md §3.3). */
const APPROVAL_LIMIT = 60_000;
const LONGEST_APPROVAL = 600_000;

const nested: Envelope = {
  wrap: (id, subtype, payload) => ({ type: 'control_request', request_id: id, request: { subtype, ...payload } }),
  open: (message) => {
    const response = record(message.response);
    const { request_id: id, subtype } = response;
    if (message.type !== 'control_response' || typeof id !== 'string') return undefined;
    return { id, ok: subtype === 'success', payload: response.response, error: errorText(response.error) };
  },
};

/** The message dialect, as the shipped program serves it (docs/protocols/qwen.md §3). */
export class MessageServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #control: Control;
  readonly #tools: ClientTools;
  readonly #lines: MessageLines;
  readonly #frontend: QwenFrontend;
  readonly #conversation: Conversation;
  readonly #queue: (readonly UserPart[])[] = [];
  #session: string;
  #mode: string;
  #limit = APPROVAL_LIMIT;
  #turn: Promise<void> | undefined;

  constructor(options: QwenServerOptions) {
    this.#options = options;
    this.#session = options.session;
    this.#mode = MODES.includes(options.mode) ? options.mode : 'default';
    this.#control = new Control(options.write, nested);
    this.#tools = new ClientTools(this.#control);
    this.#lines = new MessageLines({
      write: options.write,
      session: () => this.#session,
      model: options.model.name,
      partials: options.partials,
      clientName: (tool) => this.#tools.fullName(tool),
    });
    this.#frontend = new QwenFrontend({
      control: this.#control,
      tools: this.#tools,
      say: (said) => this.#lines.say(said),
      permission: (tool_use_id, tool_name, input) => ({
        tool_name,
        tool_use_id,
        input,
        permission_suggestions: [
          { type: 'allow', label: 'Allow', description: tool_name },
          { type: 'deny', label: 'Deny', description: tool_name },
        ],
        blocked_path: null,
      }),
      limit: () => this.#limit,
      free: (action) => this.#mode === 'yolo' || (this.#mode === 'auto-edit' && action === 'edit file'),
    });
    const { model, workspace, store } = options;
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, store });
    this.#setMode(this.#mode);
  }

  take(message: Readonly<Record<string, unknown>>): void {
    if (typeof message.type !== 'string') return this.#die('Missing required "type" field');
    if (message.type === 'control_request') return void this.#answer(message);
    if (message.type === 'control_response') return void this.#control.take(message);
    if (message.type !== 'user') return;
    const parts = partsOf(record(message.message).content);
    // An empty prompt has no result (docs/protocols/qwen.md §3.1).
    if (textOf(parts).trim() === '') return;
    this.#queue.push(parts);
    if (!this.#turn) this.#turn = this.#work();
  }

  async end(): Promise<void> {
    this.#control.end();
    await this.#turn;
  }

  /** Whoever sends such a line is no client of this dialect (docs/protocols/qwen.md §1.5). */
  #die(why: string): void {
    process.stderr.write(`parley-agent: ${why}\n`);
    this.#options.exit(1);
  }

  /** Prompts one after the other, each with its own beginning and end. */
  async #work(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) await this.#runOne(next);
    this.#turn = undefined;
  }

  async #runOne(parts: readonly UserPart[]): Promise<void> {
    const began = performance.now();
    this.#init();
    this.#lines.result = '';
    let problem: string | undefined;
    try {
      await this.#conversation.prompt(parts);
    } catch (error) {
      problem = error instanceof Cancelled ? 'Operation cancelled.' : messageOf(error);
      if (!(error instanceof Cancelled)) this.#lines.say({ type: 'text', text: `[API Error: ${problem}]` });
      this.#lines.say({ type: 'turn.ended' });
    }
    if (/^\/(clear|reset)\b/.test(textOf(parts).trim())) this.#session = randomUUID();
    const duration = Math.max(1, Math.round(performance.now() - began));
    this.#options.write({
      type: 'result',
      subtype: problem === undefined ? 'success' : 'error_during_execution',
      uuid: randomUUID(),
      session_id: this.#session,
      is_error: problem !== undefined,
      duration_ms: duration,
      duration_api_ms: duration,
      num_turns: this.#lines.takeSteps(),
      usage: { ...this.#lines.total },
      permission_denials: [],
      ...(problem === undefined ? { result: this.#lines.result } : { error: { message: problem } }),
    });
  }

  #init(): void {
    const { workspace, model } = this.#options;
    this.#options.write({
      type: 'system',
      subtype: 'init',
      uuid: this.#session,
      session_id: this.#session,
      cwd: workspace.cwd,
      tools: this.#tools.offers.map((offer) => offer.name),
      mcp_servers: [],
      model: model.name,
      permission_mode: this.#mode,
      slash_commands: this.#commandNames(),
      agents: [],
      qwen_code_version: VERSION,
    });
  }

  #commandNames(): readonly string[] {
    return this.#conversation.commands.all.map((command) => command.name);
  }

  #setMode(mode: string): void {
    this.#mode = mode;
    if (this.#conversation.planMode !== (mode === 'plan')) this.#conversation.setPlanMode(mode === 'plan');
  }

  #answer(message: Readonly<Record<string, unknown>>): void {
    const request = record(message.request);
    const respond = (response: object) =>
      this.#options.write({ type: 'control_response', response: { request_id: message.request_id, ...response } });
    const succeed = (response: object) => respond({ subtype: 'success', response });
    const fail = (error: string) => respond({ subtype: 'error', error });
    switch (request.subtype) {
      case 'initialize': {
        const { canUseTool } = record(request.timeout);
        if (typeof canUseTool === 'number' && canUseTool > 0 && canUseTool <= LONGEST_APPROVAL) this.#limit = canUseTool;
        this.#frontend.asksQuestions = true;
        succeed({ subtype: 'initialize', session_id: this.#session, capabilities });
        for (const server of Object.keys(record(request.sdkMcpServers))) void this.#tools.connect(server);
        return;
      }
      case 'interrupt':
        this.#conversation.cancel();
        return succeed({ subtype: 'interrupt' });
      case 'set_permission_mode': {
        const mode = String(request.mode);
        if (!MODES.includes(mode)) return fail(`Invalid permission mode: ${mode}. Valid modes are: ${MODES.join(', ')}`);
        this.#setMode(mode);
        return succeed({ status: 'updated', mode });
      }
      case 'set_model':
        if (request.model !== this.#options.model.name) return fail('The model is chosen in the settings of the editor.');
        return succeed({ subtype: 'set_model', model: request.model });
      case 'supported_commands':
        return succeed({ subtype: 'supported_commands', commands: this.#commandNames() });
      case 'get_context_usage': {
        const { model } = this.#options;
        const totalTokens = this.#conversation.history.tokens;
        return succeed({ modelName: model.name, totalTokens, contextWindowSize: model.contextSize });
      }
      case 'get_available_models':
        return succeed({ models: [{ id: this.#options.model.name, label: this.#options.model.name }] });
      default:
        return fail(`Unknown control request subtype: ${String(request.subtype)}`);
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

/** A prompt: text, or blocks of it; anything else is pasted as it came, as the shipped program does. */
function partsOf(content: unknown): readonly UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (Array.isArray(content) ? content : []).map((one) => {
    const { text } = record(one);
    return { type: 'text', text: typeof text === 'string' ? text : JSON.stringify(one) };
  });
}
