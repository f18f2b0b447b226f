import { merged } from './metadata.ts';
import type { Chunk, ReasoningPart, TextPart, ToolPart, UiMessage, UiPart } from './schema.ts';
import { approvalOf, describe, findTool, isTerminal, isTool, newTool, setError, setInput, setOutcome, stepStart } from './toolParts.ts';

/** Told of every change of the message, after it. */
export interface Watcher {
  added(part: UiPart): void;
  grew(part: TextPart | ReasoningPart | ToolPart, text: string): void;
  changed(part: ToolPart): void;
  removed(parts: readonly UiPart[]): void;
  metadata(metadata: unknown): void;
}
export const unwatched: Watcher = { added() {}, grew() {}, changed() {}, removed() {}, metadata() {} };

type Block = TextPart | ReasoningPart;
type Input = Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>;

/** Builds an assistant message out of the chunks of one response (ai-sdk.md §3, §5). The message is changed in place. */
export class Assembly {
  message: UiMessage;
  /** Where this response begins in the message's parts. */
  readonly boundary: number;
  readonly errors: string[] = [];
  finished = false;
  finishReason: string | undefined;
  aborted: { readonly reason: string | undefined } | undefined;
  /** How many chunks were taken. */
  received = 0;
  begun: { readonly messageId: string | undefined } | undefined;
  #watcher: Watcher;
  readonly #texts = new Map<string, TextPart>();
  readonly #reasonings = new Map<string, ReasoningPart>();
  readonly #log: (message: string) => void;

  constructor(message: UiMessage, watcher: Watcher, log: (message: string) => void) {
    this.message = message;
    this.boundary = message.parts.length;
    this.#watcher = watcher;
    this.#log = log;
  }

  /** Returns the call a chunk was about, if it was about one. */
  apply(chunk: Chunk): ToolPart | undefined {
    this.received += 1;
    switch (chunk.type) {
      case 'start':
        this.begun = { messageId: chunk.messageId ?? undefined };
        if (chunk.messageId) this.message.id = chunk.messageId;
        return this.#metadata(chunk.messageMetadata);
      case 'start-step':
        return this.#add({ type: 'step-start' });
      case 'finish-step':
        return undefined;
      case 'reset-step':
        return this.#reset();
      case 'finish':
        this.finished = true;
        this.finishReason = chunk.finishReason ?? this.finishReason;
        return this.#metadata(chunk.messageMetadata);
      case 'abort':
        this.aborted = { reason: chunk.reason ?? undefined };
        return undefined;
      case 'error':
        this.errors.push(chunk.errorText);
        return undefined;
      case 'message-metadata':
        return this.#metadata(chunk.messageMetadata);
      case 'text-start':
        return void this.#open(this.#texts, chunk.id, { type: 'text', text: '', state: 'streaming' }, chunk.providerMetadata);
      case 'text-delta':
        return this.#grow(this.#texts, chunk, { type: 'text', text: '', state: 'streaming' });
      case 'text-end':
        return this.#close(this.#texts, chunk);
      case 'reasoning-start':
        return void this.#open(this.#reasonings, chunk.id, newReasoning(chunk.id), chunk.providerMetadata);
      case 'reasoning-delta':
        return this.#grow(this.#reasonings, chunk, newReasoning(chunk.id));
      case 'reasoning-end':
        return this.#close(this.#reasonings, chunk);
      case 'tool-input-start': {
        const part = this.#toolFor(chunk);
        if (part.state === 'input-streaming' && chunk.inputEncoding != null) part.inputEncoding = chunk.inputEncoding;
        return part;
      }
      case 'tool-input-delta':
        return this.#growInput(chunk.toolCallId, chunk.inputTextDelta);
      case 'tool-input-available':
        return this.#inputAvailable(chunk);
      case 'tool-input-error':
        return this.#inputError(chunk);
      case 'tool-approval-request':
        return this.#inTool(chunk.toolCallId, chunk.type, (part) => {
          part.state = 'approval-requested';
          part.approval = approvalOf(chunk);
        });
      case 'tool-approval-response':
        return this.#approvalResponse(chunk);
      case 'tool-output-available':
      case 'tool-output-error':
        return this.#inTool(chunk.toolCallId, chunk.type, (part) => {
          if (chunk.type === 'tool-output-error' && part.state === 'output-error') return;
          setOutcome(part, chunk);
        });
      case 'tool-output-denied':
        return this.#inTool(chunk.toolCallId, chunk.type, (part) => {
          part.state = 'output-denied';
        });
      case 'source-url':
      case 'source-document':
      case 'custom':
      case 'steering-message':
      case 'file':
      case 'reasoning-file':
        return this.#add(present(chunk));
      case 'data':
        return this.#data(chunk);
    }
  }

  /** Goes on as another message, which becomes what this one is. */
  become(message: UiMessage, watcher: Watcher): void {
    this.message = Object.assign(message, this.message);
    this.#watcher = watcher;
  }

  /** The response is over: some servers never close what they opened. */
  end(): void {
    for (const part of [...this.#texts.values(), ...this.#reasonings.values()]) part.state = 'done';
    this.#texts.clear();
    this.#reasonings.clear();
  }

  /** The calls that belong to the step which was last: behind the last mark or the beginning of this response, whichever is later. */
  get stepCalls(): readonly ToolPart[] {
    return this.message.parts.slice(Math.max(stepStart(this.message.parts), this.boundary)).filter(isTool);
  }

  #add(part: UiPart): undefined {
    this.message.parts.push(part);
    this.#watcher.added(part);
  }

  #metadata(more: unknown): undefined {
    if (more == null) return;
    this.message.metadata = merged(this.message.metadata, more);
    this.#watcher.metadata(this.message.metadata);
  }

  #open<P extends Block>(blocks: Map<string, P>, id: string, part: P, metadata: unknown): P {
    const open = blocks.get(id);
    if (open) open.state = 'done';
    if (metadata != null) part.providerMetadata = metadata;
    blocks.set(id, part);
    this.#add(part);
    return part;
  }

  #grow<P extends Block>(blocks: Map<string, P>, chunk: Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' }>, fresh: P): undefined {
    const part = blocks.get(chunk.id) ?? this.#open(blocks, chunk.id, fresh, undefined);
    if (chunk.providerMetadata != null) part.providerMetadata = chunk.providerMetadata;
    const text = chunk.delta ?? chunk.textDelta;
    if (!text) return;
    part.text += text;
    this.#watcher.grew(part, text);
  }

  #close(blocks: Map<string, Block>, chunk: Extract<Chunk, { type: 'text-end' | 'reasoning-end' }>): undefined {
    const part = blocks.get(chunk.id);
    if (!part) return;
    blocks.delete(chunk.id);
    part.state = 'done';
    if (chunk.providerMetadata != null) part.providerMetadata = chunk.providerMetadata;
    if (chunk.type === 'text-end' && chunk.citations != null && part.type === 'text') part.citations = chunk.citations;
  }

  /** The part of a call whose input is being told: the one of this step, one that is still open, one to be taken over, or a new one. */
  #toolFor(chunk: Input): ToolPart {
    const { parts } = this.message;
    const known = findTool(this.message, chunk.toolCallId);
    if (known && (!isTerminal(known) || parts.indexOf(known) >= stepStart(parts))) return known;
    // Servers exist that use one id while the input streams and another when it is whole.
    const last = parts.findLast(isTool);
    if (chunk.type !== 'tool-input-start' && last?.state === 'input-streaming' && sameName(last, chunk) && !known) {
      last.toolCallId = chunk.toolCallId;
      return last;
    }
    const part = newTool(chunk);
    this.#add(part);
    return part;
  }

  #growInput(toolCallId: string, text: string): ToolPart | undefined {
    const part = findTool(this.message, toolCallId);
    if (part?.state !== 'input-streaming') {
      this.#log(`Input for the call ${toolCallId.slice(0, 100)}, which is not streaming.`);
      return undefined;
    }
    part.rawInput = typeof part.rawInput === 'string' ? part.rawInput + text : text;
    if (text !== '') this.#watcher.grew(part, text);
    return part;
  }

  #inputAvailable(chunk: Extract<Chunk, { type: 'tool-input-available' }>): ToolPart | undefined {
    const part = this.#toolFor(chunk);
    if (part.state !== 'input-streaming') return part;
    part.state = 'input-available';
    setInput(part, chunk.input);
    describe(part, chunk);
    this.#watcher.changed(part);
    return part;
  }

  #inputError(chunk: Extract<Chunk, { type: 'tool-input-error' }>): ToolPart {
    const part = this.#toolFor(chunk);
    describe(part, chunk);
    setInput(part, chunk.input);
    setError(part, chunk.errorText);
    this.#watcher.changed(part);
    return part;
  }

  #approvalResponse(chunk: Extract<Chunk, { type: 'tool-approval-response' }>): ToolPart | undefined {
    const part = this.message.parts.findLast((one): one is ToolPart => isTool(one) && one.approval?.id === chunk.approvalId);
    if (!part?.approval) {
      this.#log(`An answer to the unknown approval ${chunk.approvalId.slice(0, 100)}.`);
      return undefined;
    }
    part.state = 'approval-responded';
    part.approval = { ...part.approval, approved: chunk.approved, ...(chunk.reason == null ? {} : { reason: chunk.reason }) };
    if (chunk.providerExecuted != null) part.providerExecuted = chunk.providerExecuted;
    if (chunk.providerMetadata != null) part.callProviderMetadata = chunk.providerMetadata;
    this.#watcher.changed(part);
    return part;
  }

  #inTool(toolCallId: string, what: string, change: (part: ToolPart) => void): ToolPart | undefined {
    const part = findTool(this.message, toolCallId);
    if (!part) {
      this.#log(`${what} for the unknown call ${toolCallId.slice(0, 100)}.`);
      return undefined;
    }
    change(part);
    this.#watcher.changed(part);
    return part;
  }

  #data(chunk: Extract<Chunk, { type: 'data' }>): undefined {
    if (chunk.transient === true) return;
    const type = `data-${chunk.name}` as const;
    const stored =
      chunk.id == null ? undefined : this.message.parts.find((part) => part.type === type && 'id' in part && part.id === chunk.id);
    if (stored) (stored as { data: unknown }).data = chunk.data;
    else this.#add({ type, ...(chunk.id == null ? {} : { id: chunk.id }), data: chunk.data });
  }

  #reset(): undefined {
    const removed = this.message.parts.splice(stepStart(this.message.parts));
    this.#texts.clear();
    this.#reasonings.clear();
    if (removed.length > 0) this.#watcher.removed(removed);
  }
}

function newReasoning(id: string): ReasoningPart {
  return { type: 'reasoning', id, text: '', state: 'streaming' };
}

function sameName(part: ToolPart, chunk: Input): boolean {
  return part.type === 'dynamic-tool' ? part.toolName === chunk.toolName : part.type === `tool-${chunk.toolName}`;
}

/** A chunk as the part that is stored: the same members, without those that are null. */
function present<T extends object>(chunk: T): { [K in keyof T]: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(chunk).filter(([, value]) => value != null)) as { [K in keyof T]: NonNullable<T[K]> };
}
