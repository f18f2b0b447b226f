import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { errorLine, type Line, recordOf, successLine } from '../../../protocols/qwen/codec.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { textOf, type UserPart } from '../../models/model.ts';
import { VERSION } from '../../version.ts';
import { Client } from './client.ts';
import { MessageLines } from './messageLines.ts';
import { MODES, type Policy, QwenFrontend } from './qwenFrontend.ts';
import type { QwenServer, QwenServerOptions } from './server.ts';
import { toolNames } from './toolWords.ts';

/** Milliseconds a user has for an approval, unless the client asks for more (docs/protocols/qwen.md §3.3). */
const APPROVAL_LIMIT = 60_000;
const LONGEST_APPROVAL = 600_000;

/** The message dialect, as the shipped program serves it (docs/protocols/qwen.md §3). */
export class MessageServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #client: Client;
  readonly #lines: MessageLines;
  readonly #frontend: QwenFrontend;
  readonly #conversation: Conversation;
  readonly #policy: Policy;
  readonly #queue: (readonly UserPart[])[] = [];
  #turn: Promise<void> | undefined;

  constructor(options: QwenServerOptions) {
    const { write, model, workspace, store, mode, session, partials } = options;
    this.#options = options;
    this.#policy = { mode, limit: APPROVAL_LIMIT };
    this.#client = new Client('message', write);
    this.#lines = new MessageLines({ write, model: model.name, partials, client: this.#client }, session);
    this.#frontend = new QwenFrontend(this.#client, this.#lines, this.#policy);
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, store, plan: mode === 'plan' });
  }

  take(line: Line): void {
    if (typeof line.type !== 'string') return this.#die('Missing required "type" field');
    if (line.type === 'control_request') return this.#answer(line);
    if (line.type === 'control_response') return void this.#client.take(line);
    if (line.type !== 'user') return;
    const parts = partsOf(recordOf(line.message).content);
    // An empty prompt has no result (docs/protocols/qwen.md §3.1).
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

  /** Ends the program: a client of this dialect sends no such line (docs/protocols/qwen.md §1.5). */
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
        return { ok: { subtype: 'initialize', session_id: this.#lines.session, capabilities } };
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

/** A prompt: text, or blocks of it; anything else is pasted as it came, as the shipped program does. */
function partsOf(content: unknown): readonly UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (Array.isArray(content) ? content : []).map((one) => {
    const { text } = recordOf(one);
    return { type: 'text', text: typeof text === 'string' ? text : JSON.stringify(one) };
  });
}
