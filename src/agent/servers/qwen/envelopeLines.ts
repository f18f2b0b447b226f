import { randomUUID } from 'node:crypto';
import path from 'node:path';
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

/** What the loop says, as `chat.completion` lines or chunks with their annotations (qwen.md §4.2, §4.3). */
export class EnvelopeLines {
  readonly #options: EnvelopeLinesOptions;
  readonly #id = `chatcmpl-${randomUUID()}`;
  #text = '';
  #thought = '';
  #calls: { readonly id: string; readonly type: 'function'; readonly function: { readonly name: string; readonly arguments: string } }[] =
    [];
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
      case 'call.ended':
        return this.display(said.id, said.outcome.isError ? 'Error' : 'Success', displayOf(said.outcome, this.#options.cwd));
      default:
        return;
    }
  }

  display(callId: string, status: string, result: unknown, more: object = {}): void {
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

  /** What was not said yet of a turn that was cancelled is not said any more; calls that were told of are shown as cancelled (qwen.md §7). */
  drop(): void {
    this.#text = '';
    this.#thought = '';
    this.#calls = [];
    for (const id of [...this.#shown]) this.display(id, 'Canceled', null);
  }

  /** The last line of a turn. */
  finish(reason: string): void {
    this.#flushThought();
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: {}, finish_reason: reason }], ...this.#takeUsage() });
    else this.#message({ content: this.#take() }, reason);
    this.annotate({ type: 'x-qwen-session-event', event: 'Finished' });
  }

  /** A line without content: it carries the metadata. */
  receipt(): void {
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] });
    else this.#message({ content: null }, null);
  }

  #endRound(): void {
    this.#flushThought();
    const calls = this.#calls;
    this.#calls = [];
    if (calls.length === 0) return;
    if (this.#options.chunks) this.#line({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], ...this.#takeUsage() });
    else this.#message({ content: this.#take(), tool_calls: calls }, 'tool_calls');
    for (const call of calls) this.display(call.id, 'Executing', null);
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
  return { kind: 'file_diff', file_name: path.relative(cwd, shown.path), diff: '', original: shown.before, modified: shown.after };
}
