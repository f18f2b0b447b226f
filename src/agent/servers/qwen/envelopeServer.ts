import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMissing, messageOf, systemCode } from '../../../base/log.ts';
import {
  errorLine,
  fatalLine,
  type HintAnswer,
  type HintSuggestion,
  heartbeatResult,
  hintResult,
  isRecord,
  type Line,
  readRequest,
  recordOf,
  sessionEvent,
  unreadableId,
} from '../../../protocols/qwen/codec.ts';
import { type ChatRequest, cancelRequest, chatRequest, type HintRequest, hintRequest, sampling } from '../../../protocols/qwen/schema.ts';
import { type Commands, commandIn } from '../../commands.ts';
import { AgentConversation, Cancelled, type TurnOverride } from '../../conversation.ts';
import { type HookName, hookNames } from '../../frontend.ts';
import type { Sampling } from '../../models/model.ts';
import { QwenClient } from './client.ts';
import { ConversationNames, EnvelopeLines } from './envelopeLines.ts';
import type { QwenServer, QwenServerOptions } from './qwenFrontend.ts';
import { type Policy, QwenFrontend } from './qwenFrontend.ts';
import { toolCalled } from './toolWords.ts';

/** The envelope dialect, as the RFC describes its command line (docs/protocols/qwen.md §4): each line of the client to where it belongs. */
export class EnvelopeServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #names: ConversationNames;
  readonly #client: QwenClient;
  readonly #chat: EnvelopeChat;
  readonly #hints: HintAnswers;

  constructor(options: QwenServerOptions) {
    const names = new ConversationNames(options.session);
    this.#options = options;
    this.#names = names;
    this.#client = new QwenClient('envelope', (line) => options.write({ ...line, session_id: names.session, prompt_id: names.prompt }));
    this.#chat = new EnvelopeChat(options, names, this.#client);
    this.#hints = new HintAnswers(options.write);
  }

  take(line: Line): void {
    switch (line.type) {
      case 'heartbeat_request':
        return this.#options.write(heartbeatResult(this.#names.session, Math.floor(Date.now() / 1000)));
      case 'command_hint_request':
        return this.#hint(line);
      case 'command_hint_cancel':
        return this.#hints.cancel(line.prompt_id);
      case 'control/cancel':
        return this.#cancel(line);
      case 'control_response':
        return this.#chat.reportProblem(line, this.#client.take(line));
      case 'control_request':
        return this.#refuseRequest(line);
      case undefined:
        return this.#prompt(line);
      default:
        return this.#chat.log('warn', `A line of an unknown type "${String(line.type).slice(0, 100)}" is ignored`);
    }
  }

  log(level: string, text: string): void {
    this.#chat.log(level, text);
  }

  async end(): Promise<void> {
    this.#client.end();
    await this.#chat.end();
  }

  #prompt(line: Line): void {
    const version = recordOf(line.metadata).protocol_version;
    if (version !== undefined && !/^1(\.|$)/.test(String(version))) {
      this.#chat.refuseVersion(String(version));
      return this.#options.exit(1);
    }
    const request = chatRequest.safeParse(fromMessages(line));
    if (request.success) return this.#chat.prompt(request.data);
    const [issue] = request.error.issues;
    const param = issue?.path.join('.') || 'input';
    this.#fatal(`a chat request needs a valid "${param}"`, 'QWEN_INVALID_INPUT', param);
  }

  #hint(line: Line): void {
    const request = hintRequest.safeParse(line);
    const { commands } = this.#chat;
    const { cwd } = this.#options.workspace;
    if (request.success) void this.#hints.answer(request.data, { session: this.#names.session, cwd, commands });
    else this.#hints.refuse(this.#names.session, line, `The request has no valid "${request.error.issues[0]?.path.join('.')}".`);
  }

  #cancel(line: Line): void {
    const { session_id, prompt_id, request_id } = cancelRequest.safeParse(line).data ?? {};
    this.#chat.cancel(session_id, prompt_id, request_id);
  }

  /** A client asks nothing on this channel. */
  #refuseRequest(line: Line): void {
    const id = unreadableId(line);
    const subtype = readRequest(line)?.subtype ?? '';
    if (id !== undefined) this.#options.write(errorLine('envelope', id, `Unknown control request subtype: ${subtype}`, false));
  }

  #fatal(message: string, code: string, param: string): void {
    this.#options.write(fatalLine(message, code, param));
    this.#options.exit(1);
  }
}

const PROTOCOL_VERSION = 1;
const APPROVAL_LIMIT = 600_000;
/** Milliseconds for a client to announce its tools. */
const TOOLS_LIMIT = 2_000;
const TOOL_SERVER = 'ide';

type PromptRequest = Extract<EnvelopeRequest, { does: 'prompt' }>;

/** The conversation of the envelope dialect: prompts one at a time, their cancelling, and what they override (docs/protocols/qwen.md §4). */
class EnvelopeChat {
  readonly #options: QwenServerOptions;
  readonly #names: ConversationNames;
  readonly #client: QwenClient;
  readonly #lines: EnvelopeLines;
  readonly #frontend: QwenFrontend;
  #conversation: AgentConversation;
  /** The client was told which protocol this is. */
  #introduced = false;
  /** The client was asked for its tools, too. */
  #greeted = false;
  /** Options that were last reported as not followed. */
  #toldLeft = '';
  /** One that was cancelled (`stop`) may still be winding up when the next one is asked for. */
  #turn: { readonly ended: Promise<void>; readonly stop: AbortController } | undefined;

  constructor(options: QwenServerOptions, names: ConversationNames, client: QwenClient) {
    const { write, workspace, format, model, mode } = options;
    const policy: Policy = { mode, limit: APPROVAL_LIMIT };
    this.#options = options;
    this.#names = names;
    this.#client = client;
    const chunks = format === 'stream-chunk-json';
    this.#lines = new EnvelopeLines({ write, chunks, cwd: workspace.cwd, names, client, policy }, model.name);
    this.#frontend = new QwenFrontend(client, this.#lines, policy);
    this.#conversation = conversationOf(options, this.#frontend);
  }

  get commands(): Commands {
    return this.#conversation.commands;
  }

  /** Refusals are recoverable: the process goes on, and the refused prompt has ended. */
  prompt(request: ChatRequest): void {
    const chat = readChat(
      request,
      this.#client.offers.map(({ name }) => name),
    );
    if (chat.does === 'prompt' && !this.#turn) this.#lines.nameModel(this.#modelNamed(chat.overrides));
    this.#introduce();
    const refuse = (message: string, code: string, retryable: boolean) => this.#refuse(request, { message, code, retryable });
    if (chat.does === 'refuse') return refuse(chat.why, chat.code, false);
    if (chat.does === 'toolResponse') {
      if (this.#client.toolResponse(chat.callId, chat.response)) return;
      return refuse(`No tool call "${chat.callId}" waits for a response here.`, 'QWEN_UNKNOWN_TOOL_CALL', false);
    }
    if (this.#turn && !this.#turn.stop.signal.aborted) return refuse('A turn is in progress.', 'QWEN_BUSY', true);
    const { session_id: session } = request;
    if (this.#greeted && this.#names.isForeign(session)) {
      const known = `This process serves "${this.#names.session}"; "_new" begins another conversation.`;
      return refuse(`There is no session "${String(session)}" here. ${known}`, 'QWEN_UNKNOWN_SESSION', false);
    }
    // The first prompt may name the conversation freely, until the client learns the server's name for it.
    if (this.#names.isForeign(session)) this.#names.call(String(session));
    this.#begin(chat, request.prompt_id, session === '_new' && this.#greeted);
  }

  cancel(session: unknown, prompt: string | null | undefined, requestId: string | null | undefined): void {
    const turn = this.#turn;
    const name = prompt || this.#names.prompt;
    const id = requestId ?? name;
    if (this.#names.isForeign(session)) return this.#lines.nothingToCancel(name, id, `There is no session "${String(session)}" here.`);
    if (!turn) return this.#lines.nothingToCancel(name, id, 'Nothing was running.');
    if (!this.#names.isNewest(prompt)) return this.#lines.nothingToCancel(name, id, 'That prompt is not running.');
    turn.stop.abort();
    this.#conversation.cancel();
    void turn.ended.then(() => this.#lines.cancelled(name, id));
  }

  /** Tells the client what is wrong with its answer on the control channel. */
  reportProblem({ request_id: id }: Line, problem: string | undefined): void {
    if (problem === undefined) return;
    this.#introduce();
    this.#lines.controlError({ request_id: id ?? null, message: problem });
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

  #begin(chat: PromptRequest, promptId: string | null | undefined, anew: boolean): void {
    const before = this.#turn?.ended;
    const take = () => {
      if (anew) {
        this.#lines.nameModel(this.#modelNamed(chat.overrides));
        this.#startOver();
      }
      this.#names.take(promptId);
    };
    // A cancelled turn writes its last lines into its own conversation.
    const waits = before !== undefined && anew;
    if (!waits) take();
    const stop = new AbortController();
    const run = () => {
      if (waits) take();
      return this.#run(chat, stop.signal);
    };
    this.#turn = { stop, ended: this.#after(before, stop, run) };
  }

  async #after(before: Promise<void> | undefined, stop: AbortController, run: () => Promise<void>): Promise<void> {
    await before;
    await run();
    if (this.#turn?.stop === stop) this.#turn = undefined;
  }

  async #run({ text, command, overrides }: PromptRequest, stop: AbortSignal): Promise<void> {
    await this.#greet();
    if (stop.aborted) return this.#lines.drop();
    const override = this.#overrideOf(overrides);
    this.#frontend.hooks = overrides.hooks;
    const called = commandIn(text);
    this.#lines.begin((override.model ?? this.#options.model).name, called && (command ?? { path: [called.name], args: called.args }));
    if (text.trim() === '') return this.#lines.fail({ message: 'The prompt is empty.', code: 'QWEN_EMPTY_INPUT', retryable: false });
    try {
      const end = await this.#conversation.prompt([{ type: 'text', text }], override);
      if (end.status === 'max_steps_reached') this.#lines.annotate(sessionEvent('MaxSessionTurns', `Stopped after ${end.steps} steps.`));
    } catch (error) {
      if (error instanceof Cancelled) return this.#lines.drop();
      return this.#lines.fail({ message: messageOf(error), retryable: true });
    }
    this.#lines.end(called && !this.commands.find(called.name) ? 'error' : 'info');
  }

  /** The name of the model that answers a prompt. */
  #modelNamed({ model: name }: Overrides): string {
    const { model: own, modelFor } = this.#options;
    return name === undefined || name === own.name ? own.name : (modelFor(name, undefined)?.name ?? own.name);
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

  /** The first completion identifies the protocol, whatever its answer is. */
  #introduce(): void {
    if (this.#introduced) return;
    this.#introduced = true;
    const { inputFormat, format, modelFor } = this.#options;
    this.#lines.metadata({
      protocol_version: PROTOCOL_VERSION,
      input_format: inputFormat,
      output_format: format,
      session_id: this.#names.session,
      capabilities: { ...capabilities, model_override: modelFor(undefined, {}) !== undefined },
    });
    this.#lines.receipt();
  }

  async #greet(): Promise<void> {
    if (this.#greeted) return;
    this.#greeted = true;
    const problem = await this.#client.connect(TOOL_SERVER, TOOLS_LIMIT);
    if (problem !== undefined) this.#lines.log('warn', problem);
  }

  /** Another conversation in the same process: the next line has its id. */
  #startOver(): void {
    this.#names.startOver(randomUUID());
    this.#conversation = conversationOf({ ...this.#options, store: this.#options.storeOf(this.#names.session) }, this.#frontend);
    this.#lines.metadata({ session_id: this.#names.session });
    this.#lines.receipt();
  }

  #refuse({ prompt_id: id }: ChatRequest, error: Line): void {
    this.#lines.refuse({ error, ...(id ? { prompt_id: id } : {}) });
  }
}

function conversationOf({ model, workspace, mode, preferences, store }: QwenServerOptions, frontend: QwenFrontend): AgentConversation {
  return new AgentConversation({ ...preferences, frontend, model, workspace, store, plan: mode === 'plan' });
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

/** A decoded chat request, or the reason to refuse it (docs/protocols/qwen.md §4, §4.5). */
type EnvelopeRequest =
  | {
      readonly does: 'prompt';
      readonly text: string;
      readonly command: { readonly path: readonly string[]; readonly args: string } | undefined;
      readonly overrides: Overrides;
    }
  | { readonly does: 'toolResponse'; readonly callId: string; readonly response: unknown }
  | { readonly does: 'refuse'; readonly why: string; readonly code: string };
/** Settings of one turn, from its request. */
interface Overrides {
  readonly model: string | undefined;
  readonly sampling: Sampling | undefined;
  /** The only tools the turn may use. */
  readonly tools: readonly string[] | undefined;
  /** The moments of the turn that its client wants to hear of. */
  readonly hooks: readonly HookName[];
  /** Options of the request that mean nothing here. */
  readonly unknown: readonly string[];
}

/** The document's debugging command holds the messages of a conversation; the last one of the user is the prompt. */
function fromMessages(line: Line): Line {
  const { input, messages, ...rest } = line;
  if (input !== undefined || !Array.isArray(messages)) return line;
  const prompt = messages.map(recordOf).findLast((one) => one.role === 'user');
  if (!prompt) return line;
  const { content } = prompt;
  return { session_id: '_new', ...rest, input: { origin: 'user', parts: content } };
}

/** Reads a chat request; `offered` are the client's own tools. */
function readChat(request: ChatRequest, offered: readonly string[]): EnvelopeRequest {
  const { input } = request;
  if (input.origin === 'tool_response') return toolResponse(request);
  const { command } = input;
  const overrides = overridesOf(request, offered);
  if (command?.kind === 'slash' && command.path) {
    const { path: words, args } = command;
    const text = asCommand(`/${[...words, args].filter(Boolean).join(' ')}`);
    return { does: 'prompt', text, command: { path: words, args: args ?? '' }, overrides };
  }
  const texts: string[] = [];
  for (const part of typeof input.parts === 'string' ? [input.parts] : (input.parts ?? [])) {
    const text = typeof part === 'string' ? part : partText(recordOf(part));
    if (text === undefined) {
      const kind = Object.keys(recordOf(part)).find((key) => key !== 'type') ?? 'unknown';
      const why = `A part of the prompt cannot be taken: ${kind}. Text and files of this machine can.`;
      return { does: 'refuse', why, code: 'QWEN_UNSUPPORTED_PART' };
    }
    texts.push(text);
  }
  const said = texts.join('\n');
  // Only a user's text can be a command.
  const text = input.origin === 'system' ? `<system-reminder>\n${said}\n</system-reminder>` : asCommand(withReferences(said, command));
  return { does: 'prompt', text, command: undefined, overrides };
}

/** The result of a tool that the client ran by itself. */
function toolResponse({ input, tool_call_id, tool_request }: ChatRequest): EnvelopeRequest {
  const given = tool_call_id ?? recordOf(tool_request).callId;
  if (typeof given !== 'string') return { does: 'refuse', why: 'A tool response needs its tool_call_id.', code: 'QWEN_INVALID_INPUT' };
  const parts = Array.isArray(input.parts) ? input.parts : [];
  const found = parts.map(recordOf).find((part) => isRecord(part.function_response) || isRecord(part.functionResponse));
  const text = parts.map((part) => (typeof part === 'string' ? part : (partText(recordOf(part)) ?? ''))).join('');
  const { response } = recordOf(found?.function_response ?? found?.functionResponse);
  return { does: 'toolResponse', callId: given, response: response ?? { output: text } };
}

/** `?` is the other sign that a command begins with: alone it asks for help. */
function asCommand(text: string): string {
  const typed = text.trim();
  return typed === '?' || typed === '/?' ? '/help' : text;
}

/** A file is named in the text, for the model to read. */
function partText(part: Line): string | undefined {
  if (typeof part.text === 'string') return part.text;
  const { file_uri: snake, fileUri: camel } = recordOf(part.file_data ?? part.fileData);
  const uri = snake ?? camel;
  if (typeof uri !== 'string') return undefined;
  if (path.isAbsolute(uri)) return `@${uri.replaceAll(' ', '\\ ')}`;
  try {
    return `@${fileURLToPath(uri).replaceAll(' ', '\\ ')}`;
  } catch {
    return undefined;
  }
}

/** References are in the text as what they resolve to; one that is not in it is added. */
function withReferences(text: string, command: ChatRequest['input']['command']): string {
  if (command?.kind !== 'at' || !command.references) return text;
  return command.references.reduce<string>((now, { original, resolved }) => {
    if (!resolved) return now;
    const reference = `@${resolved.replace(/^@/, '')}`;
    if (original && now.includes(original)) return original === reference ? now : now.split(original).join(reference);
    return now.includes(reference) ? now : `${now}\n${reference}`;
  }, text);
}

function overridesOf({ model, options }: ChatRequest, offered: readonly string[]): Overrides {
  const { tool_overrides: listed, model: optionModel, hooks: wanted, ...rest } = options ?? {};
  const hooks = hookNames.filter((moment) => wanted?.includes(moment));
  const read = sampling.safeParse(rest);
  const tools = listed?.map((word) => ({ word, tool: toolCalled(word, offered) }));
  const known = read.success ? Object.keys(sampling.shape) : [];
  return {
    model: model || (typeof optionModel === 'string' ? optionModel : undefined) || undefined,
    sampling: read.success ? samplingOf(read.data) : undefined,
    tools: tools?.flatMap(({ tool }) => tool ?? []),
    hooks,
    unknown: [
      ...(wanted ?? []).flatMap((name) => (hooks.some((moment) => moment === name) ? [] : [`the hook "${name}"`])),
      ...Object.entries(rest).flatMap(([name, value]) => (value == null || known.includes(name) ? [] : [name])),
      ...(tools ?? []).flatMap(({ word, tool }) => (tool === undefined ? [`the tool "${word}"`] : [])),
    ],
  };
}

function samplingOf(read: Readonly<Record<string, number | string | string[] | null | undefined>>): Sampling | undefined {
  const { temperature, top_p: topP, top_k: topK, max_tokens: maxOutputTokens, seed, stop } = read;
  const { presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty } = read;
  const numbers = { temperature, topP, topK, maxOutputTokens, presencePenalty, frequencyPenalty, seed };
  const set = Object.entries(numbers).filter(([, value]) => typeof value === 'number');
  const stopSequences = typeof stop === 'string' ? [stop] : Array.isArray(stop) ? stop : undefined;
  if (set.length === 0 && !stopSequences) return undefined;
  return { ...Object.fromEntries(set), ...(stopSequences ? { stopSequences } : {}) };
}

const MOST = 50;
/** Milliseconds after which the client gets a notice of a slow answer. */
const SOON = 50;

/** The sources of hints. */
interface HintContext {
  readonly session: string;
  readonly cwd: string;
  readonly commands: Commands;
}
type ListFolder = (folder: string) => Promise<readonly { readonly name: string; isDirectory(): boolean }[]>;
const onDisk: ListFolder = (folder) => readdir(folder, { withFileTypes: true });

/** Answers requests for hints (docs/protocols/qwen.md §4.6): commands at once, files when the folder is read. A request that was cancelled gets no answer. */
export class HintAnswers {
  readonly #write: (line: Line) => void;
  readonly #list: ListFolder;
  readonly #running = new Map<string, AbortController>();

  constructor(write: (line: Line) => void, list: ListFolder = onDisk) {
    this.#write = write;
    this.#list = list;
  }

  async answer(request: HintRequest, context: HintContext): Promise<void> {
    const answer = (found: HintAnswer) => this.#write(hintResult(context.session, request, found));
    // Text behind the caret is not part of the word that is typed.
    const typed = request.text.slice(0, Math.max(0, request.cursor));
    if (request.trigger === 'slash') return answer(commandHints(context.commands, typed));
    if (request.trigger !== 'at') return answer({ status: 'error', message: `There are no hints for "${request.trigger}".` });
    const running = new AbortController();
    this.#running.set(request.prompt_id, running);
    const slow = setTimeout(() => {
      if (!running.signal.aborted) answer({ status: 'loading' });
    }, SOON);
    const found = await this.#files(folderOf(request, context.cwd), context.cwd, wordAtCaret(typed));
    clearTimeout(slow);
    if (!running.signal.aborted) answer(found);
    if (this.#running.get(request.prompt_id) === running) this.#running.delete(request.prompt_id);
  }

  /** A request that cannot be read. */
  refuse(session: string, { prompt_id: id, trigger }: Line, message: string): void {
    this.#write(hintResult(session, { prompt_id: String(id ?? ''), trigger: String(trigger ?? '') }, { status: 'error', message }));
  }

  cancel(id: unknown): void {
    if (typeof id === 'string') this.#running.get(id)?.abort();
  }

  /** Files and folders that go on from what was typed after the `@`. Spaces are escaped. */
  async #files(from: string, cwd: string, typed: string): Promise<HintAnswer> {
    const given = typed.replace(/^@/, '').replaceAll('\\ ', ' ');
    const folder = given.slice(0, given.lastIndexOf('/') + 1);
    const target = path.resolve(from, folder);
    if (!isInside(cwd, target)) return { status: 'error', message: `${folder} is outside of the folder that is worked in.` };
    try {
      const suggestions = (await this.#list(target))
        .filter((entry) => entry.name.startsWith(given.slice(folder.length)) && !entry.name.startsWith('.'))
        .slice(0, MOST)
        .map((entry): HintSuggestion => {
          const name = `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`;
          return { label: name, value: name.replaceAll(' ', '\\ ') };
        });
      return { status: 'ok', suggestions, perfect: suggestions.some((one) => one.value === typed.replace(/^@/, '')) };
    } catch (error) {
      if (isMissing(error)) return { status: 'ok', suggestions: [], perfect: false };
      return { status: 'error', message: `${folder} cannot be read: ${systemCode(error) ?? messageOf(error)}` };
    }
  }
}

/** The reference that is typed: what follows the last `@` that begins a word. */
function wordAtCaret(typed: string): string {
  return /(?:^|\s)(@(?:\\ |\S)*)$/.exec(typed.slice(-4096))?.[1] ?? typed;
}

/** Commands that begin with what was typed. */
function commandHints(commands: Commands, typed: string): HintAnswer {
  const word = typed === '?' ? '?' : typed.replace(/^[/?]/, '');
  const suggestions = commands.all
    .filter((command) => command.name.startsWith(word) || (word !== '' && command.aliases.includes(word)))
    .map(({ name, description }): HintSuggestion => ({ label: name, value: name, description }));
  return { status: 'ok', suggestions, perfect: commands.find(word) !== undefined };
}

/** The folder a client looks from, where it is one of the workspace. */
function folderOf({ context }: HintRequest, cwd: string): string {
  return context?.cwd && isInside(cwd, context.cwd) ? path.resolve(cwd, context.cwd) : cwd;
}

function isInside(folder: string, target: string): boolean {
  const below = path.relative(folder, path.resolve(folder, target));
  return below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below);
}
