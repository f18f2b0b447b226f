import { Emitter } from '../base/emitter.ts';
import { cutDeep } from '../base/json.ts';
import { t } from '../base/l10n.ts';
import type { Disposable } from '../base/lifetime.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Ask, Part, PartId, Session, Turn } from '../session/model.ts';
import { isSettled } from '../session/parts.ts';
import { findAsk, runningTurn } from '../session/select.ts';
import { Store } from '../session/store.ts';
import { withLinksFollowed } from './diskFiles.ts';
import type { JournalWriter } from './journal/writer.ts';

/** An event that changed the session, and the session before it. */
export interface Applied {
  readonly event: SessionEvent;
  readonly before: Session;
}

/**
 * The one way into a session, for its agent, its tools and the live session alike: events are bounded and timed here, recorded in the journal, and
 * only then shown to surfaces. Code that acts on an event listens to `onApplied`, which fires after every surface.
 */
export class EventSink implements Disposable {
  readonly store: Store;
  readonly #clock: () => number;
  readonly #applied = new Emitter<Applied>();
  readonly onApplied = this.#applied.listen;
  readonly #refused = new Emitter<Ask>();
  /** Fires for an ask beyond the bound of open asks; it is not shown, so the listener must answer it at once. */
  readonly onRefused = this.#refused.listen;
  /** True once the user knows that more asks came than can be open. */
  #warned = false;
  #disposed = false;

  constructor(start: Session, journal: JournalWriter | undefined, clock: () => number) {
    this.store = new Store(start);
    this.#clock = clock;
    // Registered first, so that an event is in the journal before a surface can show or answer it.
    this.store.onChange(({ event, now }) => {
      // Not recorded: no ask outlives its agent, and a whole file at every pause in typing is too much to write.
      if (event.type !== 'ask.revised') journal?.record(event, now);
    });
  }

  emit(raw: SessionEvent): void {
    if (this.#disposed) return;
    // A value that JSON cannot represent would break the journal and the view.
    const bounded = raw.type === 'text.delta' || raw.type === 'call.inputDelta' ? raw : cutDeep(raw);
    const before = this.store.now;
    const event = withPlaces(withTime(bounded, before, this.#clock), before);
    if (event.type === 'ask.opened' && before.asks.length >= MOST_ASKS && !findAsk(before, event.ask.id)) return this.#refuse(event.ask);
    if (!this.store.apply(event)) return;
    if (this.store.now.asks.length === 0) this.#warned = false;
    this.#applied.fire({ event, before });
  }

  dispose(): void {
    this.#disposed = true;
    this.#applied.dispose();
    this.#refused.dispose();
    this.store.dispose();
  }

  #refuse(ask: Ask): void {
    if (!this.#warned) {
      this.#warned = true;
      this.emit(tooManyAsked());
    }
    this.#refused.fire(ask);
  }
}

/** Marks an approval that leads out of the folder by a link, before any surface shows it. */
function withPlaces(event: SessionEvent, { cwd, partial }: Session): SessionEvent {
  if ((event.type !== 'ask.opened' && event.type !== 'ask.changed') || event.ask.kind !== 'approval' || partial) return event;
  return { ...event, ask: withLinksFollowed(event.ask, cwd) };
}

/** Adds the time to events that begin or end a call or a thought, unless an earlier conversation is only read. */
function withTime(event: SessionEvent, session: Session, now: () => number): SessionEvent {
  if (event.type !== 'part.added' && event.type !== 'call.changed' && event.type !== 'text.delta') return event;
  if (session.partial || (event.type === 'call.changed' && event.change.status === undefined)) return event;
  // Only a new part needs it.
  if (event.type === 'text.delta' && runningTurn(session)?.parts.at(-1)?.id === event.partId) return event;
  return { ...event, at: now() };
}

/** Most parts a turn keeps. Every change copies the list, so an endless turn would cost ever more. */
export const MOST_PARTS = 5000;
/** Parts removed at a time, and parts added before the next look. Both read every part, so they must be rare. */
export const AT_A_TIME = 1000;

/**
 * The oldest parts to drop from a turn that has grown too long: nothing that goes on, or that something kept belongs to, unless there is too much of
 * it. Empty while it is short.
 */
export function surplusParts({ parts }: Turn): readonly PartId[] {
  if (parts.length <= MOST_PARTS) return [];
  if (parts.length > MOST_PARTS + AT_A_TIME) return parts.slice(0, parts.length - MOST_PARTS).map(({ id }) => id);
  const needed = new Set<string>();
  const going = parts.filter((part, at) => at >= parts.length - MOST_PARTS + AT_A_TIME || goesOn(part));
  for (const { id, parent } of going) {
    needed.add(id);
    if (parent !== undefined) needed.add(parent);
  }
  // The parents of parents: a part comes after the one it belongs to.
  for (const { id, parent } of parts.toReversed()) if (parent !== undefined && needed.has(id)) needed.add(parent);
  return parts.filter(({ id }) => !needed.has(id)).map(({ id }) => id);
}

function goesOn(part: Part): boolean {
  return (
    (part.kind === 'call' && (!isSettled(part.call) || part.call.goesOn === true)) || (part.kind === 'prompt' && part.pending === true)
  );
}

/** Most open asks in a session. No user answers more, and showing them would block the editor. */
export const MOST_ASKS = 100;

/** Told once when more is asked. */
function tooManyAsked(): SessionEvent {
  const text = t('The agent has more than {0} open questions and approvals. Further ones were rejected.', MOST_ASKS);
  return { type: 'notice', notice: { level: 'warn', text } };
}
