import { messageOf } from '../../../base/log.ts';
import { commandIn } from '../../commands.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import type { Said } from '../../face.ts';
import { ClientTools } from './clientTools.ts';
import { Control, type Envelope, errorText, record } from './control.ts';
import { EnvelopeLines } from './envelopeLines.ts';
import { commandHints, fileHints } from './hints.ts';
import { QwenFace } from './qwenFace.ts';
import type { QwenServer, QwenServerOptions } from './server.ts';

const PROTOCOL_VERSION = 1;
const APPROVAL_LIMIT = 600_000;
/** Milliseconds a client has to say that it lends tools. */
const TOOLS_LIMIT = 2_000;
const TOOL_SERVER = 'ide';

const flat: Envelope = {
  wrap: (id, subtype, payload) => ({ type: 'control_request', request_id: id, subtype, ...payload }),
  open: (message) => {
    const { type, request_id: id } = message;
    if (type !== 'control_response' || typeof id !== 'string') return undefined;
    const response = record(message.response);
    return { id, ok: response.subtype === 'success', payload: response.result, error: errorText(response.error) };
  },
};

/** The envelope dialect, as the RFC describes its command line (qwen.md §4). */
export class EnvelopeServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #control: Control;
  readonly #tools: ClientTools;
  readonly #lines: EnvelopeLines;
  readonly #conversation: Conversation;
  #session: string;
  #prompt = '';
  #greeted = false;
  #turn: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #cancelling = false;
  /** The newest turn: a cancel may come before the conversation has it. */
  #stop = { asked: false };
  /** Text of a command that may yet turn out to be its whole result. */
  #commandText: string | undefined;

  constructor(options: QwenServerOptions) {
    this.#options = options;
    const { model, workspace, store } = options;
    this.#session = options.session;
    this.#control = new Control((message) => options.write({ ...message, session_id: this.#session, prompt_id: this.#prompt }), flat);
    this.#tools = new ClientTools(this.#control);
    this.#lines = new EnvelopeLines({
      write: options.write,
      model: model.name,
      chunks: options.format === 'stream-chunk-json',
      cwd: workspace.cwd,
      session: () => this.#session,
      clientName: (tool) => this.#tools.fullName(tool),
    });
    const face = new QwenFace({
      control: this.#control,
      tools: this.#tools,
      say: (said) => this.#say(said),
      permission: (callId, name, input, reason) => {
        this.#lines.display(callId, 'Confirming', null, { confirmation: { type: name, ...input } });
        return { tool: { name, arguments: input }, tool_call_id: callId, metadata: { reason } };
      },
      limit: () => APPROVAL_LIMIT,
      free: () => false,
    });
    this.#conversation = new Conversation({ face, model, workspace, store });
  }

  take(message: Readonly<Record<string, unknown>>): void {
    const { type } = message;
    switch (type) {
      case 'heartbeat_request':
        return this.#options.write({
          type: 'result/heartbeat',
          session_id: this.#session,
          status: 'ok',
          ts: Math.floor(Date.now() / 1000),
        });
      case 'command_hint_request':
        return this.#hint(message);
      case 'command_hint_cancel':
        return;
      case 'control/cancel':
        return this.#cancel(message);
      case 'control_response':
        if (!this.#control.take(message)) this.#lines.metadata({ control_errors: [unknownReply(message)] });
        return;
      case 'control_request':
        return this.#options.write(unknownRequest(message));
      case undefined:
        return this.#chat(message);
      default:
        return;
    }
  }

  async end(): Promise<void> {
    this.#control.end();
    await this.#turn;
  }

  #chat(message: Readonly<Record<string, unknown>>): void {
    if (message.error !== undefined || message.input === undefined)
      return this.#fatal('a chat request needs an input', 'QWEN_INVALID_INPUT');
    const input = record(message.input);
    const version = record(message.metadata).protocol_version;
    if (version !== undefined && !/^1(\.|$)/.test(String(version))) {
      this.#lines.metadata({ error: { code: 'unsupported_protocol', message: `Protocol ${String(version)} is not supported.` } });
      this.#lines.finish('error');
      return this.#options.exit(1);
    }
    if (typeof message.prompt_id === 'string') this.#prompt = message.prompt_id;
    if (input.origin === 'tool_response') return;
    const text = textIn(input);
    if (this.#turn && !this.#cancelling) return this.#refuse('A turn is in progress.');
    const stop = { asked: false };
    this.#stop = stop;
    // A turn that was cancelled may still be winding up.
    const turn = (this.#turn ?? Promise.resolve()).then(() => this.#run(text, record(input.command), stop));
    this.#cancelling = false;
    this.#turn = turn.finally(() => {
      if (this.#next === turn) this.#turn = undefined;
    });
    this.#next = turn;
  }

  async #run(text: string, command: Readonly<Record<string, unknown>>, stop: { readonly asked: boolean }): Promise<void> {
    await this.#greet();
    if (stop.asked) return;
    if (text.trim() === '') {
      this.#lines.metadata({ error: { message: 'The prompt is empty.', code: 'QWEN_EMPTY_INPUT', retryable: false } });
      return this.#lines.finish('stop');
    }
    const called = commandIn(text);
    this.#commandText = called ? '' : undefined;
    try {
      await this.#conversation.prompt([{ type: 'text', text }]);
    } catch (error) {
      // The end of a cancelled turn is told by `result/cancel`, once nothing more comes of it.
      if (error instanceof Cancelled) return this.#lines.drop();
      this.#lines.metadata({ error: { message: messageOf(error), retryable: true } });
      this.#commandText = undefined;
      return this.#lines.finish('stop');
    }
    if (this.#commandText === undefined) return this.#lines.finish('stop');
    const { path = called ? [called.name] : [], args = called?.args ?? '' } = command;
    const known = called && this.#conversation.commands.find(called.name);
    this.#options.write({
      type: 'result/command',
      session_id: this.#session,
      prompt_id: this.#prompt,
      command: { kind: 'slash', path, args },
      result: { type: 'message', level: known ? 'info' : 'error', content: this.#commandText },
    });
  }

  #say(said: Said): void {
    if (this.#commandText !== undefined) {
      if (said.type === 'text') {
        this.#commandText += said.text;
        return;
      }
      // The command became a prompt: the model answers.
      if (said.type === 'step.began') this.#commandText = undefined;
    }
    this.#lines.say(said);
  }

  /** The first answer says which protocol this is; then the client is asked for its tools. */
  async #greet(): Promise<void> {
    if (this.#greeted) return;
    this.#greeted = true;
    this.#lines.metadata({
      protocol_version: PROTOCOL_VERSION,
      input_format: 'stream-json',
      output_format: this.#options.format,
      session_id: this.#session,
      capabilities: { control: true, command_hint: true, heartbeat: true, cancel: true },
    });
    this.#lines.receipt();
    await this.#tools.connect(TOOL_SERVER, TOOLS_LIMIT);
  }

  #hint(message: Readonly<Record<string, unknown>>): void {
    const { trigger, text, prompt_id: id } = message;
    const typed = typeof text === 'string' ? text : '';
    const found = trigger === 'at' ? fileHints(this.#options.workspace.cwd, typed) : commandHints(this.#conversation.commands, typed);
    this.#options.write({
      type: 'result/command_hint',
      session_id: this.#session,
      prompt_id: id,
      trigger,
      status: 'ok',
      suggestions: found,
      metadata: { is_perfect_match: found.some((one) => one.value === typed.slice(1)) },
    });
  }

  #cancel(message: Readonly<Record<string, unknown>>): void {
    const answer = { type: 'result/cancel', session_id: this.#session, prompt_id: message.prompt_id ?? this.#prompt };
    if (!this.#conversation.cancel() && !this.#turn)
      return this.#options.write({ ...answer, status: 'noop', message: 'Nothing was running.' });
    this.#cancelling = true;
    this.#stop.asked = true;
    void this.#turn?.then(() => this.#options.write({ ...answer, status: 'ok' }));
  }

  /** Recoverable: the process goes on. */
  #refuse(message: string): void {
    this.#lines.metadata({ error: { message, retryable: true } });
    this.#lines.receipt();
  }

  #fatal(message: string, code: string): void {
    this.#options.write({ error: { message, type: 'invalid_request_error', param: null, code } });
    this.#options.exit(1);
  }
}

function textIn(input: Readonly<Record<string, unknown>>): string {
  const { kind, path, args } = record(input.command);
  if (kind === 'slash' && Array.isArray(path))
    return `/${[...path, args].filter((one) => typeof one === 'string' && one !== '').join(' ')}`;
  const parts = Array.isArray(input.parts) ? input.parts : [];
  return parts
    .map((part) => record(part).text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}

function unknownReply(message: Readonly<Record<string, unknown>>): object {
  return { request_id: message.request_id, message: 'No such request is open.' };
}

function unknownRequest(message: Readonly<Record<string, unknown>>): object {
  const { subtype } = { ...record(message.request), ...message };
  const error = { message: `Unknown control request subtype: ${String(subtype)}` };
  return { type: 'control_response', request_id: message.request_id, response: { subtype: 'error', error } };
}
