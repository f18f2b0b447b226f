import type { SessionEvent } from '../../session/events.ts';
import type { Content, Fault, PartId, TurnId } from '../../session/model.ts';
import { type CallState, isFinal, mergeCall, NOTHING_STOPPED, newCall } from './calls.ts';
import { Refused } from './refused.ts';
import type { WireCall } from './schema.ts';

/** What a turn is made of: a prompt of ours, a turn of the agent's record, or something the agent does unasked after its turn has ended. */
export type TurnSort = 'prompt' | 'replay' | 'background';

/** What must be remembered between two updates of a turn; made when it begins, dropped when it ends. */
export interface TurnMemory {
  readonly id: TurnId;
  readonly sort: TurnSort;
  readonly promptText: string;
  readonly calls: Map<string, CallState>;
  /** The text that may still grow, unless something else has been shown since. */
  growing: Growing | undefined;
  /** Parts of messages that have an id, by kind and id. */
  readonly parts: Map<string, PartId>;
  made: number;
  /** What the names of its parts begin with. */
  readonly prefix: string;
  stopping: boolean;
  /** Terminals whose commands the user has ended. */
  readonly stopped: Set<string>;
  /** Files and the texts the user saw and allowed for them. */
  readonly allowed: Map<string, string>;
  readonly refused: Refused;
}
export interface Growing {
  readonly kind: 'text' | 'thought';
  readonly partId: PartId;
  readonly messageId: string | undefined;
}

/** The turns of one conversation: at most one runs. Keeps the call ids of turns that are over, to know news of them. */
export class Turns {
  readonly #emit: (event: SessionEvent) => void;
  readonly #now: () => number;
  readonly #past = new Set<string>();
  #current: TurnMemory | undefined;
  #stopped = false;

  constructor(emit: (event: SessionEvent) => void, now: () => number) {
    this.#emit = emit;
    this.#now = now;
  }

  get current(): TurnMemory | undefined {
    return this.#current;
  }

  /** True from the user's stop until they say something again: whatever the agent still does, it does against their word. */
  get stopped(): boolean {
    return this.#current?.sort === 'prompt' ? this.#current.stopping : this.#stopped;
  }

  begin(id: TurnId, sort: TurnSort, prompt: readonly Content[]): TurnMemory {
    const promptText = prompt.map((content) => (content.type === 'text' ? content.text : '')).join('\n');
    const turn: TurnMemory = {
      id,
      sort,
      promptText,
      calls: new Map(),
      growing: undefined,
      parts: new Map(),
      made: 0,
      prefix: `${id}:`,
      stopping: false,
      stopped: new Set(),
      allowed: new Map(),
      refused: new Refused(),
    };
    this.#current = turn;
    this.#emit({ type: 'turn.started', turnId: id, at: this.#now(), prompt });
    return turn;
  }

  /** What became of calls without a last word is not known when the turn ended well; what was asked about and never allowed was not done, and the reducer cancels it (acp.md §6). */
  end(
    status: 'done' | 'cancelled' | 'failed',
    how: { readonly stop?: string; readonly error?: Fault; readonly forgotten?: true } = {},
  ): void {
    const turn = this.#current;
    if (!turn) return;
    this.#current = undefined;
    if (turn.sort === 'prompt') this.#stopped = turn.stopping;
    for (const call of turn.calls.values()) {
      this.#past.add(call.id);
      if (status === 'done' && !call.refused && call.asking === 0 && !call.unanswered && !isFinal(call.status)) {
        this.#emit({ type: 'call.changed', turnId: turn.id, callId: call.id, change: { status: 'ended' } });
      }
    }
    this.#emit({ type: 'turn.ended', turnId: turn.id, at: this.#now(), status, ...how });
  }

  /** The call of that id in the running turn, made when nobody knew it. undefined: it belongs to a turn that is over. */
  call(turn: TurnMemory, id: string, announced: boolean): CallState | undefined {
    const known = turn.calls.get(id);
    if (known) return known;
    if (!announced && this.#past.has(id)) return undefined;
    const call = newCall(id);
    turn.calls.set(id, call);
    return call;
  }

  /** A call that is asked about while no turn runs: it is shown nowhere but in the ask. */
  stray(news: WireCall | undefined): CallState {
    const call = newCall(news?.toolCallId ?? '');
    if (news) mergeCall(call, news, 'permission', NOTHING_STOPPED);
    return call;
  }

  isPast(id: string): boolean {
    return this.#past.has(id);
  }
}
