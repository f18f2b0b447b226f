import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, ToolCall, TurnId } from '../../../session/model.ts';
import { contentOf } from '../content.ts';
import type { TurnCall } from '../lostTurn.ts';
import { mcpName, type ToolUse, toolUse } from '../toolTable.ts';
import { Lane, type Live } from './blocks.ts';
import type { AssistantLine, Block, StreamLine, TokenUsage, UserLine } from './schema.ts';

/** A call the agent has made in this conversation. */
export interface KnownCall {
  readonly use: ToolUse;
  readonly parent: CallId | undefined;
  /** The turn it was made in. */
  readonly turn: TurnId;
  /** A sub-agent that works on in the background. */
  goesOn?: boolean;
  status: ToolCall['status'];
}

const ROOT = '';
/** How many sub-agents deep is looked for the one that works in the background. */
const DEEPEST = 20;

/**
 * Turns what the agent says into parts of the running turn: pieces as they stream, whole blocks in their place, calls by id, a sub-agent's
 * lines under its call. Nothing is shown twice (qwen.md §3.7).
 */
export class Transcript {
  readonly #cwd: () => string;
  readonly #newPart: () => string;
  readonly #lanes = new Map<string, Lane>();
  readonly #calls = new Map<CallId, KnownCall>();
  readonly #lastWords = new Map<CallId, string>();
  #ofTurn = new Set<CallId>();

  constructor(cwd: () => string, newPart: () => string) {
    this.#cwd = cwd;
    this.#newPart = newPart;
  }

  call(id: CallId): KnownCall | undefined {
    return this.#calls.get(id);
  }

  /** Calls without an end that the agent itself waits for, oldest first. */
  get openCalls(): readonly (readonly [CallId, KnownCall])[] {
    return [...this.#calls].filter(([id, call]) => isOpen(call) && this.backgroundTurn(id) === undefined);
  }

  /** The turn in which a sub-agent works on in the background, for its call and all that belongs to it. */
  backgroundTurn(id: CallId | null | undefined): TurnId | undefined {
    const at = id ? [id, ...this.#above(id)].find((one) => this.#calls.get(one)?.goesOn) : undefined;
    return at === undefined ? undefined : this.#calls.get(at)?.turn;
  }

  /** The calls that a call belongs to, the nearest first. */
  #above(id: CallId): readonly CallId[] {
    const all: CallId[] = [];
    for (let at = this.#calls.get(id)?.parent; at !== undefined && all.length < DEEPEST; at = this.#calls.get(at)?.parent) all.push(at);
    return all;
  }

  /** Open calls that belong to a sub-agent. */
  openUnder(id: CallId): readonly CallId[] {
    return [...this.#calls].flatMap(([child, call]) => (isOpen(call) && this.#above(child).includes(id) ? [child] : []));
  }

  /** What a sub-agent said last. */
  lastWords(id: CallId): string | undefined {
    return this.#lastWords.get(id);
  }

  /** What is going on now: a sub-agent, another tool, or nothing, which leaves the model. */
  get running(): 'tool' | 'subAgent' | undefined {
    const open = this.openCalls;
    if (open.length === 0) return undefined;
    return open.some(([, call]) => call.parent !== undefined) ? 'subAgent' : 'tool';
  }

  /** The calls of the running turn. */
  get ofTurn(): readonly TurnCall[] {
    return [...this.#ofTurn].flatMap((id) => {
      const call = this.#calls.get(id);
      return call ? [{ id, use: call.use, status: call.status }] : [];
    });
  }

  stream(line: StreamLine, turnId: TurnId): readonly SessionEvent[] {
    const { event } = line;
    const parent = line.parent_tool_use_id ?? undefined;
    const lane = this.#lane(parent);
    const index = event.index ?? 0;
    switch (event.type) {
      case 'message_start':
        lane.restart();
        return [];
      case 'content_block_start':
        return event.content_block ? this.#begin(lane, index, event.content_block, turnId, parent) : [];
      case 'content_block_delta':
        return this.#grow(lane, index, event.delta ?? {}, turnId, parent);
      default:
        return [];
    }
  }

  assistant(line: AssistantLine, turnId: TurnId): readonly SessionEvent[] {
    const parent = line.parent_tool_use_id ?? undefined;
    const lane = this.#lane(parent);
    return line.message.content.flatMap((block) => this.#final(lane, block, line.message.id, turnId, parent));
  }

  /** Text lines of a sub-agent's prompt; results go through `results.ts`. */
  prompt(line: UserLine, turnId: TurnId): readonly SessionEvent[] {
    const parent = line.parent_tool_use_id ?? undefined;
    if (parent === undefined) return [];
    const content = contentOf(line.message.content);
    return content.length === 0 ? [] : [{ type: 'part.added', turnId, part: { kind: 'prompt', id: this.#newPart(), parent, content } }];
  }

  /** The call as a part, for a call that is heard of in another way first. */
  ensureCall(id: CallId, name: string, input: unknown, turnId: TurnId, parent: CallId | undefined): readonly SessionEvent[] {
    return this.#calls.has(id) ? [] : this.#addCall(id, name, input, turnId, parent);
  }

  setStatus(id: CallId, status: ToolCall['status']): void {
    const call = this.#calls.get(id);
    if (call) call.status = status;
  }

  /** A turn or the process is over; its calls are not heard of again. */
  endTurn(): void {
    for (const [, call] of this.openCalls) call.status = 'cancelled';
    for (const key of [...this.#lanes.keys()]) if (this.backgroundTurn(key) === undefined) this.#lanes.delete(key);
    this.#ofTurn.clear();
  }

  #lane(parent: string | undefined): Lane {
    const key = parent ?? ROOT;
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane = new Lane();
    this.#lanes.set(key, lane);
    return lane;
  }

  #begin(lane: Lane, index: number, block: Block, turnId: TurnId, parent: CallId | undefined): readonly SessionEvent[] {
    const kind = kindOf(block.type);
    if (kind === undefined) return [];
    if (kind === 'call') {
      if (!block.id) return [];
      const events = this.ensureCall(block.id, block.name ?? 'tool', undefined, turnId, parent);
      lane.begin(index, { kind, id: block.id, text: '' });
      return events;
    }
    const live = lane.begin(index, { kind, id: this.#newPart(), text: '' });
    return this.#text(live, block.text ?? block.thinking ?? '', turnId, parent);
  }

  #grow(
    lane: Lane,
    index: number,
    delta: NonNullable<StreamLine['event']['delta']>,
    turnId: TurnId,
    parent: CallId | undefined,
  ): readonly SessionEvent[] {
    const piece = delta.text ?? delta.thinking ?? delta.partial_json;
    if (!piece) return [];
    const kind = delta.text != null ? 'text' : delta.thinking != null ? 'thought' : 'call';
    const known = lane.at(index);
    if (kind === 'call') {
      if (known?.kind !== 'call') return [];
      known.text += piece;
      return [{ type: 'call.inputDelta', turnId, callId: known.id, text: piece }];
    }
    const live = known?.kind === kind ? known : lane.begin(index, { kind, id: this.#newPart(), text: '' });
    return this.#text(live, piece, turnId, parent);
  }

  #text(live: Live, piece: string, turnId: TurnId, parent: CallId | undefined): readonly SessionEvent[] {
    if (piece === '' || live.kind === 'call') return [];
    live.text += piece;
    const under = parent === undefined ? {} : { parent };
    return [{ type: 'text.delta', turnId, kind: live.kind, partId: live.id, ...under, text: piece }];
  }

  /** A whole block: completes what streamed, replaces it where it says something else, or is added. */
  #final(
    lane: Lane,
    block: Block,
    messageId: string | null | undefined,
    turnId: TurnId,
    parent: CallId | undefined,
  ): readonly SessionEvent[] {
    const kind = kindOf(block.type);
    if (kind === undefined) return [];
    const repeated = lane.repeats(messageId, block);
    if (kind === 'call') return block.id ? this.#finalCall(lane, block.id, block, turnId, parent) : [];
    const text = block.text ?? block.thinking ?? '';
    if (parent !== undefined && kind === 'text') this.#lastWords.set(parent, text);
    const live = lane.finish(kind, undefined);
    if (!live) {
      if (repeated || text === '') return [];
      return this.#text({ kind, id: this.#newPart(), text: '' }, text, turnId, parent);
    }
    if (text.startsWith(live.text)) return this.#text(live, text.slice(live.text.length), turnId, parent);
    return [
      { type: 'parts.removed', turnId, partIds: [live.id] },
      ...this.#text({ kind, id: this.#newPart(), text: '' }, text, turnId, parent),
    ];
  }

  #finalCall(lane: Lane, id: CallId, block: Block, turnId: TurnId, parent: CallId | undefined): readonly SessionEvent[] {
    lane.finish('call', id);
    const name = block.name ?? this.#calls.get(id)?.use.name ?? 'tool';
    if (!this.#calls.has(id)) return this.#addCall(id, name, block.input, turnId, parent);
    const use = toolUse(name, block.input, this.#cwd());
    const known = this.#calls.get(id);
    this.#calls.set(id, { turn: turnId, ...known, use, parent: known?.parent ?? parent, status: known?.status ?? 'pending' });
    const { title, kind, locations } = use;
    return [{ type: 'call.changed', turnId, callId: id, change: { title, kind, locations, input: use.input } }];
  }

  #addCall(id: CallId, name: string, input: unknown, turnId: TurnId, parent: CallId | undefined): readonly SessionEvent[] {
    const use = toolUse(name, input, this.#cwd());
    this.#calls.set(id, { use, parent, turn: turnId, status: 'pending' });
    this.#ofTurn.add(id);
    const call: ToolCall = {
      id,
      name: mcpName(name)?.tool ?? use.name,
      title: use.title,
      kind: use.kind,
      status: 'pending',
      inputText: input === undefined ? '' : JSON.stringify(input),
      ...(input === undefined ? {} : { input: use.input }),
      output: [],
      locations: use.locations,
    };
    return [{ type: 'part.added', turnId, part: { kind: 'call', id, ...(parent === undefined ? {} : { parent }), call } }];
  }
}

function isOpen({ status }: KnownCall): boolean {
  return status === 'pending' || status === 'waiting' || status === 'running';
}

function kindOf(type: string): Live['kind'] | undefined {
  if (type === 'text') return 'text';
  if (type === 'thinking') return 'thought';
  return type === 'tool_use' || type === 'server_tool_use' ? 'call' : undefined;
}

/** Tokens of the context after a model round. */
export function contextTokens(usage: TokenUsage | null | undefined): number | undefined {
  if (!usage) return undefined;
  const read = (usage.input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  const all = usage.total_tokens ?? read + (usage.output_tokens ?? 0);
  return all > 0 ? all : undefined;
}
