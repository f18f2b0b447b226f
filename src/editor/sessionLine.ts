import type { SessionLine } from '../bridge/contract.ts';
import { settingsId } from '../live/hostedAgents.ts';
import type { JournalEntry } from '../live/journal/journal.ts';
import type { HostedSession } from '../live/surface.ts';
import type { Session, SessionId } from '../session/model.ts';
import { filesChanged, isBusy, titleOf } from '../session/select.ts';

/** The list entry of an open session. */
export function sessionLine({ id, store, profile }: HostedSession): SessionLine {
  const { now } = store;
  return {
    id,
    title: titleOf(now),
    agent: now.agent.name,
    profile: settingsId(profile),
    state: stateOf(now),
    asks: now.asks.length,
    at: now.turns.at(-1)?.startedAt ?? 0,
    files: filesChanged(now),
    ...(now.turns.at(-1)?.status === 'failed' ? { failed: true } : {}),
  };
}

/** The list entry of an earlier session. */
export function pastLine({ head, title, at, files, failed }: JournalEntry): SessionLine {
  return {
    id: head.id,
    title,
    agent: head.agent.name,
    profile: settingsId(head.profile),
    state: 'past',
    asks: 0,
    at,
    files,
    ...(failed ? { failed } : {}),
  };
}

/** The fields of a session that the list shows, as a string to compare. */
export function lineOf(id: SessionId, session: Session): string {
  return [id, session.title, session.turns.length, session.agent.name, stateOf(session), session.asks.length].join('\n');
}

function stateOf(session: Session): SessionLine['state'] {
  const { state } = session.link;
  if (state === 'recorded') return 'closed';
  return state === 'ready' && isBusy(session) ? 'busy' : state;
}
