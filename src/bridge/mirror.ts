import type { SessionEvent } from '../session/events.ts';
import type { Session, SessionId } from '../session/model.ts';
import { reduce } from '../session/reduce.ts';
import type { FromView, ProfileLine, SessionLine, ToView } from './contract.ts';

/** View end of the pipe: snapshot and patches become the same session the host has. A gap in the numbers asks for a snapshot. */
export class Mirror {
  readonly #send: (message: FromView) => void;
  readonly #listeners = new Set<(events: readonly SessionEvent[] | undefined) => void>();
  #session: Session | undefined;
  #sessionId: SessionId | undefined;
  #seq = 0;
  #asked = false;
  #sessions: readonly SessionLine[] = [];
  #profiles: readonly ProfileLine[] = [];
  #active: SessionId | undefined;

  constructor(send: (message: FromView) => void) {
    this.#send = send;
  }

  /** The session shown; undefined when there is none. */
  get session(): Session | undefined {
    return this.#session?.id === this.#active ? this.#session : undefined;
  }
  get sessions(): readonly SessionLine[] {
    return this.#sessions;
  }
  get profiles(): readonly ProfileLine[] {
    return this.#profiles;
  }
  get active(): SessionId | undefined {
    return this.#active;
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
        this.#session = message.session;
        this.#sessionId = message.sessionId;
        this.#seq = message.seq;
        this.#asked = false;
        this.#tell(undefined);
        return;
      case 'patch':
        this.#patch(message);
        return;
      case 'sessions':
        this.#sessions = message.list;
        this.#profiles = message.profiles;
        this.#active = message.active;
        this.#tell(undefined);
        return;
      default:
        return;
    }
  }

  #patch(message: Extract<ToView, { type: 'patch' }>): void {
    // A patch of a session that is shown no more, or one that a snapshot has overtaken.
    if (!this.#session || message.sessionId !== this.#sessionId || message.seq <= this.#seq) return;
    if (message.from !== this.#seq + 1) {
      if (!this.#asked) this.#send({ type: 'resync', sessionId: message.sessionId });
      this.#asked = true;
      return;
    }
    this.#session = message.events.reduce(reduce, this.#session);
    this.#seq = message.seq;
    this.#tell(message.events);
  }

  #tell(events: readonly SessionEvent[] | undefined): void {
    for (const listener of this.#listeners) listener(events);
  }
}
