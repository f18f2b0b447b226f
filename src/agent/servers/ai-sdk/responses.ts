import type { ServerResponse } from 'node:http';
import { encodeChunk } from '../../../protocols/ai-sdk/codec.ts';
import type { Chunk } from '../../../protocols/ai-sdk/schema.ts';
import type { AgentEvent } from '../../frontend.ts';
import { outcomeText, type ToolOutcome } from '../../tools/tool.ts';
import type { Terms } from './request.ts';

/* Sends a chat's client the events of the loop as chunks, in responses that follow each other. */

/** One response of the chat endpoint: chunks as server-sent events. */
export class SseResponse {
  readonly #response: ServerResponse;
  readonly #beat: NodeJS.Timeout;
  #ended = false;

  /** `stopAt`: where the turn can be stopped; a client that merely closes may come back. `onGone` is called when it closes before the end. */
  constructor(response: ServerResponse, stopAt: string, onGone: () => void) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-accel-buffering': 'no',
      link: `<${stopAt}>; rel="stop"`,
      'access-control-expose-headers': 'link',
    });
    response.flushHeaders();
    // Proxies cut silent streams.
    this.#beat = setInterval(() => response.write(': keep-alive\n\n'), 15_000);
    response.once('close', () => {
      clearInterval(this.#beat);
      if (this.#ended) return;
      this.#ended = true;
      onGone();
    });
  }

  /** `text` is one chunk as JSON. */
  write(text: string): void {
    if (!this.#ended) this.#response.write(`data: ${text}\n\n`);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#beat);
    this.#response.end('data: [DONE]\n\n');
  }
}

/** The responses of one chat as they follow each other: what is written goes into the open one, or waits for the next. */
export class Responses {
  #stream: ResumableResponse | undefined;
  /** Written while no response was open. */
  #queue: string[] = [];
  #messageId = '';
  /** Set while no client listens. */
  #away: { readonly timer: NodeJS.Timeout; readonly isOver: (isLost: boolean) => void } | undefined;
  readonly #waiting: (() => void)[] = [];

  /** A response to a new message. */
  begin(outlet: SseResponse, messageId: string): void {
    this.#queue = [];
    this.continueIn(outlet, messageId);
  }

  /** A further response to the same message. */
  continueIn(outlet: SseResponse, messageId: string | null | undefined): void {
    this.#messageId = messageId ?? this.#messageId;
    this.#stream?.end();
    this.back();
    const stream = new ResumableResponse();
    this.#stream = stream;
    stream.attach(outlet);
    stream.write(encodeChunk({ type: 'start', messageId: this.#messageId }));
    for (const text of this.#queue.splice(0)) stream.write(text);
  }

  write(chunk: Chunk): void {
    const text = encodeChunk(chunk);
    if (this.#stream && !this.#stream.ended) this.#stream.write(text);
    else this.#queue.push(text);
  }

  /** The client has to act before anything more can happen; the turn goes on with the next response, however long that takes. */
  suspend(): void {
    this.write({ type: 'finish-step' });
    this.finish('tool-calls');
    this.back();
  }

  /** Keeps a response whose end reached no client for the client that comes back. */
  finish(finishReason: string): void {
    this.write({ type: 'finish', finishReason });
    const stream = this.#stream;
    const isHeard = stream?.isHeard;
    stream?.end();
    if (isHeard) this.#stream = undefined;
  }

  /** A client came back for the response it lost. False when there is none. */
  resume(outlet: () => SseResponse): boolean {
    const stream = this.#stream;
    if (!stream?.isResumable) return false;
    this.back();
    if (stream.ended) this.#stream = undefined;
    stream.attach(outlet());
    return true;
  }

  /** Detaches a client that disconnected. Resolves with false once a client listens again, with true after `limit` milliseconds without one. */
  async lost(outlet: SseResponse, limit: number): Promise<boolean> {
    const stream = this.#stream;
    if (!stream?.detach(outlet) || stream.isHeard) return false;
    const isLost = await new Promise<boolean>((isOver) => {
      this.#away = { timer: setTimeout(() => isOver(true), limit), isOver };
    });
    if (isLost) this.#stream = undefined;
    return isLost;
  }

  /** A client listens, or none has to. */
  back(): void {
    if (this.#away) clearTimeout(this.#away.timer);
    this.#away?.isOver(false);
    this.#away = undefined;
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Settles when a client listens: new calls wait for it, running ones go on. */
  attended(): Promise<void> {
    return this.#away === undefined ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Beyond this a response is not kept to be sent again, in UTF-16 units. */
const KEPT = 16 * 1024 * 1024;

/** One response as it goes out: to the client that asked for it, and whole to one that comes back for it (docs/protocols/ai-sdk.md). */
class ResumableResponse {
  readonly #outlets = new Set<SseResponse>();
  #said: string[] | undefined = [];
  #size = 0;
  #ended = false;

  get isResumable(): boolean {
    return this.#said !== undefined;
  }

  get isHeard(): boolean {
    return this.#outlets.size > 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  attach(outlet: SseResponse): void {
    for (const text of this.#said ?? []) outlet.write(text);
    if (this.#ended) outlet.end();
    else this.#outlets.add(outlet);
  }

  /** False when it was not listening. */
  detach(outlet: SseResponse): boolean {
    return this.#outlets.delete(outlet);
  }

  /** One chunk as JSON. */
  write(text: string): void {
    this.#size += text.length;
    if (this.#size > KEPT) this.#said = undefined;
    this.#said?.push(text);
    for (const outlet of this.#outlets) outlet.write(text);
  }

  end(): void {
    this.#ended = true;
    for (const outlet of this.#outlets) outlet.end();
  }
}

interface Pending {
  readonly id: string;
  readonly name: string;
  readonly client: boolean;
  /** Its input is streamed. */
  readonly streams: boolean;
  /** The whole of it, once it is there. */
  input?: { readonly value: unknown };
  announced: boolean;
  ended: boolean;
  /** The user said no. */
  denied?: true;
  /** The end of what it has printed so far. */
  printed?: string;
  /** The client's result, unchanged. */
  handedIn?: { readonly value: unknown };
}

/** How much of what a running command prints is shown while it runs. */
const OUTPUT_TAIL = 4000;

/**
 * Turns the events of the loop into chunks. A call of the agent is announced when it begins: clients wait for every announced call, and calls behind
 * one that waits for a user have not begun.
 */
export class ChunkEncoder {
  readonly #responses: Responses;
  readonly #terms: Terms;
  #block: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
  #count = 0;
  #inStep = false;
  #calls: Pending[] = [];

  constructor(responses: Responses, terms: Terms) {
    this.#responses = responses;
    this.#terms = terms;
  }

  emit(said: AgentEvent): void {
    switch (said.type) {
      case 'step.started':
        this.endStep();
        this.#inStep = true;
        this.#calls = [];
        return this.#responses.write({ type: 'start-step' });
      case 'step.retry':
        this.#block = undefined;
        if (this.#terms.newest) this.#responses.write({ type: 'reset-step' });
        else this.#giveUp(`Interrupted: ${said.reason}`);
        this.#calls = [];
        return;
      case 'step.broken':
        return this.#giveUp('Interrupted.');
      case 'text':
        return this.#grow('text', said.text);
      case 'thought':
        return this.#grow('reasoning', said.text);
      case 'call.started':
        this.#closeBlock();
        this.#began(said.id, said.name);
        return;
      case 'call.delta':
        if (this.#calls.find((one) => one.id === said.id)?.streams && said.text !== '')
          this.#responses.write({ type: 'tool-input-delta', toolCallId: said.id, inputTextDelta: said.text });
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
      case 'sub':
        // Of a sub-agent's calls the client knows those that it was asked about.
        if (said.said.type === 'call.ended' && this.knows(said.said.id)) this.#ended(said.said.id, said.said.name, said.said.outcome);
        return;
      case 'status':
        if (said.usage) {
          const { input, output } = said.usage;
          this.#responses.write({
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
    const known = this.#calls.find((one) => one.id === id);
    const call = known ?? { id, name, input: { value: input }, client: false, streams: false, announced: false, ended: false };
    if (!known) this.#calls.push(call);
    this.#announce(call);
  }

  knows(id: string): boolean {
    return this.#calls.some((call) => call.id === id && !call.ended);
  }

  deny(id: string): void {
    const call = this.#calls.find((one) => one.id === id);
    if (call) call.denied = true;
  }

  /** A result for one of the client's own calls. False when it was not told of, or has one. */
  addResult(id: string, value: unknown): boolean {
    const call = this.#calls.find((one) => one.id === id);
    if (!call?.client || !call.announced || call.ended || call.handedIn) return false;
    call.handedIn = { value };
    return true;
  }

  endStep(): void {
    this.#closeBlock();
    if (this.#inStep) this.#responses.write({ type: 'finish-step' });
    this.#inStep = false;
  }

  #began(id: string, name: string): Pending {
    const client = this.#terms.tools.some((tool) => tool.name === name);
    const call: Pending = { id, name, client, streams: this.#mayShow(client, this.#calls), announced: false, ended: false };
    this.#calls.push(call);
    if (call.streams) this.#responses.write({ type: 'tool-input-start', toolCallId: id, toolName: name });
    return call;
  }

  /** Client calls may run side by side; a call of the agent waits for those before it and holds up those behind it. */
  #mayShow(client: boolean, before: readonly Pending[]): boolean {
    const open = before.filter((one) => !one.ended);
    return client ? open.every((one) => one.client) : open.length === 0 && !this.#terms.oldest;
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
      if (call.announced && !call.ended) this.#responses.write({ type: 'tool-output-error', toolCallId: call.id, errorText });
    }
    this.#calls = [];
  }

  /** Withdraws an announced call that was never made, because clients wait for every call that was announced. */
  #giveUp(errorText: string): void {
    for (const call of this.#calls) {
      if (!call.streams || call.announced) continue;
      call.announced = true;
      this.#responses.write({ type: 'tool-input-error', toolCallId: call.id, toolName: call.name, input: {}, errorText });
    }
  }

  #announce(call: Pending): void {
    if (call.announced) return;
    call.announced = true;
    // Only clients that are held get the mark: the official ones refuse chunks with members they do not know.
    const awaited = call.client && this.#terms.holds ? { state: 'requires-action' } : {};
    this.#responses.write({
      type: 'tool-input-available',
      toolCallId: call.id,
      toolName: call.name,
      input: call.input?.value ?? {},
      ...awaited,
    });
  }

  #printing(id: string, text: string): void {
    const call = this.#calls.find((one) => one.id === id);
    if (!call?.announced) return;
    call.printed = ((call.printed ?? '') + text).slice(-OUTPUT_TAIL);
    this.#responses.write({ type: 'tool-output-available', toolCallId: id, output: call.printed, preliminary: true });
  }

  #ended(id: string, name: string, outcome: ToolOutcome): void {
    const known = this.#calls.find((one) => one.id === id);
    const call: Pending = known ?? { id, name, client: false, streams: false, announced: true, ended: false };
    this.#announce(call);
    call.ended = true;
    const text = outcomeText(outcome, '\n\n');
    const { value } = call.handedIn ?? { value: text };
    if (call.client && !this.#terms.holds) return this.#announceNext();
    if (call.denied && !this.#terms.oldest) this.#responses.write({ type: 'tool-output-denied', toolCallId: id });
    else if (outcome.isError) this.#responses.write({ type: 'tool-output-error', toolCallId: id, errorText: text });
    else this.#responses.write({ type: 'tool-output-available', toolCallId: id, output: value });
    this.#announceNext();
  }

  #grow(kind: 'text' | 'reasoning', delta: string): void {
    if (this.#block?.kind !== kind) {
      this.#closeBlock();
      this.#count += 1;
      this.#block = { kind, id: `${kind}-${this.#count}` };
      this.#responses.write({ type: kind === 'text' ? 'text-start' : 'reasoning-start', id: this.#block.id });
    }
    this.#responses.write({ type: kind === 'text' ? 'text-delta' : 'reasoning-delta', id: this.#block.id, delta });
  }

  #closeBlock(): void {
    if (this.#block) this.#responses.write({ type: this.#block.kind === 'text' ? 'text-end' : 'reasoning-end', id: this.#block.id });
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
