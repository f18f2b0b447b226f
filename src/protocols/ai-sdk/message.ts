import { find, put, remove, type Table } from '../../conversation/state.ts';
import {
  type Chunk,
  isRecord,
  type ReasoningPart,
  type TextPart,
  type ToolPart,
  type ToolState,
  type UiMessage,
  type UiPart,
  type UiToolApproval,
} from './schema.ts';

/* Assistant messages: how chunks change one, and how far a replay of one has come. Pure functions over JSON. */

/** State of a response besides its message. */
export interface Assembly {
  /** Where this response begins in the parts of the message. */
  readonly boundary: number;
  readonly errors: string[];
  finished: boolean;
  finishReason: string | null;
  aborted: { readonly reason: string | null } | null;
  /** Count of chunks. */
  received: number;
  start: { readonly messageId: string | null } | null;
  /** Open blocks: id on the wire to index in the parts. */
  readonly texts: Table<number>;
  readonly reasonings: Table<number>;
  /** The block that the last delta extended: a shortcut for the next one. */
  latest: { readonly kind: 'text' | 'reasoning'; readonly id: string; readonly at: number } | null;
}

export function newAssembly(boundary: number): Assembly {
  return {
    boundary,
    errors: [],
    finished: false,
    finishReason: null,
    aborted: null,
    received: 0,
    start: null,
    texts: {},
    reasonings: {},
    latest: null,
  };
}

/** Called after each change of the message, with the index of the part. */
export interface MessageObserver {
  added(at: number): void;
  extended(at: number, text: string): void;
  changed(at: number): void;
  /** Every part from this index on is gone. */
  removed(from: number): void;
  metadata(): void;
  log(level: 'info', text: string): void;
}
export const UNOBSERVED: MessageObserver = { added() {}, extended() {}, changed() {}, removed() {}, metadata() {}, log() {} };

type ChunkOf<T extends Chunk['type']> = Extract<Chunk, { type: T }>;
type InputChunk = ChunkOf<'tool-input-start' | 'tool-input-available' | 'tool-input-error'>;
type Block = TextPart | ReasoningPart;

/** Applies one chunk to the message. Gives the call the chunk was about, if it was about one. */
export function applyChunk(message: UiMessage, assembly: Assembly, chunk: Chunk, observer: MessageObserver): ToolPart | undefined {
  assembly.received += 1;
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return extendBlock(message, assembly, chunk, observer);
    case 'text-start':
    case 'reasoning-start':
      openBlock(message, assembly, chunk.type === 'text-start' ? 'text' : 'reasoning', chunk, observer);
      return undefined;
    case 'text-end':
    case 'reasoning-end':
      return closeBlock(message, assembly, chunk);
    case 'start':
      assembly.start = { messageId: chunk.messageId ?? null };
      if (chunk.messageId) message.id = chunk.messageId;
      return mergeMetadata(message, chunk.messageMetadata, observer);
    case 'message-metadata':
      return mergeMetadata(message, chunk.messageMetadata, observer);
    case 'finish':
      assembly.finished = true;
      assembly.finishReason = chunk.finishReason ?? assembly.finishReason;
      return mergeMetadata(message, chunk.messageMetadata, observer);
    case 'start-step':
      return add(message, { type: 'step-start' }, observer);
    case 'finish-step':
      return undefined;
    case 'reset-step':
      return resetStep(message, assembly, observer);
    case 'abort':
      assembly.aborted = { reason: chunk.reason ?? null };
      return undefined;
    case 'error':
      assembly.errors.push(chunk.errorText);
      return undefined;
    case 'source-url':
    case 'source-document':
    case 'custom':
    case 'steering-message':
    case 'file':
    case 'reasoning-file':
      return add(message, withoutNulls(chunk), observer);
    case 'data':
      return addData(message, chunk, observer);
    default:
      return applyToCall(message, chunk, observer);
  }
}

/** Closes what the response left open: some servers never send the end of a block. */
export function endAssembly(message: UiMessage, assembly: Assembly): void {
  for (const open of [assembly.texts, assembly.reasonings]) {
    for (const key of Object.keys(open)) {
      (message.parts[open[key] ?? -1] as Block).state = 'done';
      delete open[key];
    }
  }
  assembly.latest = null;
}

/** The calls of the last step: those behind the last step mark or the beginning of this response, whichever is later. */
export function stepCalls(message: UiMessage, assembly: Assembly): readonly ToolPart[] {
  return message.parts.slice(Math.max(stepStart(message.parts), assembly.boundary)).filter(isTool);
}

function add(message: UiMessage, part: UiPart, observer: MessageObserver): undefined {
  message.parts.push(part);
  observer.added(message.parts.length - 1);
}

// --- text and reasoning

function openBlock(
  message: UiMessage,
  assembly: Assembly,
  kind: 'text' | 'reasoning',
  { id, providerMetadata }: { readonly id: string; readonly providerMetadata?: unknown },
  observer: MessageObserver,
): number {
  const open = kind === 'text' ? assembly.texts : assembly.reasonings;
  const earlier = find(open, id);
  if (earlier !== undefined) (message.parts[earlier] as Block).state = 'done';
  const part: Block =
    kind === 'text' ? { type: 'text', text: '', state: 'streaming' } : { type: 'reasoning', id, text: '', state: 'streaming' };
  if (providerMetadata != null) part.providerMetadata = providerMetadata;
  const at = message.parts.length;
  put(open, id, at);
  assembly.latest = { kind, id, at };
  add(message, part, observer);
  return at;
}

/** A delta without a start opens its block: some servers send no start. */
function extendBlock(
  message: UiMessage,
  assembly: Assembly,
  chunk: ChunkOf<'text-delta' | 'reasoning-delta'>,
  observer: MessageObserver,
): undefined {
  const kind = chunk.type === 'text-delta' ? 'text' : 'reasoning';
  const { latest } = assembly;
  let at = latest !== null && latest.id === chunk.id && latest.kind === kind ? latest.at : undefined;
  if (at === undefined) {
    at = find(kind === 'text' ? assembly.texts : assembly.reasonings, chunk.id);
    if (at === undefined) at = openBlock(message, assembly, kind, { id: chunk.id }, observer);
    else assembly.latest = { kind, id: chunk.id, at };
  }
  const part = message.parts[at] as Block;
  if (chunk.providerMetadata != null) part.providerMetadata = chunk.providerMetadata;
  const text = chunk.delta ?? chunk.textDelta;
  if (!text) return;
  part.text += text;
  observer.extended(at, text);
}

function closeBlock(message: UiMessage, assembly: Assembly, chunk: ChunkOf<'text-end' | 'reasoning-end'>): undefined {
  const open = chunk.type === 'text-end' ? assembly.texts : assembly.reasonings;
  const at = find(open, chunk.id);
  if (at === undefined) return;
  remove(open, chunk.id);
  assembly.latest = null;
  const part = message.parts[at] as Block;
  part.state = 'done';
  if (chunk.providerMetadata != null) part.providerMetadata = chunk.providerMetadata;
  if (chunk.type === 'text-end' && chunk.citations != null && part.type === 'text') part.citations = chunk.citations;
}

// --- calls

function applyToCall(
  message: UiMessage,
  chunk: Extract<Chunk, { readonly type: `tool-${string}` }>,
  observer: MessageObserver,
): ToolPart | undefined {
  switch (chunk.type) {
    case 'tool-input-start': {
      const part = toolFor(message, chunk, observer);
      if (part.state === 'input-streaming' && chunk.inputEncoding != null) part.inputEncoding = chunk.inputEncoding;
      return part;
    }
    case 'tool-input-delta':
      return extendInput(message, chunk, observer);
    case 'tool-input-available': {
      const part = toolFor(message, chunk, observer);
      if (part.state !== 'input-streaming') return part;
      part.state = 'input-available';
      setInput(part, chunk.input);
      describe(part, chunk);
      return changed(message, part, observer);
    }
    case 'tool-input-error': {
      const part = toolFor(message, chunk, observer);
      describe(part, chunk);
      setInput(part, chunk.input);
      setError(part, chunk.errorText);
      return changed(message, part, observer);
    }
    case 'tool-approval-response':
      return applyVerdict(message, chunk, observer);
    default:
      return applyOutcome(message, chunk, observer);
  }
}

function changed(message: UiMessage, part: ToolPart, observer: MessageObserver): ToolPart {
  observer.changed(message.parts.lastIndexOf(part));
  return part;
}

/** The part of a call whose input arrives: of this step, one that is still open, one to take over, or a new one. */
function toolFor(message: UiMessage, chunk: InputChunk, observer: MessageObserver): ToolPart {
  const { parts } = message;
  const known = findTool(message, chunk.toolCallId);
  if (known && (!isTerminal(known) || parts.indexOf(known) >= stepStart(parts))) return known;
  // Some servers use one id while the input streams and another when it is complete.
  const last = parts.findLast(isTool);
  if (chunk.type !== 'tool-input-start' && last?.state === 'input-streaming' && toolNameOf(last) === chunk.toolName && !known) {
    last.toolCallId = chunk.toolCallId;
    return last;
  }
  const part: ToolPart =
    chunk.dynamic === true
      ? { type: 'dynamic-tool', toolName: chunk.toolName, toolCallId: chunk.toolCallId, state: 'input-streaming' }
      : { type: `tool-${chunk.toolName}`, toolCallId: chunk.toolCallId, state: 'input-streaming' };
  describe(part, chunk);
  add(message, part, observer);
  return part;
}

function extendInput(message: UiMessage, chunk: ChunkOf<'tool-input-delta'>, observer: MessageObserver): ToolPart | undefined {
  const at = lastIndexOfTool(message, chunk.toolCallId);
  const part = message.parts[at] as ToolPart | undefined;
  if (part?.state !== 'input-streaming') {
    observer.log('info', `Input for the call ${chunk.toolCallId.slice(0, 100)}, which is not streaming.`);
    return undefined;
  }
  const text = chunk.inputTextDelta;
  part.rawInput = typeof part.rawInput === 'string' ? part.rawInput + text : text;
  if (text !== '') observer.extended(at, text);
  return part;
}

function applyVerdict(message: UiMessage, chunk: ChunkOf<'tool-approval-response'>, observer: MessageObserver): ToolPart | undefined {
  const part = findApproval(message, chunk.approvalId);
  if (!part?.approval) {
    observer.log('info', `An answer to the unknown approval ${chunk.approvalId.slice(0, 100)}.`);
    return undefined;
  }
  part.state = 'approval-responded';
  part.approval = { ...part.approval, approved: chunk.approved, ...(chunk.reason == null ? {} : { reason: chunk.reason }) };
  if (chunk.providerExecuted != null) part.providerExecuted = chunk.providerExecuted;
  if (chunk.providerMetadata != null) part.callProviderMetadata = chunk.providerMetadata;
  return changed(message, part, observer);
}

function applyOutcome(
  message: UiMessage,
  chunk: ChunkOf<'tool-approval-request' | 'tool-output-available' | 'tool-output-error' | 'tool-output-denied'>,
  observer: MessageObserver,
): ToolPart | undefined {
  const part = findTool(message, chunk.toolCallId);
  if (!part) {
    observer.log('info', `${chunk.type} for the unknown call ${chunk.toolCallId.slice(0, 100)}.`);
    return undefined;
  }
  if (chunk.type === 'tool-approval-request') {
    part.state = 'approval-requested';
    part.approval = approvalOf(chunk);
  } else if (chunk.type === 'tool-output-denied') {
    part.state = 'output-denied';
    // Servers of version 6 refuse a denied call whose approval is not answered, for example after our stop.
    if (part.approval) part.approval = { ...part.approval, approved: false };
  } else if (chunk.type === 'tool-output-available' || part.state !== 'output-error') {
    // Versions 5 and 6 send a masked second error for input that was bad: the first text stays.
    if (chunk.type === 'tool-output-available') {
      setOutput(part, chunk.output);
      if (chunk.preliminary === true) part.preliminary = true;
    } else {
      setError(part, chunk.errorText);
    }
    if (chunk.toolMetadata != null) part.toolMetadata = chunk.toolMetadata;
    if (chunk.providerExecuted != null) part.providerExecuted = chunk.providerExecuted;
    if (chunk.providerMetadata != null) part.resultProviderMetadata = chunk.providerMetadata;
  }
  return changed(message, part, observer);
}

/** Applies the other members of a chunk about the input. */
function describe(part: ToolPart, chunk: InputChunk): void {
  if (chunk.title != null) part.title = chunk.title;
  if (chunk.toolMetadata != null) part.toolMetadata = chunk.toolMetadata;
  if (chunk.providerExecuted != null) part.providerExecuted = chunk.providerExecuted;
  if (chunk.providerMetadata != null) part.callProviderMetadata = chunk.providerMetadata;
}

function approvalOf(chunk: ChunkOf<'tool-approval-request'>): UiToolApproval {
  return {
    id: chunk.approvalId,
    ...(chunk.approvalDescriptor == null ? {} : { descriptor: chunk.approvalDescriptor }),
    ...(chunk.inputSchemaInput === undefined ? {} : { inputSchemaInput: chunk.inputSchemaInput }),
    ...(chunk.reason == null ? {} : { requestReason: chunk.reason }),
    ...(chunk.isAutomatic === true ? { isAutomatic: true } : {}),
    ...(chunk.signature == null ? {} : { signature: chunk.signature }),
  };
}

// --- steps, data, metadata

function resetStep(message: UiMessage, assembly: Assembly, observer: MessageObserver): undefined {
  const from = stepStart(message.parts);
  for (const open of [assembly.texts, assembly.reasonings]) for (const key of Object.keys(open)) delete open[key];
  assembly.latest = null;
  if (from === message.parts.length) return;
  message.parts.splice(from);
  observer.removed(from);
}

function addData(message: UiMessage, chunk: ChunkOf<'data'>, observer: MessageObserver): undefined {
  if (chunk.transient === true) return;
  const type = `data-${chunk.name}` as const;
  const stored = chunk.id == null ? undefined : message.parts.find((part) => part.type === type && 'id' in part && part.id === chunk.id);
  if (stored) (stored as { data: unknown }).data = chunk.data;
  else add(message, { type, ...(chunk.id == null ? {} : { id: chunk.id }), data: chunk.data }, observer);
}

function mergeMetadata(message: UiMessage, more: unknown, observer: MessageObserver): undefined {
  if (more == null) return;
  message.metadata = merged(message.metadata, more);
  observer.metadata();
}

const UNSAFE = ['__proto__', 'constructor', 'prototype'];

/** Merges objects member by member, and replaces everything else. Changes neither side. */
function merged(base: unknown, more: unknown): unknown {
  if (!isRecord(more)) return more;
  const result: Record<string, unknown> = isRecord(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(more)) {
    if (UNSAFE.includes(key) || value === undefined) continue;
    result[key] = merged(result[key], value);
  }
  return result;
}

/** A chunk as the part that is stored. */
function withoutNulls<T extends object>(chunk: T): { [K in keyof T]: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(chunk).filter(([, value]) => value != null)) as { [K in keyof T]: NonNullable<T[K]> };
}

// --- tool parts

export function isTool(part: UiPart): part is ToolPart {
  return part.type === 'dynamic-tool' || part.type.startsWith('tool-');
}
/** A name may itself begin with "tool-": only the first one is removed. */
export function toolNameOf(part: ToolPart): string {
  return part.type === 'dynamic-tool' ? (part.toolName ?? '') : part.type.slice('tool-'.length);
}
/** No later state follows. */
export function isTerminal(part: ToolPart): boolean {
  if (part.state === 'output-available') return part.preliminary !== true;
  return part.state === 'output-error' || part.state === 'output-denied';
}
export function stepStart(parts: readonly UiPart[]): number {
  return parts.findLastIndex((part) => part.type === 'step-start') + 1;
}
/** The newest call of that id, anywhere in the message. */
export function findTool(message: UiMessage, toolCallId: string): ToolPart | undefined {
  return message.parts[lastIndexOfTool(message, toolCallId)] as ToolPart | undefined;
}
export function lastIndexOfTool({ parts }: UiMessage, toolCallId: string): number {
  for (let at = parts.length - 1; at >= 0; at--) {
    const part = parts[at] as UiPart;
    if ((part as ToolPart).toolCallId === toolCallId && isTool(part)) return at;
  }
  return -1;
}
export function findApproval(message: UiMessage, approvalId: string): ToolPart | undefined {
  return message.parts.findLast((part): part is ToolPart => isTool(part) && part.approval?.id === approvalId);
}
/** The input is complete: the text it was gathered in is dropped. */
export function setInput(part: ToolPart, input: unknown): void {
  part.input = input;
  delete part.rawInput;
  delete part.inputEncoding;
}
/** `output` must be there: servers refuse a finished call without it. */
export function setOutput(part: ToolPart, output: unknown): void {
  part.state = 'output-available';
  part.output = output ?? null;
  delete part.errorText;
  delete part.preliminary;
}
export function setError(part: ToolPart, errorText: string): void {
  part.state = 'output-error';
  part.errorText = errorText;
  delete part.output;
  delete part.preliminary;
}

// --- replays

export type Progress = 'behind' | 'level' | 'different';

const RANK: Readonly<Record<ToolState, number>> = {
  'input-streaming': 0,
  'input-available': 1,
  'approval-requested': 2,
  'approval-responded': 3,
  'output-available': 4,
  'output-error': 4,
  'output-denied': 4,
};

/** Progress of a replayed message compared with the shown one. */
export function progressOf(shown: readonly UiPart[], replayed: readonly UiPart[]): Progress {
  for (const [at, part] of shown.entries()) {
    const other = replayed[at];
    const progress = other ? compareParts(part, other) : 'behind';
    if (progress !== 'level') return progress;
  }
  return 'level';
}

function compareParts(shown: UiPart, replayed: UiPart): Progress {
  if (shown.type !== replayed.type) return 'different';
  if (isTool(shown)) return compareCalls(shown, replayed as ToolPart);
  if (shown.type !== 'text' && shown.type !== 'reasoning') return 'level';
  const [text, other] = [String(shown.text), String((replayed as { text?: unknown }).text)];
  if (other.startsWith(text)) return 'level';
  return text.startsWith(other) ? 'behind' : 'different';
}

function compareCalls(shown: ToolPart, replayed: ToolPart): Progress {
  if (RANK[replayed.state] < RANK[shown.state]) return 'behind';
  if (replayed.toolCallId !== shown.toolCallId) return 'different';
  const [text, other] = [String(shown.rawInput ?? ''), String(replayed.rawInput ?? '')];
  return replayed.state === 'input-streaming' && other.length < text.length ? 'behind' : 'level';
}
