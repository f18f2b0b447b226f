import type { AgentEvent } from '../../frontend.ts';
import type { Outcome } from '../../tools/tool.ts';
import type { WireChunk } from './outlet.ts';

interface Pending {
  readonly id: string;
  readonly name: string;
  readonly client: boolean;
  /** Its input is told as it comes. */
  readonly streams: boolean;
  /** The whole of it, once it is there. */
  input?: { readonly value: unknown };
  announced: boolean;
  ended: boolean;
}

/** How much of what a running command prints is shown while it runs. */
const OUTPUT_TAIL = 4000;

/**
 * What the loop says, as chunks. A call of ours is announced when it is its turn, not before: clients wait for every call they have been told
 * of, and calls behind one that waits for a user have not begun.
 */
export class Chunks {
  readonly #write: (chunk: WireChunk) => void;
  readonly #isClientTool: (name: string) => boolean;
  #block: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
  #count = 0;
  #inStep = false;
  #calls: Pending[] = [];
  readonly #denied = new Set<string>();
  readonly #printed = new Map<string, string>();
  /** The client knows every chunk of version 7. */
  newest = false;
  /** The client knows no approvals: our calls are told of only when they are over, for it would wait for them. */
  oldest = false;
  /** Results of the client's own calls are told back to it: it has no other way to see that they arrived. */
  echoes = false;
  /** What the client handed in, as it was. */
  readonly handedIn = new Map<string, unknown>();

  constructor(write: (chunk: WireChunk) => void, isClientTool: (name: string) => boolean) {
    this.#write = write;
    this.#isClientTool = isClientTool;
  }

  say(said: AgentEvent): void {
    switch (said.type) {
      case 'step.began':
        this.endStep();
        this.#inStep = true;
        this.#calls = [];
        return this.#write({ type: 'start-step' });
      case 'step.retry':
        this.#block = undefined;
        if (this.newest) this.#write({ type: 'reset-step' });
        else this.#giveUp(`Interrupted: ${said.reason}`);
        this.#calls = [];
        return;
      case 'step.broken':
        return this.#giveUp('Interrupted.');
      case 'text':
        return this.#grow('text', said.text);
      case 'thought':
        return this.#grow('reasoning', said.text);
      case 'call.began':
        this.#closeBlock();
        this.#began(said.id, said.name);
        return;
      case 'call.grew':
        if (this.#calls.find((one) => one.id === said.id)?.streams && said.text !== '')
          this.#write({ type: 'tool-input-delta', toolCallId: said.id, inputTextDelta: said.text });
        return;
      case 'call.ready': {
        const call = this.#calls.find((one) => one.id === said.id) ?? this.#began(said.id, said.name);
        call.input = { value: parsed(said.input) };
        return this.#announceNext();
      }
      case 'call.output':
        return this.#printing(said.id, said.text);
      case 'call.ended':
        return this.#ended(said.id, said.name, said.outcome);
      case 'status':
        if (said.usage) {
          const { input, output } = said.usage;
          this.#write({
            type: 'message-metadata',
            messageMetadata: { usage: { inputTokens: input, outputTokens: output, totalTokens: said.contextTokens } },
          });
        }
        return;
      default:
        return;
    }
  }

  /** A call that is about to ask: it is known to the client from here on. */
  announce(id: string, name: string, input: unknown): void {
    const call = this.#calls.find((one) => one.id === id);
    if (call) return this.#announce(call);
    this.#announce({ id, name, input: { value: input }, client: false, streams: false, announced: false, ended: false });
  }

  knows(id: string): boolean {
    return this.#calls.some((call) => call.id === id && !call.ended);
  }

  deny(id: string): void {
    this.#denied.add(id);
  }

  endStep(): void {
    this.#closeBlock();
    if (this.#inStep) this.#write({ type: 'finish-step' });
    this.#inStep = false;
  }

  #began(id: string, name: string): Pending {
    const client = this.#isClientTool(name);
    const call: Pending = { id, name, client, streams: this.#mayShow(client, this.#calls), announced: false, ended: false };
    this.#calls.push(call);
    if (call.streams) this.#write({ type: 'tool-input-start', toolCallId: id, toolName: name });
    return call;
  }

  /** Calls of the client may run side by side there; one of ours waits for those before it and holds up those behind it. */
  #mayShow(client: boolean, before: readonly Pending[]): boolean {
    const open = before.filter((one) => !one.ended);
    return client ? open.every((one) => one.client) : open.length === 0 && !this.oldest;
  }

  #announceNext(): void {
    for (const [at, call] of this.#calls.entries()) {
      if (!call.announced) {
        if (!call.input || !this.#mayShow(call.client, this.#calls.slice(0, at))) return;
        this.#announce(call);
      }
      if (!call.client && !call.ended) return;
    }
  }

  /** The turn is over before its calls are: each that was told of gets its last word. */
  settle(errorText: string): void {
    this.#giveUp(errorText);
    for (const call of this.#calls) {
      if (call.announced && !call.ended) this.#write({ type: 'tool-output-error', toolCallId: call.id, errorText });
    }
    this.#calls = [];
  }

  /** A client waits for every call it has been told of: what never became one is told to be none. */
  #giveUp(errorText: string): void {
    for (const call of this.#calls) {
      if (!call.streams || call.announced) continue;
      call.announced = true;
      this.#write({ type: 'tool-input-error', toolCallId: call.id, toolName: call.name, input: {}, errorText });
    }
  }

  #announce(call: Pending): void {
    if (call.announced) return;
    call.announced = true;
    // Only clients that are held get the mark: the official ones refuse chunks with members they do not know.
    const awaited = call.client && this.echoes ? { state: 'requires-action' } : {};
    this.#write({ type: 'tool-input-available', toolCallId: call.id, toolName: call.name, input: call.input?.value ?? {}, ...awaited });
  }

  #printing(id: string, text: string): void {
    const call = this.#calls.find((one) => one.id === id);
    if (!call?.announced) return;
    const tail = ((this.#printed.get(id) ?? '') + text).slice(-OUTPUT_TAIL);
    this.#printed.set(id, tail);
    this.#write({ type: 'tool-output-available', toolCallId: id, output: tail, preliminary: true });
  }

  #ended(id: string, name: string, outcome: Outcome): void {
    this.#printed.delete(id);
    const call = this.#calls.find((one) => one.id === id) ?? {
      id,
      name,
      client: false,
      streams: false,
      announced: true,
      ended: false,
    };
    this.#announce(call);
    call.ended = true;
    const text = [outcome.message, outcome.text].filter(Boolean).join('\n\n');
    const value = this.handedIn.has(id) ? this.handedIn.get(id) : text;
    this.handedIn.delete(id);
    if (call.client && !this.echoes) return this.#announceNext();
    if (this.#denied.delete(id) && !this.oldest) this.#write({ type: 'tool-output-denied', toolCallId: id });
    else if (outcome.isError) this.#write({ type: 'tool-output-error', toolCallId: id, errorText: text });
    else this.#write({ type: 'tool-output-available', toolCallId: id, output: value });
    this.#announceNext();
  }

  #grow(kind: 'text' | 'reasoning', delta: string): void {
    if (this.#block?.kind !== kind) {
      this.#closeBlock();
      this.#count += 1;
      this.#block = { kind, id: `${kind}-${this.#count}` };
      this.#write({ type: `${kind}-start`, id: this.#block.id });
    }
    this.#write({ type: `${kind}-delta`, id: this.#block.id, delta });
  }

  #closeBlock(): void {
    if (this.#block) this.#write({ type: `${this.#block.kind}-end`, id: this.#block.id });
    this.#block = undefined;
  }
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input === '' ? '{}' : input);
  } catch {
    return input;
  }
}
