import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { createTwoFilesPatch, structuredPatch } from 'diff';
import type { AgentEvent } from '../../frontend.ts';
import type { Outcome, Shown } from '../../tools/tool.ts';
import { inputOf, nameOf } from './toolWords.ts';

export interface EnvelopeLinesOptions {
  readonly write: (line: object) => void;
  readonly model: string;
  readonly chunks: boolean;
  readonly cwd: string;
  readonly session: () => string;
  /** What the client knows one of its own tools by. */
  readonly clientName: (tool: string) => string | undefined;
}
const FINAL: readonly string[] = ['Success', 'Error', 'Canceled'];
type Annotation = { readonly type: string } & Readonly<Record<string, unknown>>;

/** What the loop says, as `chat.completion` lines or chunks with their annotations (docs/protocols/qwen.md §4.2, §4.3). */
export class EnvelopeLines {
  readonly #options: EnvelopeLinesOptions;
  readonly #id = `chatcmpl-${randomUUID()}`;
  #text = '';
  #thought = '';
  #calls: { readonly id: string; readonly type: 'function'; readonly function: { readonly name: string; readonly arguments: string } }[] =
    [];
  /** Calls that are asked about or run, and those that were not allowed. */
  readonly #begun = new Set<string>();
  readonly #refused = new Set<string>();
  /** What sub-agents have done, by the call that began them. */
  readonly #tasks = new Map<string, Task>();
  /** Calls the client shows as not ended. */
  readonly #shown = new Set<string>();
  #usage: object | undefined;
  #metadata: object | undefined;
  #spoke = false;

  constructor(options: EnvelopeLinesOptions) {
    this.#options = options;
  }

  /** Goes out with the next line: the handshake, or a fault. */
  metadata(metadata: object): void {
    this.#metadata = { ...this.#metadata, ...metadata };
  }

  say(said: AgentEvent): void {
    switch (said.type) {
      case 'step.began':
        this.#spoke = false;
        return;
      case 'step.retry':
        this.#text = '';
        return this.annotate({ type: 'x-qwen-session-event', event: 'Retry', message: `Trying again: ${said.reason}` });
      case 'text':
        this.#flushThought();
        if (this.#options.chunks) return this.#piece({ content: said.text });
        this.#text += said.text;
        return;
      case 'thought':
        this.#thought += said.text;
        return;
      case 'call.ready': {
        this.#flushThought();
        const call = {
          id: said.id,
          type: 'function' as const,
          function: {
            name: this.#options.clientName(said.name) ?? nameOf(said.name),
            arguments: JSON.stringify(inputOf(said.name, said.input)),
          },
        };
        const index = this.#calls.push(call) - 1;
        if (!this.#options.chunks) return;
        this.#shown.add(said.id);
        return this.#piece({ tool_calls: [{ index, ...call }] });
      }
      case 'status':
        if (said.usage) {
          const { input, output } = said.usage;
          this.#usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
        }
        return this.#endRound();
      case 'call.output':
        return this.#runs(said.id);
      case 'call.ended': {
        this.#runs(said.id);
        const status = this.#refused.has(said.id) ? 'Canceled' : said.outcome.isError ? 'Error' : 'Success';
        const task = this.#tasks.get(said.id);
        const result = displayOf(said.outcome, this.#options.cwd);
        this.display(said.id, status, task ? taskDisplay(task, said.outcome) : result);
        this.#begun.delete(said.id);
        this.#refused.delete(said.id);
        this.#tasks.delete(said.id);
        return;
      }
      case 'sub':
        return this.#sub(said);
      default:
        return;
    }
  }

  /** A permission was asked for, and given or not. */
  decided(callId: string, allowed: boolean): void {
    if (allowed) this.display(callId, 'Executing', null);
    else this.#refused.add(callId);
  }

  /** Told once, when a call begins to run: after it was allowed, or before its end. */
  #runs(callId: string): void {
    if (this.#begun.has(callId)) return;
    this.#begun.add(callId);
    this.display(callId, 'Executing', null);
  }

  /** What a sub-agent does is the display of its call. */
  #sub({ callId, kind, said }: Extract<AgentEvent, { type: 'sub' }>): void {
    const task = this.#tasks.get(callId) ?? { name: kind, calls: new Map() };
    this.#tasks.set(callId, task);
    if (said.type === 'call.ready') {
      const args = inputOf(said.name, said.input);
      task.calls.set(said.id, { callId: said.id, name: nameOf(said.name), status: 'executing', args });
    } else if (said.type === 'call.ended') {
      const call = task.calls.get(said.id);
      if (!call) return;
      const status = said.outcome.isError ? 'failed' : 'success';
      task.calls.set(said.id, {
        ...call,
        status: status === 'failed' ? 'error' : status,
        result: said.outcome.message || said.outcome.text,
      });
    } else return;
    this.#begun.add(callId);
    this.display(callId, 'Executing', taskDisplay(task));
  }

  display(callId: string, status: string, result: unknown, more: object = {}): void {
    if (status === 'Confirming') this.#begun.add(callId);
    if (FINAL.includes(status)) this.#shown.delete(callId);
    else this.#shown.add(callId);
    this.annotate({
      type: 'x-qwen-tool-display',
      tool_call_id: callId,
      session_id: this.#options.session(),
      status,
      result_display: result,
      pending: status === 'Pending' || status === 'Confirming',
      timestamp: Date.now(),
      ...more,
    });
  }

  annotate(annotation: Annotation): void {
    if (this.#options.chunks) return this.#piece({ annotations: [annotation] });
    this.#flushText();
    this.#message({ annotations: [annotation] }, null);
  }

  /** What was not said yet of a turn that was cancelled is not said any more; calls that were told of are shown as cancelled (docs/protocols/qwen.md §7). */
  drop(): void {
    this.#text = '';
    this.#thought = '';
    this.#calls = [];
    for (const id of [...this.#shown]) this.display(id, 'Canceled', null);
  }

  /** The last line of a turn: nothing comes after the one that says how it ended. */
  finish(reason: string): void {
    this.#flushThought();
    const annotations = [{ type: 'x-qwen-session-event', event: 'Finished' }];
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: { annotations }, finish_reason: reason }], ...this.#takeUsage() });
    else this.#message({ content: this.#take(), annotations }, reason);
  }

  /** A line without content: it carries the metadata. */
  receipt(): void {
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] });
    else this.#message({ content: null }, null);
  }

  /** A prompt that was not taken; `finish` is null while another one runs, whose end that would be. What waits for the next line stays. */
  refuse(metadata: object, finish: 'stop' | null): void {
    const waiting = this.#metadata;
    this.#metadata = metadata;
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    else this.#message({ content: null }, finish);
    this.#metadata = waiting;
  }

  #endRound(): void {
    this.#flushThought();
    const calls = this.#calls;
    this.#calls = [];
    if (calls.length === 0) return;
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], ...this.#takeUsage() });
    else this.#message({ content: this.#take(), tool_calls: calls }, 'tool_calls');
    for (const call of calls) this.display(call.id, 'Pending', null);
  }

  #flushThought(): void {
    const text = this.#thought.trim();
    this.#thought = '';
    if (text !== '') this.annotate({ type: 'x-qwen-thought', subject: '', description: text });
  }

  #flushText(): void {
    if (this.#text !== '') this.#message({ content: this.#take() }, 'stop');
  }

  #take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  #piece(delta: object): void {
    const role = this.#spoke ? {} : { role: 'assistant' };
    this.#spoke = true;
    this.#line({ choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason: null }] });
  }

  #message(message: object, finish: string | null): void {
    this.#line({ choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }], ...this.#takeUsage() });
  }

  #takeUsage(): object {
    const usage = this.#usage;
    this.#usage = undefined;
    return usage ? { usage } : {};
  }

  #line(line: object): void {
    const metadata = this.#metadata;
    this.#metadata = undefined;
    this.#options.write({
      object: this.#options.chunks ? 'chat.completion.chunk' : 'chat.completion',
      id: this.#id,
      created: Math.floor(Date.now() / 1000),
      model: this.#options.model,
      ...line,
      ...(metadata ? { metadata } : {}),
    });
  }
}

/** What came of a call, as its display. */
function displayOf(outcome: Outcome, cwd: string): unknown {
  for (const shown of outcome.shown) {
    const display = shownDisplay(shown, cwd);
    if (display) return display;
  }
  return { kind: 'string', text: [outcome.message, outcome.text].filter((part) => part !== '').join('\n\n') };
}

function shownDisplay(shown: Shown, cwd: string): object | undefined {
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
  const lines = structuredPatch(name, name, before, after, '', '', { context: 0 }).hunks.flatMap((hunk) => hunk.lines);
  const stat = {
    ai_added_lines: lines.filter((line) => line.startsWith('+')).length,
    ai_removed_lines: lines.filter((line) => line.startsWith('-')).length,
    user_added_lines: 0,
    user_removed_lines: 0,
  };
  const diff = createTwoFilesPatch(name, name, before, after, 'Original', 'Modified', { context: 3 });
  return { kind: 'file_diff', file_name: name, diff, original: shown.before, modified: shown.after, stat };
}

interface Task {
  readonly name: string;
  readonly calls: Map<string, object>;
}
function taskDisplay({ name, calls }: Task, outcome?: Outcome): object {
  const status = outcome === undefined ? 'running' : outcome.isError ? 'failed' : 'completed';
  const result = outcome === undefined ? {} : { result: [outcome.message, outcome.text].filter((part) => part !== '').join('\n\n') };
  return { kind: 'task_execution', subagentName: name, status, toolCalls: [...calls.values()], ...result };
}
