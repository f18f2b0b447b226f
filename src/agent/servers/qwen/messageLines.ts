import { randomUUID } from 'node:crypto';
import type { AgentEvent } from '../../frontend.ts';
import type { TokenUsage } from '../../models/model.ts';
import { inputOf, nameOf } from './toolWords.ts';

export interface MessageLinesOptions {
  readonly write: (line: object) => void;
  readonly session: () => string;
  readonly model: string;
  readonly partials: boolean;
  /** What the client knows one of its own tools by. */
  readonly clientName: (tool: string) => string | undefined;
}
type Block = { readonly type: string } & Readonly<Record<string, unknown>>;

/** What the loop says, as lines of the message dialect: one assistant message for each kind of block, results as user lines (docs/protocols/qwen.md §3.7). */
export class MessageLines {
  readonly #options: MessageLinesOptions;
  readonly #parent: string | null;
  readonly #subs = new Map<string, MessageLines>();
  readonly total = { input_tokens: 0, output_tokens: 0 };
  #open: 'text' | 'thinking' | undefined;
  #text = '';
  #calls: Block[] = [];
  /** Calls that were told of and have no result. */
  readonly #unanswered = new Set<string>();
  #steps = 0;
  /** The last text of the turn. */
  result = '';

  constructor(options: MessageLinesOptions, parent: string | null = null) {
    this.#options = options;
    this.#parent = parent;
  }

  /** Model rounds of the turn; asking begins a new count. */
  takeSteps(): number {
    const steps = this.#steps;
    this.#steps = 0;
    return steps;
  }

  say(said: AgentEvent): void {
    switch (said.type) {
      case 'step.began':
        this.#steps += 1;
        return this.#stream({
          type: 'message_start',
          message: { id: randomUUID(), role: 'assistant', model: this.#options.model, content: [] },
        });
      case 'step.retry':
        this.#text = '';
        this.#open = undefined;
        for (const call of this.#calls.splice(0)) this.#unanswered.delete(String(call.id));
        return this.#line({ type: 'system', subtype: 'retry', data: { message: said.reason, attempt: said.nextAttempt, wait: said.wait } });
      case 'text':
        return this.#grow('text', said.text);
      case 'thought':
        return this.#grow('thinking', said.text);
      case 'call.began':
        this.#cut();
        return;
      case 'call.ready':
        return this.#call(said.id, said.name, said.input);
      case 'status':
        if (said.usage) {
          this.total.input_tokens += said.usage.input;
          this.total.output_tokens += said.usage.output;
        }
        return this.#endRound(said.usage);
      case 'call.ended': {
        const { message, text, isError } = said.outcome;
        const content = [message, text].filter((part) => part !== '').join('\n\n');
        this.#unanswered.delete(said.id);
        return this.#results([{ type: 'tool_result', tool_use_id: said.id, is_error: isError, content }]);
      }
      case 'sub': {
        const known = this.#subs.get(said.callId);
        const lines = known ?? new MessageLines({ ...this.#options, partials: false }, said.callId);
        if (!known) this.#subs.set(said.callId, lines);
        return lines.say(said.said);
      }
      case 'turn.ended':
        for (const lines of this.#subs.values()) lines.say(said);
        this.#subs.clear();
        this.#endRound(undefined);
        return this.#cutOff();
      default:
        return;
    }
  }

  #grow(kind: 'text' | 'thinking', text: string): void {
    if (this.#open !== kind) {
      this.#cut();
      this.#open = kind;
      this.#stream({ type: 'content_block_start', index: 0, content_block: { type: kind, [kind]: '' } });
    }
    this.#text += text;
    this.#stream({ type: 'content_block_delta', index: 0, delta: { type: `${kind}_delta`, [kind]: text } });
  }

  /** The open block becomes a message of its own. */
  #cut(usage?: TokenUsage): void {
    if (!this.#open) return;
    this.#stream({ type: 'content_block_stop', index: 0 });
    const block = { type: this.#open, [this.#open]: this.#text };
    if (this.#open === 'text') this.result = this.#text;
    this.#open = undefined;
    this.#text = '';
    this.#assistant([block], null, usage);
  }

  #call(id: string, name: string, input: string): void {
    this.#cut();
    const block = { type: 'tool_use', id, name: this.#options.clientName(name) ?? nameOf(name), input: inputOf(name, input) };
    this.#stream({ type: 'content_block_start', index: this.#calls.length, content_block: { ...block, input: {} } });
    this.#stream({
      type: 'content_block_delta',
      index: this.#calls.length,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    });
    this.#stream({ type: 'content_block_stop', index: this.#calls.length });
    this.#calls.push(block);
    this.#unanswered.add(id);
  }

  #endRound(usage: TokenUsage | undefined): void {
    this.#cut(usage);
    if (this.#calls.length > 0) this.#assistant(this.#calls, 'tool_use', usage);
    this.#calls = [];
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
    for (const id of this.#unanswered) {
      const content = '[Operation Cancelled] Reason: Request aborted';
      this.#results([{ type: 'tool_result', tool_use_id: id, is_error: true, content }]);
    }
    this.#unanswered.clear();
  }

  #results(content: readonly Block[]): void {
    this.#line({ type: 'user', uuid: randomUUID(), message: { role: 'user', content } });
  }

  #stream(event: object): void {
    if (this.#options.partials) this.#line({ type: 'stream_event', uuid: randomUUID(), event });
  }

  #line(line: object): void {
    this.#options.write({ ...line, session_id: this.#options.session(), parent_tool_use_id: this.#parent });
  }
}
