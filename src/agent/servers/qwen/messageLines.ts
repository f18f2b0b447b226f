import { randomUUID } from 'node:crypto';
import type { Line } from '../../../protocols/qwen/codec.ts';
import type { AgentEvent } from '../../frontend.ts';
import type { TokenUsage } from '../../models/model.ts';
import type { Client } from './client.ts';
import type { DialectLines, Permission } from './qwenFrontend.ts';
import { inputOf, nameOf } from './toolWords.ts';

export interface MessageLinesOptions {
  readonly write: (line: Line) => void;
  readonly model: string;
  readonly partials: boolean;
  readonly client: Client;
}
type Block = { readonly type: string } & Line;
/** Output of the model in this round that no whole message holds yet. */
interface Round {
  open: 'text' | 'thinking' | undefined;
  text: string;
  calls: Block[];
}
/** The figures of a turn's result. */
interface Tally {
  steps: number;
  /** The last text. */
  text: string;
  denials: Line[];
  /** Calls that were told of and have no result, with their blocks. */
  readonly unanswered: Map<string, Block>;
}
const noRound = (): Round => ({ open: undefined, text: '', calls: [] });
const noTally = (): Tally => ({ steps: 0, text: '', denials: [], unanswered: new Map() });

/** Writes a turn as lines of the message dialect: one assistant message for each kind of block, results as user lines (docs/protocols/qwen.md §3.7). */
export class MessageLines implements DialectLines {
  session: string;
  readonly #options: MessageLinesOptions;
  readonly #parent: string | null;
  readonly #subs = new Map<string, MessageLines>();
  readonly #total = { input_tokens: 0, output_tokens: 0 };
  #round = noRound();
  #tally = noTally();

  constructor(options: MessageLinesOptions, session: string, parent: string | null = null) {
    this.#options = options;
    this.session = session;
    this.#parent = parent;
  }

  // --- a turn

  begin(about: Line): void {
    this.#tally = noTally();
    const { session, model } = { session: this.session, model: this.#options.model };
    this.#options.write({ type: 'system', subtype: 'init', uuid: session, session_id: session, model, ...about });
  }

  result(duration: number, problem: string | undefined): void {
    const { steps, text, denials } = this.#tally;
    this.#options.write({
      type: 'result',
      subtype: problem === undefined ? 'success' : 'error_during_execution',
      uuid: randomUUID(),
      session_id: this.session,
      is_error: problem !== undefined,
      duration_ms: duration,
      duration_api_ms: duration,
      num_turns: steps,
      usage: { ...this.#total },
      permission_denials: denials,
      ...(problem === undefined ? { result: text } : { error: { message: problem } }),
    });
  }

  // --- what happens in it

  emit(said: AgentEvent): void {
    switch (said.type) {
      case 'step.began':
        this.#tally.steps += 1;
        return this.#stream({
          type: 'message_start',
          message: { id: randomUUID(), role: 'assistant', model: this.#options.model, content: [] },
        });
      case 'step.retry': {
        const { calls } = this.#round;
        this.#round = noRound();
        for (const call of calls) this.#tally.unanswered.delete(String(call.id));
        return this.#line({ type: 'system', subtype: 'retry', data: { message: said.reason, attempt: said.nextAttempt, wait: said.wait } });
      }
      case 'text':
        return this.#grow('text', said.text);
      case 'thought':
        return this.#grow('thinking', said.text);
      case 'call.began':
        return this.#cut();
      case 'call.ready':
        return this.#call(said.id, said.name, said.input);
      case 'status':
        if (said.usage) {
          this.#total.input_tokens += said.usage.input;
          this.#total.output_tokens += said.usage.output;
        }
        return this.#endRound(said.usage);
      case 'call.ended': {
        const { message, text, isError } = said.outcome;
        const content = [message, text].filter((part) => part !== '').join('\n\n');
        this.#tally.unanswered.delete(said.id);
        return this.#results([{ type: 'tool_result', tool_use_id: said.id, is_error: isError, content }]);
      }
      case 'sub': {
        const known = this.#subs.get(said.callId);
        const lines = known ?? new MessageLines({ ...this.#options, partials: false }, this.session, said.callId);
        if (!known) this.#subs.set(said.callId, lines);
        return lines.emit(said.said);
      }
      case 'turn.ended':
        for (const lines of this.#subs.values()) lines.emit(said);
        this.#subs.clear();
        this.#endRound(undefined);
        return this.#cutOff();
      default:
        return;
    }
  }

  permission({ callId, name, input }: Permission): object {
    return {
      tool_name: name,
      tool_use_id: callId,
      input,
      permission_suggestions: [
        { type: 'allow', label: 'Allow', description: name },
        { type: 'deny', label: 'Deny', description: name },
      ],
      blocked_path: null,
    };
  }

  decided(callId: string, allowed: boolean): void {
    const call = this.#tally.unanswered.get(callId);
    if (call && !allowed) this.#tally.denials.push({ tool_name: call.name, tool_use_id: callId, tool_input: call.input });
  }

  #grow(kind: 'text' | 'thinking', text: string): void {
    if (this.#round.open !== kind) {
      this.#cut();
      this.#round.open = kind;
      this.#stream({ type: 'content_block_start', index: 0, content_block: { type: kind, [kind]: '' } });
    }
    this.#round.text += text;
    this.#stream({ type: 'content_block_delta', index: 0, delta: { type: `${kind}_delta`, [kind]: text } });
  }

  /** The open block becomes a message of its own. */
  #cut(usage?: TokenUsage): void {
    if (!this.#round.open) return;
    this.#stream({ type: 'content_block_stop', index: 0 });
    const block = { type: this.#round.open, [this.#round.open]: this.#round.text };
    if (this.#round.open === 'text') this.#tally.text = this.#round.text;
    this.#round.open = undefined;
    this.#round.text = '';
    this.#assistant([block], null, usage);
  }

  #call(id: string, name: string, input: string): void {
    this.#cut();
    const block = { type: 'tool_use', id, name: this.#options.client.fullName(name) ?? nameOf(name), input: inputOf(name, input) };
    this.#stream({ type: 'content_block_start', index: this.#round.calls.length, content_block: { ...block, input: {} } });
    this.#stream({
      type: 'content_block_delta',
      index: this.#round.calls.length,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    });
    this.#stream({ type: 'content_block_stop', index: this.#round.calls.length });
    this.#round.calls.push(block);
    this.#tally.unanswered.set(id, block);
  }

  #endRound(usage: TokenUsage | undefined): void {
    this.#cut(usage);
    if (this.#round.calls.length > 0) this.#assistant(this.#round.calls, 'tool_use', usage);
    this.#round.calls = [];
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
    for (const id of this.#tally.unanswered.keys()) {
      const content = '[Operation Cancelled] Reason: Request aborted';
      this.#results([{ type: 'tool_result', tool_use_id: id, is_error: true, content }]);
    }
    this.#tally.unanswered.clear();
  }

  #results(content: readonly Block[]): void {
    this.#line({ type: 'user', uuid: randomUUID(), message: { role: 'user', content } });
  }

  #stream(event: Line): void {
    if (this.#options.partials) this.#line({ type: 'stream_event', uuid: randomUUID(), event });
  }

  #line(line: Line): void {
    this.#options.write({ ...line, session_id: this.session, parent_tool_use_id: this.#parent });
  }
}
