import { reduceChat } from '../protocols/ahp/reduce.ts';
import type { ChatState } from '../protocols/ahp/state.ts';
import type { Intent } from '../session/intents.ts';
import type { Part, Session, Turn, TurnId } from '../session/model.ts';
import { reduce } from '../session/reduce.ts';
import { chatActions } from './translate.ts';

/**
 * Maps retries of failed turns. Clients of the agent host continue the failed turn, while the session starts a new turn for each retry
 * (docs/protocols/ahp.md §5). `clientTurn` is the id of the turn that clients see; `sessionTurn` is the id of one of its retries in the session, which
 * stores the mapping (`Turn.retries`) for later hosts.
 */
export class Retries {
  readonly #clientTurns = new Map<TurnId, TurnId>();

  add(sessionTurn: TurnId, clientTurn: TurnId): void {
    this.#clientTurns.set(sessionTurn, clientTurn);
  }

  /** Reads the retries that an earlier host stored in the session. */
  restore({ turns }: Session): void {
    for (const { id, retries } of turns) if (retries !== undefined) this.#clientTurns.set(id, retries);
  }

  /** Returns the client's turn that a turn of the session retries, if the session has not stored it yet. */
  unstored({ id, retries }: Turn): TurnId | undefined {
    return retries === undefined ? this.#clientTurns.get(id) : undefined;
  }

  /** Returns the session's latest turn for a client's turn. */
  sessionTurn(clientTurn: TurnId): TurnId {
    return this.#attempts(clientTurn).at(-1) ?? clientTurn;
  }

  /** Returns the failed turn itself and its retries, oldest first. */
  #attempts(clientTurn: TurnId): readonly TurnId[] {
    return [clientTurn, ...[...this.#clientTurns].flatMap(([retry, of]) => (of === clientTurn ? retry : []))];
  }

  /** Returns the session as clients see it: each failed turn and its retries are one turn. */
  clientView(session: Session, { activeTurn }: ChatState): Session {
    if (this.#clientTurns.size === 0) return session;
    const turns: Turn[] = [];
    for (const turn of session.turns) {
      const id = this.#clientTurns.get(turn.id);
      const at = id === undefined ? -1 : turns.findIndex((one) => one.id === id);
      const [failed] = at < 0 ? [] : turns.splice(at, 1);
      turns.push(id === undefined ? turn : { ...turn, id, parts: partsOf(failed, turn) });
    }
    const active = activeTurn?.id;
    // Until the agent starts the retry, showing the failed turn would end the client's active turn again.
    const isAwaited = active !== undefined && !session.turns.some(({ id }) => id === this.sessionTurn(active));
    return {
      ...session,
      turns: isAwaited ? turns.filter(({ id }) => id !== active) : turns,
      asks: session.asks.map((ask) => (ask.turnId === undefined ? ask : { ...ask, turnId: this.#clientTurn(ask.turnId) })),
      queue: session.queue.map((prompt) => ({ ...prompt, turnId: this.#clientTurn(prompt.turnId) })),
    };
  }

  /**
   * Returns a client's intent with the ids of the session's turns. A retry repeats the prompt of the failed turn if that is in the session; otherwise
   * no agent received it, and the content of the intent is sent.
   */
  intent(requested: Intent, { turns }: Session): Intent {
    if (requested.type === 'reorder') return { ...requested, order: requested.order.map((id) => this.sessionTurn(id)) };
    if (requested.type === 'unqueue') return { ...requested, turnId: this.sessionTurn(requested.turnId) };
    if (requested.type !== 'prompt') return requested;
    const known = (id: TurnId) => (turns.some((one) => one.id === id) ? id : this.sessionTurn(id));
    const { again, replaces, ...plain } = requested;
    const attempts = again === undefined ? [] : this.#attempts(again);
    const failed = turns.findLast(({ id }) => attempts.includes(id));
    return {
      ...plain,
      turnId: this.sessionTurn(requested.turnId),
      ...(failed ? { content: failed.prompt, again: failed.id } : {}),
      ...(replaces === undefined ? {} : { replaces: known(replaces) }),
    };
  }

  #clientTurn(sessionTurn: TurnId): TurnId {
    return this.#clientTurns.get(sessionTurn) ?? sessionTurn;
  }
}

/** Returns a session that an earlier host stored, with everything ended that was in progress. */
export function leftBehind(session: Session, at: number): Session {
  return reduce(session, { type: 'link.closed', reason: 'The agent host ended before this turn did.', at });
}

/** Returns the chat of a session that an earlier host stored: clients see each retry continue its failed turn. */
export function replayed(before: ChatState, session: Session): ChatState {
  const retried = new Retries();
  let chat = before;
  const show = (turns: readonly Turn[]) => {
    for (const action of chatActions(chat, retried.clientView({ ...session, turns }, chat))) chat = reduceChat(chat, action);
  };
  for (const [at, { id, retries }] of session.turns.entries()) {
    if (retries === undefined) continue;
    show(session.turns.slice(0, at));
    chat = reduceChat(chat, { type: 'chat/turnResume', turnId: retries });
    retried.add(id, retries);
  }
  show(session.turns);
  return chat;
}

/** Joins the parts of a failed turn and its retry. Part ids are unique only within a turn of the session, so duplicates get the turn's id in front. */
function partsOf(failed: Turn | undefined, turn: Turn): readonly Part[] {
  if (!failed) return turn.parts;
  const taken = new Set(failed.parts.map(({ id }) => id));
  return [...failed.parts, ...turn.parts.map((part) => (taken.has(part.id) ? { ...part, id: `${turn.id}/${part.id}` } : part))];
}
