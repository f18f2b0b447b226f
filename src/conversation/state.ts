import type { ErrorAnswer } from '../base/outcomes.ts';
import type { Ask, Content } from '../session/model.ts';

/* The state that all conversations share. It is JSON: optional members hold null, because undefined does not survive. */

/** A map that survives JSON. Keys are prefixed, so that `__proto__` is a key like any other and numbers keep their order. */
export type Table<T> = Record<string, T>;
/** A table for many keys: an object without a prototype is a hash table from the start, and the engine makes no shape for each key. */
export const newTable = <T>(): Table<T> => Object.create(null) as Table<T>;
export const find = <T>(table: Table<T>, key: string): T | undefined => table[`:${key}`];
export function put<T>(table: Table<T>, key: string, value: T): T {
  table[`:${key}`] = value;
  return value;
}
/** Increments the number under the key; returns the number before. */
export function count(table: Table<number>, key: string): number {
  const name = `:${key}`;
  const before = table[name] ?? 0;
  table[name] = before + 1;
  return before;
}
export const remove = <T>(table: Table<T>, key: string): boolean => delete table[`:${key}`];
export const keys = (table: Table<unknown>): string[] => Object.keys(table).map((key) => key.slice(1));
/** Removes everything. */
export function clear(table: Table<unknown>): void {
  for (const key of Object.keys(table)) delete table[key];
}

/** Splits the name of a call or timer into its first word and the rest: `tool x y` is `tool` and `x y`. */
export function splitName(name: string): readonly [what: string, rest: string] {
  const at = name.indexOf(' ');
  return at < 0 ? [name, ''] : [name.slice(0, at), name.slice(at + 1)];
}

export interface ConversationState {
  /** `left`: the user has closed the conversation, and the agent is still being stopped. `over`: nothing happens any more; the driver releases everything. */
  phase: 'new' | 'opening' | 'ready' | 'left' | 'over';
  /** Prefix of the ids made here, drawn once by the driver's caller, so that ids of two windows differ. */
  readonly seed: string;
  /** How many ids were made. */
  ids: number;
  /** The number of messages from the agent. To detect silence, compare two counts. */
  heard: number;
  /** Links that have not closed yet. */
  readonly links: Table<'open' | 'closing'>;
  turn: TurnState | null;
  /** Prompts that wait for the turn to end, oldest first. */
  readonly queue: NextPrompt[];
  readonly asks: Table<OpenAsk>;
  /** Requests of the agent that have no answer yet. */
  readonly requests: Table<OpenRequest>;
}
export interface NextPrompt {
  readonly turnId: string;
  readonly content: readonly Content[];
}
/** The turn that runs. Protocols extend it, and say in `L` and `C` what their lanes and calls hold. */
export interface TurnState<L extends Lane = Lane, C extends CallState = CallState> {
  readonly id: string;
  /** The initiator of the turn. `record`: the agent replays an earlier conversation. */
  readonly by: 'user' | 'agent' | 'record';
  phase: 'running' | 'stopping';
  /** True while `turn.activity` explains why the turn shows no progress. */
  waiting: boolean;
  /** How many parts have got an id from us. */
  parts: number;
  /** By name; the agent itself has the name ''. */
  readonly lanes: Table<L>;
  readonly calls: Table<C>;
}
/** The output of one agent in a turn: the agent itself, or one of its sub-agents. */
export interface Lane {
  readonly name: string;
  /** The call that shows it, for a sub-agent. */
  readonly parent: string | null;
  /** The part that the next piece of text extends. */
  open: { readonly kind: 'text' | 'thought'; readonly partId: string; readonly message: string | null } | null;
  /** Ids of its parts in their order, for agents that take steps back. A call is found in `TurnState.calls` by the same id. */
  readonly parts: string[];
}
/** A tool call of the agent. `D` lists what the user may have decided about it, in the protocol's terms. */
export interface CallState<D extends string | { readonly is: string } = string | { readonly is: string }> {
  readonly id: string;
  decision: D;
  ended: boolean;
}
/** An editor tool, as the agent is offered it. `parameters` is a JSON Schema object. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}
/** A question to the user, from the agent or from us. */
export interface OpenAsk {
  readonly id: string;
  readonly turnId: string | null;
  readonly callId: string | null;
  /** The agent's requests that its answer answers; none when the ask is ours, or when the protocol answers otherwise. */
  readonly requests: string[];
  /** The subject of the ask, for the protocol that reads the answer; null where `requests` name it (ACP: the job of the request). */
  readonly about: unknown;
  readonly shown: Ask;
}
/** How a request of the agent is declined: by a result in some protocols, by an error in others. */
export type Decline = { readonly result: unknown } | { readonly error: ErrorAnswer };
export interface OpenRequest {
  readonly id: string;
  readonly link: string;
  readonly decline: Decline;
  /** The request belongs to no turn, so stopping a turn leaves it open. */
  readonly background: boolean;
  /** Names of the ports that work on it. They are dropped with it. */
  readonly ports: string[];
}

export function newConversation(seed: string): ConversationState {
  return { phase: 'new', seed, ids: 0, heard: 0, links: {}, turn: null, queue: [], asks: {}, requests: {} };
}
export function newTurn<L extends Lane = Lane, C extends CallState = CallState>(id: string, by: TurnState['by']): TurnState<L, C> {
  return { id, by, phase: 'running', waiting: false, parts: 0, lanes: {}, calls: newTable() };
}
export function newLane(name = '', parent: string | null = null): Lane {
  return { name, parent, open: null, parts: [] };
}
/** The agent's own lane, or that of a sub-agent, made when it is first needed. */
export function laneOf(turn: TurnState, name = '', parent: string | null = null): Lane {
  return find(turn.lanes, name) ?? put(turn.lanes, name, newLane(name, parent));
}
