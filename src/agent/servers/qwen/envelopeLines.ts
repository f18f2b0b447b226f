import path from 'node:path';
import {
  type Annotation,
  cancelResult,
  commandResult,
  completionLine,
  type DisplayStatus,
  type Line,
  promptName,
  readPromptName,
  sessionEvent,
  successLine,
  terminalNote,
  thoughtNote,
  toolDisplay,
} from '../../../protocols/qwen/codec.ts';
import type { Display } from '../../../protocols/qwen/schema.ts';
import type { AgentEvent } from '../../frontend.ts';
import { type OutcomeDisplay, outcomeText, type ToolOutcome } from '../../tools/tool.ts';
import { filePatch } from '../filePatch.ts';
import type { QwenClient } from './client.ts';
import type { DialectLines, Permission, Policy } from './qwenFrontend.ts';
import { inputOf, nameOf } from './toolWords.ts';

/** The client's names for the conversation and its prompts (docs/protocols/qwen.md §4.1). */
export class ConversationNames {
  #session: string;
  /** Another name the client gave it before it was told ours. */
  #alias: string | undefined;
  #prompt = '';
  #prompts = 0;

  constructor(session: string) {
    this.#session = session;
  }

  get session(): string {
    return this.#session;
  }

  /** The newest prompt that was taken. */
  get prompt(): string {
    return this.#prompt;
  }

  /** True for the name of another conversation; `_new` and an absent name never are. */
  isForeign(session: unknown): boolean {
    return typeof session === 'string' && session !== '' && session !== '_new' && session !== this.#session && session !== this.#alias;
  }

  call(alias: string): void {
    this.#alias = alias;
  }

  /** Another conversation begins. */
  startOver(session: string): void {
    this.#session = session;
    this.#alias = undefined;
    this.#prompts = 0;
    this.#prompt = '';
  }

  /** A prompt is taken; one that the client has not named is counted. */
  take(given: unknown): void {
    this.#prompts += 1;
    this.#prompt = typeof given === 'string' && given !== '' ? given : promptName(this.#session, this.#prompts);
  }

  /** Whether a cancel of `given` is one of the newest prompt; a client may have named it before it knew the session. */
  isNewest(given: unknown): boolean {
    if (typeof given !== 'string' || given === '') return true;
    return this.#known(given) === this.#known(this.#prompt);
  }

  #known(prompt: string): string {
    const name = readPromptName(prompt);
    const isOurs = name && (name.session === '_new' || name.session === this.#session || name.session === this.#alias);
    return isOurs ? promptName('', name.count) : prompt;
  }
}

export interface EnvelopeLinesOptions {
  readonly write: (line: Line) => void;
  readonly chunks: boolean;
  readonly cwd: string;
  readonly names: ConversationNames;
  readonly client: QwenClient;
  readonly policy: Policy;
}
/** An open call that the client knows of. */
interface OpenCall {
  readonly name: string;
  readonly input: Line;
  /** It waits to run, is asked about, was refused, or runs. */
  state: 'waiting' | 'asked' | 'refused' | 'running';
  /** The calls of a sub-agent. */
  readonly task: Map<string, TaskCall>;
  /** The beginning of a colour sequence whose end has not been printed yet, by where it is printed. */
  readonly held: { stdout: string; stderr: string };
}
type TaskCall = NonNullable<NonNullable<Display['toolCalls']>>[number];
interface RoundCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}
/** Output of the model in this step that is not written yet. */
class EnvelopeRound {
  #text = '';
  #thought = '';
  #calls: readonly RoundCall[] = [];
  #spoke = false;

  get calls(): readonly RoundCall[] {
    return this.#calls;
  }

  addText(text: string): void {
    this.#text += text;
  }
  addThought(text: string): void {
    this.#thought += text;
  }

  /** Returns the place of the call. */
  call(call: RoundCall): number {
    this.#calls = [...this.#calls, call];
    return this.#calls.length - 1;
  }

  takeText(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
  takeThought(): string {
    const thought = this.#thought;
    this.#thought = '';
    return thought;
  }
  takeCalls(): readonly RoundCall[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** The role goes with the first piece only. */
  takeRole(): { readonly role?: 'assistant' } {
    const role = this.#spoke ? {} : ({ role: 'assistant' } as const);
    this.#spoke = true;
    return role;
  }
}
/** A command that may yet turn out to be answered by itself. */
interface Command {
  readonly path: readonly string[];
  readonly args: string;
}
/** The command, and what it said. */
interface RunningCommand extends Command {
  readonly text: string;
}
type Usage = { readonly input: number; readonly output: number };
/** Members that the next line carries besides its own. */
class NextLineMembers {
  #usage: Usage | undefined;
  #metadata: Line | undefined;

  addUsage(usage: Usage): void {
    this.#usage = usage;
  }
  addMetadata(metadata: Line): void {
    this.#metadata = { ...this.#metadata, ...metadata };
  }

  /** For a line that carries usage, or one that leaves it to a later one. */
  take(withUsage: boolean): { readonly usage: Usage | undefined; readonly metadata: Line | undefined } {
    const taken = { usage: withUsage ? this.#usage : undefined, metadata: this.#metadata };
    if (withUsage) this.#usage = undefined;
    this.#metadata = undefined;
    return taken;
  }
}
/** Tokens of the conversation, and what they were before it is shortened. */
class TokenCount {
  #now = 0;
  #before: number | undefined;

  beginToShorten(): void {
    this.#before = this.#now;
  }

  /** Returns what they were before, when it was being shortened. */
  count(now: number): number | undefined {
    const before = this.#before;
    this.#now = now;
    this.#before = undefined;
    return before;
  }
}
const HELD = /\u001b(?:\[[0-9;]*)?$/;

/** Writes a turn as `chat.completion` lines or chunks with their annotations (docs/protocols/qwen.md §4.2, §4.3). */
export class EnvelopeLines implements DialectLines {
  readonly #options: EnvelopeLinesOptions;
  readonly #calls = new Map<string, OpenCall>();
  #round = new EnvelopeRound();
  #luggage = new NextLineMembers();
  #command: RunningCommand | undefined;
  readonly #tokens = new TokenCount();
  #model: string;

  constructor(options: EnvelopeLinesOptions, model: string) {
    this.#options = options;
    this.#model = model;
  }

  // --- a turn

  /** The model that the next lines name. */
  nameModel(model: string): void {
    this.#model = model;
  }
  /** A turn of this model; of a command, when it begins with one. */
  begin(model: string, command: Command | undefined): void {
    this.#model = model;
    this.#command = command && { ...command, text: '' };
  }

  /** A command that answered by itself is marked; anything else ends with a last line, which nothing follows. */
  end(level: 'info' | 'error'): void {
    const command = this.#command;
    this.#command = undefined;
    if (!command) return this.finish('stop');
    this.#commandResult(command, { type: 'message', level, content: command.text });
  }

  fail(error: Line): void {
    this.#command = undefined;
    this.metadata({ error });
    this.finish('stop');
  }

  finish(reason: string): void {
    this.#flushThought();
    const annotations = [sessionEvent('Finished')];
    if (this.#options.chunks) this.#line({ annotations }, reason);
    else this.#line({ content: this.#round.takeText(), annotations }, reason);
    this.#calls.clear();
  }

  /**
   * Ends a cancelled turn without the output that is not written yet, and shows its open calls as cancelled. A client that reads completions only
   * waits for the `finish_reason`.
   */
  drop(): void {
    this.#command = undefined;
    this.#round = new EnvelopeRound();
    for (const id of this.#calls.keys()) this.#display(id, 'Canceled', null);
    this.#calls.clear();
    const annotations = [sessionEvent('USER_CANCELLED', 'The request was cancelled.')];
    this.#line({ ...(this.#options.chunks ? {} : { content: null }), annotations }, 'stop');
  }

  /** Confirms a cancel, behind everything that the turn still said. */
  cancelled(prompt: string, requestId: string): void {
    this.#cancelResult(prompt, requestId, 'ok');
  }
  nothingToCancel(prompt: string, requestId: string, why: string): void {
    this.#cancelResult(prompt, requestId, 'noop', why);
  }

  /** Goes out with the next line: the handshake, or a fault. */
  metadata(metadata: Line): void {
    this.#luggage.addMetadata(metadata);
  }

  /** A line without content: it carries the metadata. */
  receipt(): void {
    this.#line(this.#options.chunks ? { role: 'assistant' } : { content: null }, null);
  }

  /** A prompt that is not taken, which ends with this line; what waits for the next line of the running one stays. */
  refuse(metadata: Line): void {
    this.#beside(metadata, () => this.#line(this.#options.chunks ? {} : { content: null }, 'stop'));
  }

  /** Reports an answer on the control channel to no pending request. */
  controlError(error: Line): void {
    this.#beside({ control_errors: [error] }, () => this.receipt());
  }

  /** Writes a line with this metadata alone; what waits for the next line goes on waiting. */
  #beside(metadata: Line, write: () => void): void {
    const waiting = this.#luggage;
    this.#luggage = new NextLineMembers();
    this.#luggage.addMetadata(metadata);
    write();
    this.#luggage = waiting;
  }

  /** Writes a log message of the program in a line of its own. */
  log(level: string, text: string): void {
    const { write, names } = this.#options;
    const scope = level === 'debug' ? 'debug' : 'system';
    write(terminalNote({ channel: 'stderr', source: 'console', level, text, scope, prompt: names.prompt }));
  }

  annotate(annotation: Annotation): void {
    if (!this.#options.chunks) this.#flushText();
    this.#piece({ annotations: [annotation] });
  }

  // --- what happens in it

  emit(said: AgentEvent): void {
    switch (said.type) {
      case 'step.started':
        this.#becomesPrompt();
        this.#flushThought();
        this.#flushText();
        this.#round = new EnvelopeRound();
        return;
      case 'step.retry':
        this.#takeBack();
        return this.annotate(sessionEvent('Retry', `Trying again: ${said.reason}`));
      case 'text':
        return this.#text(said.text);
      case 'thought':
        return this.#round.addThought(said.text);
      case 'cut':
        return this.annotate(sessionEvent('MAX_TOKENS', said.text));
      case 'call.ready':
        return this.#call(said.id, said.name, said.input);
      case 'status':
        return this.#status(said);
      case 'call.runs':
        return this.#runs(said.id);
      case 'call.output':
        return this.#output(said.id, said.text, said.from ?? 'stdout');
      case 'call.ended':
        return this.#ended(said.id, said.outcome);
      case 'sub':
        return this.#sub(said);
      case 'compaction.started':
        return this.#tokens.beginToShorten();
      default:
        return;
    }
  }

  permission({ callId, name, input, reason, confirmation }: Permission): object {
    const call = this.#calls.get(callId);
    if (call) call.state = 'asked';
    this.#display(callId, 'Confirming', null, confirmation);
    return { tool: { name, arguments: input }, tool_call_id: callId, metadata: { reason } };
  }

  decided(callId: string, allowed: boolean): void {
    const call = this.#calls.get(callId);
    if (!allowed && call) call.state = 'refused';
    if (allowed) this.#runs(callId);
  }

  #text(text: string): void {
    if (this.#command) {
      this.#command = { ...this.#command, text: this.#command.text + text };
      return;
    }
    this.#flushThought();
    if (this.#options.chunks) this.#piece({ content: text });
    else this.#round.addText(text);
  }

  /** The step is tried again: its calls never run. */
  #takeBack(): void {
    const { calls } = this.#round;
    this.#round = new EnvelopeRound();
    for (const { id } of calls) {
      if (this.#options.chunks) this.#display(id, 'Canceled', null);
      this.#calls.delete(id);
    }
  }

  /** The command became a prompt: the model answers. */
  #becomesPrompt(): void {
    const command = this.#command;
    this.#command = undefined;
    if (command) this.#commandResult(command, { type: 'submit_prompt', content: [] });
  }

  #call(id: string, name: string, text: string): void {
    this.#flushThought();
    const input = inputOf(name, text);
    const told = this.#options.client.fullName(name) ?? nameOf(name);
    const call = { id, type: 'function' as const, function: { name: told, arguments: JSON.stringify(input) } };
    const index = this.#round.call(call);
    this.#calls.set(id, { name, input, state: 'waiting', task: new Map(), held: { stdout: '', stderr: '' } });
    if (this.#options.chunks) this.#piece({ tool_calls: [{ index, ...call }] });
  }

  #status({ contextTokens, usage }: Extract<AgentEvent, { type: 'status' }>): void {
    const before = this.#tokens.count(contextTokens);
    if (usage) this.#luggage.addUsage(usage);
    if (before !== undefined)
      this.annotate(sessionEvent('ChatCompressed', 'The conversation was compressed.', { from: before, to: contextTokens }));
    this.#endRound();
  }

  #endRound(): void {
    this.#flushThought();
    const calls = this.#round.takeCalls();
    if (calls.length === 0) return;
    if (this.#options.chunks) this.#line({}, 'tool_calls');
    else this.#line({ content: this.#round.takeText(), tool_calls: calls }, 'tool_calls');
    for (const call of calls) this.#display(call.id, 'Pending', null);
  }

  /** Told once, when a call begins to run: after it was allowed, or before its end. */
  #runs(callId: string): void {
    const call = this.#calls.get(callId);
    if (!call || call.state === 'running' || call.state === 'refused') return;
    call.state = 'running';
    this.#display(callId, 'Executing', null);
  }

  #output(callId: string, text: string, channel: 'stdout' | 'stderr'): void {
    this.#runs(callId);
    const call = this.#calls.get(callId);
    if (!call) return;
    const whole = call.held[channel] + text;
    const held = HELD.exec(whole)?.[0] ?? '';
    call.held[channel] = held;
    const printed = whole.slice(0, whole.length - held.length);
    const { prompt } = this.#options.names;
    if (printed !== '') this.annotate(terminalNote({ channel, source: 'tool', text: printed, scope: 'tool', prompt, callId }));
  }

  #ended(callId: string, outcome: ToolOutcome): void {
    const call = this.#calls.get(callId);
    // One that was asked about in vain never ran.
    if (call?.state !== 'asked') this.#runs(callId);
    const status = call?.state === 'refused' ? 'Canceled' : outcome.isError ? 'Error' : 'Success';
    this.#display(callId, status, resultOf(call, outcome, this.#options.cwd));
    this.#calls.delete(callId);
  }

  /** Shows the calls of a sub-agent as the display of its call. */
  #sub({ callId, kind, said }: Extract<AgentEvent, { type: 'sub' }>): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    if (said.type === 'call.ready') {
      call.task.set(said.id, { callId: said.id, name: nameOf(said.name), status: 'executing', args: inputOf(said.name, said.input) });
    } else if (said.type === 'call.ended') {
      const known = call.task.get(said.id);
      const { isError, message, told, text } = said.outcome;
      if (!known) return;
      call.task.set(said.id, { ...known, status: isError ? 'error' : 'success', result: told ?? (message || text) });
    } else return;
    call.state = 'running';
    this.#display(callId, 'Executing', taskDisplay(kind, call.task));
  }

  // --- lines

  #display(callId: string, status: DisplayStatus, result: Display | null, confirmation?: Line): void {
    const { session } = this.#options.names;
    this.annotate(toolDisplay({ callId, session, status, result, at: Date.now(), ...(confirmation ? { confirmation } : {}) }));
  }

  /** Warns in every command when calls run without approval. */
  #commandResult({ path: words, args, text }: RunningCommand, result: Line): void {
    const { write, names, policy } = this.#options;
    const message = `Approvals are off (${policy.mode}): the client cannot look at calls before they run.`;
    const audit = policy.mode === 'yolo' || policy.mode === 'auto-edit' ? { audit: { enabled: false, message } } : undefined;
    if (result.type === 'submit_prompt' && text !== '') this.#line({ content: text }, this.#options.chunks ? null : 'stop');
    write(commandResult(names, { path: words, args }, result, audit));
  }

  #cancelResult(prompt: string, requestId: string, status: 'ok' | 'noop', why?: string): void {
    const { write, names } = this.#options;
    write(cancelResult({ session: names.session, prompt }, status, why));
    write(successLine('envelope', requestId, { cancelled: status === 'ok', ...(why === undefined ? {} : { message: why }) }));
  }

  #flushThought(): void {
    const text = this.#round.takeThought().trim();
    if (text !== '') this.annotate(thoughtNote(text));
  }

  #flushText(): void {
    const text = this.#round.takeText();
    if (text !== '') this.#line({ content: text }, 'stop');
  }

  #piece(said: Line): void {
    const role = this.#round.takeRole();
    this.#line({ ...(this.#options.chunks ? role : {}), ...said }, null);
  }

  #line(said: Line, finish: string | null): void {
    const { write, chunks, names } = this.#options;
    // The role alone tells nothing that usage could be about.
    const luggage = this.#luggage.take(finish !== null);
    const created = Math.floor(Date.now() / 1000);
    write(completionLine({ chunks, id: `chatcmpl-${names.session}`, created, model: this.#model, said, finish, ...luggage }));
  }
}

/** The result of a call as its display. */
function resultOf(call: OpenCall | undefined, outcome: ToolOutcome, cwd: string): Display {
  if (call?.name === 'Agent') return taskDisplay(String(call.input.subagent_type ?? call.input.kind ?? 'agent'), call.task, outcome);
  if (call?.name === 'ExitPlanMode' && typeof call.input.plan === 'string')
    return { kind: 'plan_summary', message: outcome.message, plan_markdown: call.input.plan };
  for (const shown of outcome.shown) {
    const display = shownDisplay(shown, cwd);
    if (display) return display;
  }
  return { kind: 'string', text: outcomeText(outcome, '\n\n') };
}

function shownDisplay(shown: OutcomeDisplay, cwd: string): Display | undefined {
  if (shown.type === 'todo') {
    const todos = shown.items.map(({ title, status }, at) => ({
      id: String(at + 1),
      content: title,
      status: status === 'done' ? 'completed' : status,
    }));
    return { kind: 'todo_list', todos };
  }
  if (shown.type !== 'diff') return undefined;
  const name = path.relative(cwd, shown.path);
  const [before, after] = [shown.before ?? '', shown.after];
  const patch = filePatch(name, before, after, { before: 'Original', after: 'Modified', context: 3 });
  const stat = {
    ai_added_lines: patch.added,
    ai_removed_lines: patch.removed,
    user_added_lines: 0,
    user_removed_lines: 0,
  };
  return { kind: 'file_diff', file_name: name, diff: patch.text, original: shown.before, modified: shown.after, stat };
}

function taskDisplay(name: string, calls: ReadonlyMap<string, TaskCall>, outcome?: ToolOutcome): Display {
  const status = outcome === undefined ? 'running' : outcome.isError ? 'failed' : 'completed';
  const result = outcome === undefined ? {} : { result: outcomeText(outcome, '\n\n') };
  return { kind: 'task_execution', subagentName: name, status, toolCalls: [...calls.values()], ...result };
}
