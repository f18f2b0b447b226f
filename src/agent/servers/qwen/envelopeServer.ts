import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { messageOf } from '../../../base/log.ts';
import { commandIn } from '../../commands.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import type { AgentEvent } from '../../frontend.ts';
import { type Chat, readChat } from './chatRequest.ts';
import { ClientTools } from './clientTools.ts';
import { Control, type Envelope, errorText, record } from './control.ts';
import { ConversationNames } from './conversationNames.ts';
import { EnvelopeLines } from './envelopeLines.ts';
import { commandHints, fileHints, isCommandTyped } from './hints.ts';
import { QwenFrontend } from './qwenFrontend.ts';
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

/** The envelope dialect, as the RFC describes its command line (docs/protocols/qwen.md §4). */
export class EnvelopeServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #control: Control;
  readonly #tools: ClientTools;
  readonly #lines: EnvelopeLines;
  readonly #frontend: QwenFrontend;
  readonly #names: ConversationNames;
  #conversation: Conversation;
  #greeted = false;
  /** What of a request was last told to be not followed. */
  #toldLeft = '';
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
    this.#names = new ConversationNames(options.session);
    this.#control = new Control(
      (message) => options.write({ ...message, session_id: this.#names.session, prompt_id: this.#names.prompt }),
      flat,
    );
    this.#tools = new ClientTools(this.#control);
    this.#lines = new EnvelopeLines({
      write: options.write,
      model: model.name,
      chunks: options.format === 'stream-chunk-json',
      cwd: workspace.cwd,
      session: () => this.#names.session,
      clientName: (tool) => this.#tools.fullName(tool),
    });
    this.#frontend = new QwenFrontend({
      control: this.#control,
      tools: this.#tools,
      say: (said) => this.#say(said),
      decided: (callId, allowed) => this.#lines.decided(callId, allowed),
      permission: (callId, name, input, reason) => {
        this.#lines.display(callId, 'Confirming', null, { confirmation: { type: name, ...input } });
        return { tool: { name, arguments: input }, tool_call_id: callId, metadata: { reason } };
      },
      limit: () => APPROVAL_LIMIT,
      free: (action) => options.mode === 'yolo' || (options.mode === 'auto-edit' && action === 'edit file'),
    });
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, store });
    if (options.mode === 'plan') this.#conversation.setPlanMode(true);
  }

  take(message: Readonly<Record<string, unknown>>): void {
    const { type } = message;
    switch (type) {
      case 'heartbeat_request':
        return this.#options.write({
          type: 'result/heartbeat',
          session_id: this.#names.session,
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

  #chat(line: Readonly<Record<string, unknown>>): void {
    const message = fromMessages(line) ?? line;
    if (message.error !== undefined || message.input === undefined)
      return this.#fatal('a chat request needs an input', 'QWEN_INVALID_INPUT');
    const version = record(message.metadata).protocol_version;
    if (version !== undefined && !/^1(\.|$)/.test(String(version))) {
      this.#lines.metadata({ error: { code: 'unsupported_protocol', message: `Protocol ${String(version)} is not supported.` } });
      this.#lines.finish('error');
      return this.#options.exit(1);
    }
    const chat = readChat(message, this.#options.model.name);
    const refuse = (why: string, more: { readonly code?: string; readonly retryable: boolean }) => this.#refuse(message, why, more);
    if ('wrong' in chat) return refuse(chat.wrong, { code: chat.code, retryable: false });
    if (this.#turn && !this.#cancelling) return refuse('A turn is in progress.', { retryable: true });
    const { session_id: session } = message;
    if (this.#greeted && this.#names.isForeign(session)) {
      const known = `This process serves "${this.#names.session}"; "_new" begins another conversation.`;
      return refuse(`There is no session "${String(session)}" here. ${known}`, { code: 'QWEN_UNKNOWN_SESSION', retryable: false });
    }
    const anew = session === '_new' && this.#greeted;
    // The first prompt may call the conversation as it likes, until it is told our name for it.
    if (this.#names.isForeign(session)) this.#names.call(String(session));
    const stop = { asked: false };
    this.#stop = stop;
    // A turn that was cancelled may still be winding up.
    const begin = () => {
      if (anew) this.#startOver();
      this.#names.take(message.prompt_id);
    };
    const windsUp = this.#turn;
    if (!windsUp || !anew) begin();
    const turn = (windsUp ?? Promise.resolve()).then(() => {
      if (windsUp && anew) begin();
      return this.#run(chat, stop);
    });
    this.#cancelling = false;
    this.#turn = turn.finally(() => {
      if (this.#next === turn) this.#turn = undefined;
    });
    this.#next = turn;
  }

  async #run({ text, command, notFollowed }: Extract<Chat, { text: string }>, stop: { readonly asked: boolean }): Promise<void> {
    await this.#greet();
    if (stop.asked) return;
    const left = notFollowed.join(', ');
    if (left !== '' && left !== this.#toldLeft) {
      this.#toldLeft = left;
      const message = `"${this.#options.model.name}" answers as it is set up; not followed: ${left}.`;
      this.#lines.annotate({ type: 'x-qwen-session-event', event: 'OptionsNotFollowed', message });
    }
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
      session_id: this.#names.session,
      prompt_id: this.#names.prompt,
      command: { kind: 'slash', path, args },
      result: { type: 'message', level: known ? 'info' : 'error', content: this.#commandText },
    });
  }

  #say(said: AgentEvent): void {
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
      input_format: this.#options.inputFormat,
      output_format: this.#options.format,
      session_id: this.#names.session,
      capabilities,
    });
    this.#lines.receipt();
    await this.#tools.connect(TOOL_SERVER, TOOLS_LIMIT);
  }

  /** Another conversation in the same process: the next line says what it is called. */
  #startOver(): void {
    const { model, workspace, storeOf } = this.#options;
    this.#names.startOver(randomUUID());
    const store = storeOf(this.#names.session);
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, store });
    if (this.#options.mode === 'plan') this.#conversation.setPlanMode(true);
    this.#lines.metadata({ session_id: this.#names.session });
    this.#lines.receipt();
  }

  #hint(message: Readonly<Record<string, unknown>>): void {
    const { trigger, text, cursor, prompt_id: id } = message;
    if (trigger !== 'at' && trigger !== 'slash') return this.#hintError(message, `There are no hints for "${String(trigger)}".`);
    const whole = typeof text === 'string' ? text : '';
    // What stands behind the cursor says nothing about what is being typed.
    const typed = typeof cursor === 'number' && cursor >= 0 ? whole.slice(0, cursor) : whole;
    const { cwd } = this.#options.workspace;
    const from = record(message.context).cwd;
    const folder = typeof from === 'string' && isInside(cwd, from) ? from : cwd;
    const found = trigger === 'at' ? fileHints(folder, typed) : commandHints(this.#conversation.commands, typed);
    const perfect =
      trigger === 'at' ? found.some((one) => one.value === typed.slice(1)) : isCommandTyped(this.#conversation.commands, typed);
    this.#options.write({
      type: 'result/command_hint',
      session_id: this.#names.session,
      prompt_id: id,
      trigger,
      status: 'ok',
      suggestions: found,
      metadata: { is_perfect_match: perfect },
    });
  }

  #hintError({ trigger, prompt_id: id }: Readonly<Record<string, unknown>>, message: string): void {
    const answer = { type: 'result/command_hint', session_id: this.#names.session, prompt_id: id, trigger };
    this.#options.write({ ...answer, status: 'error', message, suggestions: [] });
  }

  #cancel(message: Readonly<Record<string, unknown>>): void {
    const { session_id: session, prompt_id: id } = message;
    const answer = { type: 'result/cancel', session_id: this.#names.session, prompt_id: id ?? this.#names.prompt };
    const noop = (why: string) => this.#options.write({ ...answer, status: 'noop', message: why });
    if (!this.#turn || this.#names.isForeign(session)) return noop('Nothing was running.');
    if (!this.#names.isNewest(id)) return noop('That prompt is not running.');
    this.#conversation.cancel();
    this.#cancelling = true;
    this.#stop.asked = true;
    void this.#turn.then(() => {
      this.#lines.annotate({ type: 'x-qwen-session-event', event: 'USER_CANCELLED', message: 'The request was cancelled.' });
      this.#options.write({ ...answer, status: 'ok' });
    });
  }

  /** Recoverable: the process goes on. The end of the refused prompt is told with it, by its name, since another one may be running. */
  #refuse(
    { prompt_id: id }: Readonly<Record<string, unknown>>,
    message: string,
    more: { readonly code?: string; readonly retryable: boolean },
  ): void {
    const busy = this.#turn !== undefined;
    this.#lines.refuse({ error: { message, ...more }, ...(typeof id === 'string' ? { prompt_id: id } : {}) }, busy ? null : 'stop');
  }

  #fatal(message: string, code: string): void {
    this.#options.write({ error: { message, type: 'invalid_request_error', param: null, code } });
    this.#options.exit(1);
  }
}

/** The document's debugging command holds the messages of a conversation; the last one of the user is the prompt. */
function fromMessages(line: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const { input, messages, ...rest } = line;
  if (input !== undefined || !Array.isArray(messages)) return undefined;
  const prompt = messages.map(record).findLast((one) => one.role === 'user');
  if (!prompt) return undefined;
  const { content } = prompt;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return { session_id: '_new', ...rest, input: { origin: 'user', parts: Array.isArray(parts) ? parts : [] } };
}

/** What of a chat request is followed, and what is told to be not. */
const capabilities = {
  control: true,
  command_hint: true,
  heartbeat: true,
  cancel: true,
  session_new: true,
  at_references: true,
  file_data: true,
  tool_response: false,
  model_override: false,
  options: [],
};

function isInside(folder: string, target: string): boolean {
  const below = path.relative(folder, path.resolve(folder, target));
  return below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below);
}

function unknownReply(message: Readonly<Record<string, unknown>>): object {
  return { request_id: message.request_id, message: 'No such request is open.' };
}

function unknownRequest(message: Readonly<Record<string, unknown>>): object {
  const { subtype } = { ...record(message.request), ...message };
  const error = { message: `Unknown control request subtype: ${String(subtype)}` };
  return { type: 'control_response', request_id: message.request_id, response: { subtype: 'error', error } };
}
