import type { LiveSession } from './liveSession.ts';
import { type Profile, providerOf } from './profiles.ts';

/* Agents that run in an agent host of this user instead of in the window: profiles of their own, so that a session comes back to where it ran. */

const MARK = '@host';
/** The mark, and the key of a host that is not the window's own. */
const MARKED = /@host(?::([0-9a-f]{16}))?$/;

const PROTOCOL = 'ahp';

/** True for an agent that is a host with agents of its own. */
export function isHost({ protocol }: Pick<Profile, 'protocol'>): boolean {
  return protocol === PROTOCOL;
}

export function isHosted(profileId: string): boolean {
  return MARKED.test(profileId);
}

/** The id in the settings, wherever the agent runs. For an agent of another host, the name that this host gives it. */
export function settingsId(profileId: string): string {
  return profileId.replace(MARKED, '');
}

/** The key of the host that runs it; undefined for the window's own host, and for what runs in the window. */
export function otherHostOf(profileId: string): string | undefined {
  return MARKED.exec(profileId)?.[1];
}

/** The same agent in the host. Uses the address and token of the host that runs at launch. */
export function inHost({ id, name, cwd }: Pick<Profile, 'id' | 'name' | 'cwd'>, hostKey?: string): Profile {
  const agent = providerOf(id);
  const folder = cwd === undefined ? {} : { cwd };
  const mark = hostKey === undefined ? MARK : `${MARK}:${hostKey}`;
  return { id: id + mark, name, protocol: PROTOCOL, args: [], env: {}, headers: {}, url: '', options: { agent }, ...folder };
}

type Hosted = Pick<LiveSession, 'profile' | 'startedHere' | 'store' | 'restart'>;

/**
 * Connects the sessions of the window's own host again after it was started. Those that look for the host where it was before find it there only when
 * it is not another process: `isNew`.
 */
export function reconnectHosted(sessions: readonly Hosted[], isNew: boolean): void {
  for (const session of sessions) {
    if (!session.startedHere || !isHosted(session.profile) || otherHostOf(session.profile) !== undefined) continue;
    const { now } = session.store;
    const isLooking = now.link.state === 'opening' && now.link.note !== undefined;
    if (now.link.state === 'closed' || (isNew && isLooking)) void session.restart();
  }
}
