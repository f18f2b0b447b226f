import type { SessionEvent } from './events.ts';
import type { Session } from './model.ts';
import { runningTurn } from './select.ts';

/** Adds the time to events that begin or end a call or a thought, unless an earlier conversation is only read. */
export function withTime(event: SessionEvent, session: Session, now: () => number): SessionEvent {
  if (event.type !== 'part.added' && event.type !== 'call.changed' && event.type !== 'text.delta') return event;
  if (session.partial || (event.type === 'call.changed' && event.change.status === undefined)) return event;
  // Only a new part needs it.
  if (event.type === 'text.delta' && runningTurn(session)?.parts.at(-1)?.id === event.partId) return event;
  return { ...event, at: now() };
}
