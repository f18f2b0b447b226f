import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { type Line, sessionEvent } from '../../../protocols/qwen/codec.ts';
import type { ChatRequest } from '../../../protocols/qwen/schema.ts';
import { type Commands, commandIn } from '../../commands.ts';
import { Cancelled, Conversation, type TurnOverride } from '../../conversation.ts';
import type { SessionStore } from '../../sessionStore.ts';
import { type Chat, type Overrides, readChat } from './chatRequest.ts';
import type { Client } from './client.ts';
import type { ConversationNames } from './conversationNames.ts';
import { EnvelopeLines } from './envelopeLines.ts';
import { type Policy, QwenFrontend } from './qwenFrontend.ts';
import type { QwenServerOptions } from './server.ts';

const PROTOCOL_VERSION = 1;
const APPROVAL_LIMIT = 600_000;
/** Milliseconds a client has to say that it lends tools. */
const TOOLS_LIMIT = 2_000;
const TOOL_SERVER = 'ide';

/** A turn that was cancelled may still be winding up when the next one is asked for. */
interface Turn {
  ended: Promise<void>;
  cancelled: boolean;
}
type Prompt = Extract<Chat, { does: 'prompt' }>;

/** The conversation of the envelope dialect: prompts one at a time, their cancelling, and what they override (docs/protocols/qwen.md §4). */
export class EnvelopeChat {
  readonly #options: QwenServerOptions;
  readonly #names: ConversationNames;
  readonly #client: Client;
  readonly #lines: EnvelopeLines;
  readonly #frontend: QwenFrontend;
  #conversation: Conversation;
  #greeted = false;
  /** Options that were last reported as not followed. */
  #toldLeft = '';
  #turn: { ended: Promise<void>; cancelled: boolean } | undefined;

  constructor(options: QwenServerOptions, names: ConversationNames, client: Client) {
    const { write, workspace, format, model, mode } = options;
    const policy: Policy = { mode, limit: APPROVAL_LIMIT };
    this.#options = options;
    this.#names = names;
    this.#client = client;
    const chunks = format === 'stream-chunk-json';
    this.#lines = new EnvelopeLines({ write, chunks, cwd: workspace.cwd, names, client, policy }, model.name);
    this.#frontend = new QwenFrontend(client, this.#lines, policy);
    this.#conversation = conversationOf(options, this.#frontend, options.store);
  }

  get commands(): Commands {
    return this.#conversation.commands;
  }

  /** Refusals are recoverable: the process goes on, and the refused prompt has ended. */
  prompt(request: ChatRequest): void {
    const refuse = (message: string, code: string, retryable: boolean) => this.#refuse(request, { message, code, retryable });
    const chat = readChat(
      request,
      this.#client.offers.map(({ name }) => name),
    );
    if (chat.does === 'refuse') return refuse(chat.why, chat.code, false);
    if (chat.does === 'toolResponse') {
      if (this.#client.toolResponse(chat.callId, chat.response)) return;
      return refuse(`No tool call "${chat.callId}" waits for a response here.`, 'QWEN_UNKNOWN_TOOL_CALL', false);
    }
    if (this.#turn && !this.#turn.cancelled) return refuse('A turn is in progress.', 'QWEN_BUSY', true);
    const { session_id: session } = request;
    if (this.#greeted && this.#names.isForeign(session)) {
      const known = `This process serves "${this.#names.session}"; "_new" begins another conversation.`;
      return refuse(`There is no session "${String(session)}" here. ${known}`, 'QWEN_UNKNOWN_SESSION', false);
    }
    // The first prompt may call the conversation as it likes, until it is told our name for it.
    if (this.#names.isForeign(session)) this.#names.call(String(session));
    this.#begin(chat, request.prompt_id, session === '_new' && this.#greeted);
  }

  cancel(session: unknown, prompt: string | null | undefined, requestId: string | null | undefined): void {
    const turn = this.#turn;
    const name = prompt || this.#names.prompt;
    const id = requestId ?? name;
    if (!turn || this.#names.isForeign(session)) return this.#lines.nothingToCancel(name, id, 'Nothing was running.');
    if (!this.#names.isNewest(prompt)) return this.#lines.nothingToCancel(name, id, 'That prompt is not running.');
    turn.cancelled = true;
    this.#conversation.cancel();
    void turn.ended.then(() => this.#lines.cancelled(name, id));
  }

  /** An answer that nobody waits for. */
  unknownReply({ request_id: id }: Line): void {
    this.#lines.controlError({ request_id: id ?? null, message: 'No such request is open.' });
  }

  /** The client speaks a version that is not served. */
  refuseVersion(version: string | number): void {
    this.#lines.metadata({ error: { code: 'unsupported_protocol', message: `Protocol ${version} is not supported.` } });
    this.#lines.finish('error');
  }

  log(level: string, text: string): void {
    this.#lines.log(level, text);
  }

  async end(): Promise<void> {
    await this.#turn?.ended;
  }

  #begin(chat: Prompt, promptId: string | null | undefined, anew: boolean): void {
    const before = this.#turn?.ended;
    const take = () => {
      if (anew) this.#startOver();
      this.#names.take(promptId);
    };
    // A cancelled turn writes its last lines into its own conversation.
    const waits = before !== undefined && anew;
    if (!waits) take();
    const turn: Turn = { cancelled: false, ended: Promise.resolve() };
    turn.ended = this.#after(before, turn, () => {
      if (waits) take();
      return this.#run(chat, turn);
    });
    this.#turn = turn;
  }

  async #after(before: Promise<void> | undefined, turn: Turn, run: () => Promise<void>): Promise<void> {
    await before;
    await run();
    if (this.#turn === turn) this.#turn = undefined;
  }

  async #run({ text, command, overrides }: Prompt, turn: Turn): Promise<void> {
    await this.#greet();
    if (turn.cancelled) return;
    const override = this.#overrideOf(overrides);
    this.#frontend.hooks = overrides.hooks;
    const called = commandIn(text);
    this.#lines.begin((override.model ?? this.#options.model).name, called && (command ?? { path: [called.name], args: called.args }));
    if (text.trim() === '') return this.#lines.fail({ message: 'The prompt is empty.', code: 'QWEN_EMPTY_INPUT', retryable: false });
    try {
      const end = await this.#conversation.prompt([{ type: 'text', text }], override);
      if (end.status === 'max_steps_reached') this.#lines.annotate(sessionEvent('MaxSessionTurns', `Stopped after ${end.steps} steps.`));
    } catch (error) {
      // The end of a cancelled turn is told by `result/cancel`, once nothing more comes of it.
      if (error instanceof Cancelled) return this.#lines.drop();
      return this.#lines.fail({ message: messageOf(error), retryable: true });
    }
    this.#lines.end(called && !this.commands.find(called.name) ? 'error' : 'info');
  }

  /** Reports options that cannot be followed, once for the same. */
  #overrideOf({ model: name, sampling, tools, unknown }: Overrides): TurnOverride {
    const { model: own, modelFor } = this.#options;
    const isOther = name !== undefined && name !== own.name;
    const model = isOther || sampling ? modelFor(isOther ? name : undefined, sampling) : undefined;
    const refused = model ? [] : [...(isOther ? [`model "${name}"`] : []), ...Object.keys(sampling ?? {})];
    const left = [...refused, ...unknown].join(', ');
    if (left !== '' && left !== this.#toldLeft)
      this.#lines.annotate(sessionEvent('OptionsNotFollowed', `"${own.name}" answers as it is set up; not followed: ${left}.`));
    this.#toldLeft = left;
    return { ...(model ? { model } : {}), ...(tools ? { mayUse: (tool) => tools.includes(tool) } : {}) };
  }

  /** The first answer says which protocol this is; then the client is asked for its tools. */
  async #greet(): Promise<void> {
    if (this.#greeted) return;
    this.#greeted = true;
    const { inputFormat, format, modelFor } = this.#options;
    this.#lines.metadata({
      protocol_version: PROTOCOL_VERSION,
      input_format: inputFormat,
      output_format: format,
      session_id: this.#names.session,
      capabilities: { ...capabilities, model_override: modelFor(undefined, {}) !== undefined },
    });
    this.#lines.receipt();
    const problem = await this.#client.connect(TOOL_SERVER, TOOLS_LIMIT);
    if (problem !== undefined) this.#lines.log('warn', problem);
  }

  /** Another conversation in the same process: the next line says what it is called. */
  #startOver(): void {
    this.#names.startOver(randomUUID());
    this.#conversation = conversationOf(this.#options, this.#frontend, this.#options.storeOf(this.#names.session));
    this.#lines.metadata({ session_id: this.#names.session });
    this.#lines.receipt();
  }

  #refuse({ prompt_id: id }: ChatRequest, error: Line): void {
    this.#lines.refuse({ error, ...(id ? { prompt_id: id } : {}) });
  }
}

function conversationOf({ model, workspace, mode }: QwenServerOptions, frontend: QwenFrontend, store: SessionStore): Conversation {
  return new Conversation({ frontend, model, workspace, store, plan: mode === 'plan' });
}

/** The features of chat requests that this server supports. */
const capabilities = {
  control: true,
  command_hint: true,
  heartbeat: true,
  cancel: true,
  session_new: true,
  at_references: true,
  file_data: true,
  tool_response: true,
  tool_overrides: true,
  hook_callback: true,
};
