import { t } from '../base/l10n.ts';
import type { Past } from '../protocols/adapter.ts';
import type { Session, SessionId, Turn, TurnId } from '../session/model.ts';
import { promptText, titleOf } from '../session/select.ts';
import type { LiveSession } from './liveSession.ts';
import type { Profile } from './profiles.ts';

/** The name of a copy of that conversation. */
export function copyTitle(session: Session): string {
  return t('Copy of {0}', titleOf(session) || t('Conversation'));
}

/** Returns the first turns of a conversation as a session of its own. Decisions about files stay with the session that changed them. */
export function beginningOf(now: Session, count: number, id: SessionId): Session {
  const { resumeKey: _, plan: __, ...rest } = now;
  const turns = now.turns.slice(0, count).map(({ files: ___, ...turn }) => turn);
  return { ...rest, id, title: copyTitle(now), turns, asks: [], queue: [], notices: [] };
}

/** Waits until the agent is ready, its record read; rejects with the reason when it ends before that. */
function whenReady(session: Pick<LiveSession, 'store'>): Promise<Session> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      const { now } = session.store;
      if (now.link.state === 'opening') return;
      listening.dispose();
      if (now.link.state === 'ready') resolve(now);
      else reject(new Error(now.link.state === 'closed' ? now.link.reason : 'The agent is not connected.'));
    };
    const listening = session.store.onChange(check);
    check();
  });
}

/** Says of the turns of a copy, as far as they are those of the original, when those were and how they ended: agents record neither. */
function dateCopy(copy: Pick<LiveSession, 'publish'>, turns: readonly Turn[], originals: readonly Turn[]): void {
  for (const [at, original] of originals.entries()) {
    const turn = turns[at];
    const { startedAt, endedAt, status, error } = original;
    if (!turn || promptText(turn) !== promptText(original)) return;
    if (status === 'running' || endedAt === undefined) continue;
    copy.publish({ type: 'turn.dated', turnId: turn.id, startedAt, endedAt, status, ...(error ? { error } : {}) });
  }
}

export interface Branch {
  readonly id: SessionId;
  /** The first turn of the copy that does not belong to the branch; the next prompt replaces it. */
  readonly next?: Turn;
}

/** The parts of the sessions that a branch needs. */
export interface BranchSessions {
  open(profile: Profile, cwd: string, past: Past & { readonly copyOf: string }, id: SessionId): SessionId;
  openRecorded(profile: Profile, recorded: Session): void;
  get(id: SessionId): LiveSession | undefined;
  forget(id: SessionId): Promise<void>;
}

/**
 * Copies a conversation up to and with a turn into a new session, which goes on separately. Agents that keep conversations copy them whole, so a branch
 * from before the end needs one that takes turns back as well. Rejects with a sentence for the user.
 */
export async function branchAfter(
  sessions: BranchSessions,
  { from, turnId, profile, id }: { readonly from: SessionId; readonly turnId: TurnId; readonly profile: Profile; readonly id: SessionId },
): Promise<Branch> {
  const session = sessions.get(from);
  if (!session) throw new Error('The agent of this session could not be started.');
  if (session.store.now.link.state === 'closed') void session.restart();
  const now = await whenReady(session);
  const count = now.turns.findIndex((turn) => turn.id === turnId) + 1;
  if (count === 0) throw new Error('The agent does not know this turn. Fork from another one.');
  const { fork, edit } = now.link.state === 'ready' ? now.link.offers : {};
  const left = now.turns[count];
  if (!fork && !edit) throw new Error('This agent cannot copy conversations.');
  if (left && !edit) throw new Error('This agent copies whole conversations only. Fork from its last answer.');
  if (fork) {
    const past: Past & { readonly copyOf: string } = { key: await session.fork(), title: copyTitle(now), copyOf: titleOf(now) };
    sessions.open(profile, now.cwd, past, id);
  } else sessions.openRecorded(profile, beginningOf(now, count, id));
  const branch = sessions.get(id);
  if (!branch) throw new Error('This agent cannot copy conversations.');
  if (!fork) void branch.restart();
  try {
    const { turns } = await whenReady(branch);
    if (fork) dateCopy(branch, turns, now.turns.slice(0, count));
    const next = left && fork ? turns[count] : undefined;
    if (left && fork && (next === undefined || promptText(next) !== promptText(left)))
      throw new Error('The agent has recorded this conversation differently. Fork from its last answer.');
    return { id, ...(next ? { next } : {}) };
  } catch (error) {
    await sessions.forget(id);
    throw error;
  }
}
