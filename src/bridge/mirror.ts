import type { ApprovalAnswers } from '../session/approvalAnswers.ts';
import type { SessionEvent } from '../session/events.ts';
import type { AskId, Session, SessionId } from '../session/model.ts';
import { reduce } from '../session/reduce.ts';
import type { FromView, ProfileLine, SessionLine, ToView } from './contract.ts';

interface Copy {
  readonly id: SessionId;
  readonly session: Session;
  readonly answers: ReadonlyMap<AskId, ApprovalAnswers>;
  /** Number of the last event in it. */
  readonly seq: number;
  /** A patch is missing, and a snapshot was asked for. */
  readonly lagging: boolean;
}

/** Nothing can be answered before the host has said how. */
const NO_ANSWERS: ApprovalAnswers = { dangers: [], grave: true, answers: [] };

/** View end of the pipe: snapshot and patches become the same session the host has. A gap in the numbers asks for a snapshot. */
export class Mirror {
  readonly #send: (message: FromView) => void;
  readonly #listeners = new Set<(events: readonly SessionEvent[] | undefined) => void>();
  #copy: Copy | undefined;
  #listed: Omit<Extract<ToView, { type: 'sessions' }>, 'type'> = { list: [], profiles: [] };

  constructor(send: (message: FromView) => void) {
    this.#send = send;
  }

  /** The session shown; undefined when there is none. */
  get session(): Session | undefined {
    return this.#copy?.session.id === this.#listed.active ? this.#copy?.session : undefined;
  }
  /** The answers to an open approval of the session shown. */
  answersTo(askId: AskId): ApprovalAnswers {
    return this.#copy?.answers.get(askId) ?? NO_ANSWERS;
  }
  get sessions(): readonly SessionLine[] {
    return this.#listed.list;
  }
  get profiles(): readonly ProfileLine[] {
    return this.#listed.profiles;
  }
  get active(): SessionId | undefined {
    return this.#listed.active;
  }

  /** The listener gets the events of a patch, or undefined when everything may be new. Returns what removes it. */
  onChange(listener: (events: readonly SessionEvent[] | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Messages that are not about sessions are left alone. */
  take(message: ToView): void {
    switch (message.type) {
      case 'snapshot':
        this.#copy = {
          id: message.sessionId,
          session: message.session,
          answers: new Map(message.answers),
          seq: message.seq,
          lagging: false,
        };
        this.#notify(undefined);
        return;
      case 'patch':
        this.#patch(message);
        return;
      case 'sessions':
        this.#listed = message;
        this.#notify(undefined);
        return;
      default:
        return;
    }
  }

  #patch(message: Extract<ToView, { type: 'patch' }>): void {
    const copy = this.#copy;
    // A patch of a session that is shown no more, or one that a snapshot has overtaken.
    if (!copy || message.sessionId !== copy.id || message.seq < copy.seq) return;
    // Applied before. A patch without events has `from` behind `seq`: it brings answers to asks that the host worked out later.
    if (message.seq === copy.seq && message.from <= message.seq) return;
    if (message.from !== copy.seq + 1) {
      if (!copy.lagging) this.#send({ type: 'resync', sessionId: message.sessionId });
      this.#copy = { ...copy, lagging: true };
      return;
    }
    const answers = message.answers ? new Map(message.answers) : copy.answers;
    this.#copy = { ...copy, session: message.events.reduce(reduce, copy.session), answers, seq: message.seq };
    this.#notify(message.events);
  }

  #notify(events: readonly SessionEvent[] | undefined): void {
    for (const listener of this.#listeners) listener(events);
  }
}
