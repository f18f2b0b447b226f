import type { CallId, PartId, TurnId } from '../../session/model.ts';

/** What must be remembered between two messages. Made when a turn begins, dropped when it ends. */
export interface TurnMemory {
  readonly turnId: TurnId;
  /** The working directory. */
  readonly cwd: string;
  readonly main: Lane;
  /** One per sub-agent, by parent call and agent. */
  readonly lanes: Map<string, Lane>;
  /** Every call by their id: a model may use one id twice (wire.md §9.12). */
  readonly calls: Map<string, SeenCall[]>;
  /** Which call an approval was about. */
  readonly asked: Map<string, SeenCall>;
  /** Cards made for sub-agents that no call started. */
  readonly agents: SeenCall[];
  readonly tokens: { input: number; output: number };
  /** True while something is said to keep the turn from going on. */
  held: boolean;
  nextPart: number;
}
/**
 * The line of one agent, the main one or a sub-agent: what it grows and what its step has shown. Every piece of text looks into it, so its
 * members stay where they are: an object that loses one is slow from then on.
 */
export interface Lane {
  readonly parent: CallId | undefined;
  growing: { readonly kind: 'text' | 'thought'; readonly partId: PartId } | undefined;
  call: SeenCall | undefined;
  readonly parts: { readonly id: PartId; readonly call?: SeenCall }[];
  /** Where in `parts` the running step begins. */
  stepFrom: number;
}
export interface SeenCall {
  readonly callId: CallId;
  readonly name: string;
  inputText: string;
  input?: unknown;
  /** The arguments are whole. */
  whole: boolean;
  rejected: boolean;
  finished: boolean;
}

/** What outlives turns. */
export interface SessionMemory {
  readonly notified: Set<string>;
  readonly unwell: Set<string>;
  /** Tasks that run beside the turns: id to description. */
  readonly background: Map<string, string>;
  /** The mode can be switched, so it is shown. */
  planMode: boolean;
  /** It is on, as far as the server has said. */
  inPlan: boolean;
}
export interface Memory {
  readonly session: SessionMemory;
  readonly turn?: TurnMemory;
  readonly lane?: Lane;
  /** How many sub-agents deep. */
  readonly depth: number;
}

export function newSessionMemory(): SessionMemory {
  return { notified: new Set(), unwell: new Set(), background: new Map(), planMode: false, inPlan: false };
}

export function newTurn(turnId: TurnId, cwd: string): TurnMemory {
  return {
    turnId,
    cwd,
    main: newLane(undefined),
    lanes: new Map(),
    calls: new Map(),
    asked: new Map(),
    agents: [],
    tokens: { input: 0, output: 0 },
    held: false,
    nextPart: 1,
  };
}

export function newLane(parent: CallId | undefined): Lane {
  return { parent, growing: undefined, call: undefined, parts: [], stepFrom: 0 };
}

export function newPartId(turn: TurnMemory): PartId {
  return `${turn.turnId}.${turn.nextPart++}`;
}

export function lastCall(turn: TurnMemory | undefined, wireId: string): SeenCall | undefined {
  return turn?.calls.get(wireId)?.at(-1);
}
