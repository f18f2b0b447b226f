import { reduceChat } from '../protocols/ahp/reduce.ts';
import type { ChatState } from '../protocols/ahp/state.ts';
import type { Intent } from '../session/intents.ts';
import type { Part, Session, Turn, TurnId } from '../session/model.ts';
import { chatActions } from './translate.ts';

/**
 * Turns that try a failed one again. They are turns of their own for the session, while clients go on with the failed one (docs/protocols/ahp.md §5).
 * The session keeps them (`Turn.retries`), so that a later host knows them.
 */
export class Retries {
  /** The clients' turns by the session's. */
  readonly #theirs = new Map<TurnId, TurnId>();

  add(own: TurnId, theirs: TurnId): void {
    this.#theirs.set(own, theirs);
  }

  /** Takes over the tries that the session keeps from an earlier host. */
  restore({ turns }: Session): void {
    for (const { id, retries } of turns) if (retries !== undefined) this.#theirs.set(id, retries);
  }

  /** Returns the client's turn that the session's turn tries again, where the session does not keep that yet. */
  unkept({ id, retries }: Turn): TurnId | undefined {
    return retries === undefined ? this.#theirs.get(id) : undefined;
  }

  /** Returns the latest try of a client's turn. */
  own(theirs: TurnId): TurnId {
    return this.#tries(theirs).at(-1) ?? theirs;
  }

  #tries(theirs: TurnId): readonly TurnId[] {
    return [theirs, ...[...this.#theirs].flatMap(([own, one]) => (one === theirs ? own : []))];
  }

  /** Returns the session with the turns that clients know. */
  seen(session: Session, { activeTurn }: ChatState): Session {
    if (this.#theirs.size === 0) return session;
    const turns: Turn[] = [];
    for (const turn of session.turns) {
      const id = this.#theirs.get(turn.id);
      const at = id === undefined ? -1 : turns.findIndex((one) => one.id === id);
      const [failed] = at < 0 ? [] : turns.splice(at, 1);
      turns.push(id === undefined ? turn : { ...turn, id, parts: partsOf(failed, turn) });
    }
    const open = activeTurn?.id;
    // Before the agent has begun the next try, the failed one is no news.
    const isAwaited = open !== undefined && !session.turns.some(({ id }) => id === this.own(open));
    return {
      ...session,
      turns: isAwaited ? turns.filter(({ id }) => id !== open) : turns,
      asks: session.asks.map((ask) => (ask.turnId === undefined ? ask : { ...ask, turnId: this.#of(ask.turnId) })),
      queue: session.queue.map((prompt) => ({ ...prompt, turnId: this.#of(prompt.turnId) })),
    };
  }

  /** Returns an intent with the turns that the session knows. A retry repeats the prompt of the failed turn, if the agent ever received it. */
  intent(wanted: Intent, { turns }: Session): Intent {
    if (wanted.type === 'reorder') return { ...wanted, order: wanted.order.map((id) => this.own(id)) };
    if (wanted.type === 'unqueue') return { ...wanted, turnId: this.own(wanted.turnId) };
    if (wanted.type !== 'prompt') return wanted;
    const known = (id: TurnId) => (turns.some((one) => one.id === id) ? id : this.own(id));
    const { again, replaces, ...plain } = wanted;
    const tries = again === undefined ? [] : this.#tries(again);
    const failed = turns.findLast(({ id }) => tries.includes(id));
    return {
      ...plain,
      turnId: this.own(wanted.turnId),
      ...(failed ? { content: failed.prompt, again: failed.id } : {}),
      ...(replaces === undefined ? {} : { replaces: known(replaces) }),
    };
  }

  #of(own: TurnId): TurnId {
    return this.#theirs.get(own) ?? own;
  }
}

/** Returns the chat as clients know a session of an earlier host: each try goes on with the turn that it tries again. */
export function replayed(before: ChatState, session: Session): ChatState {
  const known = new Retries();
  let chat = before;
  const show = (turns: readonly Turn[]) => {
    for (const action of chatActions(chat, known.seen({ ...session, turns }, chat))) chat = reduceChat(chat, action);
  };
  for (const [at, { id, retries }] of session.turns.entries()) {
    if (retries === undefined) continue;
    show(session.turns.slice(0, at));
    chat = reduceChat(chat, { type: 'chat/turnResume', turnId: retries });
    known.add(id, retries);
  }
  show(session.turns);
  return chat;
}

/** Ids are unique within a turn of the session only. */
function partsOf(failed: Turn | undefined, turn: Turn): readonly Part[] {
  if (!failed) return turn.parts;
  const taken = new Set(failed.parts.map(({ id }) => id));
  return [...failed.parts, ...turn.parts.map((part) => (taken.has(part.id) ? { ...part, id: `${turn.id}/${part.id}` } : part))];
}
