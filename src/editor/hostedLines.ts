import type { SessionLine } from '../bridge/contract.ts';
import { isHosted, otherHostOf, settingsId } from '../live/hostedAgents.ts';
import type { Profile } from '../live/profiles.ts';
import type { RunningSession } from '../protocols/adapter.ts';
import type { SessionId } from '../session/model.ts';

/*
 * One line for each session of an agent host. Each window that shows such a session keeps a conversation of its own, because one journal has one
 * writer; so after two windows there are two of one session.
 */

/** Id prefix of a session that runs in the host and was not opened here. */
export const HOSTED = 'host ';

/** A line of the list; `hostKey` is the same in all conversations that show one session of a host. */
export type KnownLine = SessionLine & { readonly hostKey?: string };

export type RunningLine = RunningSession & { readonly profile: Pick<Profile, 'id' | 'name'> };

/** The name of a session across all windows; undefined for what no host runs. */
export function hostKeyOf(profileId: string, resumeKey: string | undefined): string | undefined {
  return isHosted(profileId) && resumeKey !== undefined ? `${otherHostOf(profileId) ?? ''} ${resumeKey}` : undefined;
}

/** Merges the lines of one session, adds what only a host has, and shows one session per agent in which nothing was said. */
export function mergedLines(
  known: readonly KnownLine[],
  running: readonly RunningLine[],
  active: SessionId | undefined,
): readonly SessionLine[] {
  const there = new Map(running.map((one) => [hostKeyOf(one.profile.id, one.key) ?? '', one]));
  const groups = new Map<string, KnownLine[]>();
  for (const line of withoutEmpty(known, active)) {
    const key = line.hostKey ?? `id ${line.id}`;
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  const lines = [...groups].map(([key, group]) => merged(group, there.get(key), active));
  const unknown = [...there].filter(([key, one]) => !groups.has(key) && !isEmpty(one)).map(([, one]) => lineOf(one));
  return [...lines, ...unknown];
}

/** True for a session without a prompt, which has its agent's name. Another window has just begun it, or was killed before the first prompt. */
function isEmpty({ state, title, agentName, profile }: RunningLine): boolean {
  return state === 'idle' && (title === '' || title === agentName || title === profile.name);
}

function withoutEmpty(known: readonly KnownLine[], active: SessionId | undefined): readonly KnownLine[] {
  const agents = new Set<string>();
  const isFirst = (line: KnownLine) => {
    const isNew = !agents.has(line.profile);
    agents.add(line.profile);
    return isNew;
  };
  const isSaid = ({ at, title, asks }: KnownLine) => at > 0 || title !== '' || asks > 0;
  const activeFirst = known.toSorted((a, b) => Number(b.id === active) - Number(a.id === active));
  const shown = new Set(activeFirst.filter((line) => isSaid(line) || isFirst(line)));
  return known.filter((line) => shown.has(line));
}

function merged(group: readonly KnownLine[], there: RunningLine | undefined, active: SessionId | undefined): SessionLine {
  const byTime = group.toSorted((a, b) => b.at - a.at);
  const open = byTime.filter(({ state }) => state !== 'past');
  // Each conversation catches up with its host; the one with the most files has the most to keep and undo.
  const byFiles = (open.length > 0 ? open : byTime).toSorted((a, b) => rank(b, active) - rank(a, active) || b.files - a.files);
  const shown = there || open.length > 0 ? byFiles[0] : byTime[0];
  const newest = byTime[0];
  if (!shown || !newest) throw new Error('A group has lines');
  const { hostKey: _hostKey, failed: _failed, pinned: _pinned, ...line } = shown;
  const isPinned = group.some(({ pinned }) => pinned);
  const more = { at: Math.max(newest.at, open.length > 0 ? 0 : (there?.at ?? 0)), ...(isPinned ? { pinned: true as const } : {}) };
  const isLive = open.length > 0 && line.state !== 'closed';
  if (there && !isLive) {
    const { state, ...facts } = stateOf(there);
    const isIdle = open.length > 0 && state === 'past';
    return { ...line, ...more, ...facts, state: isIdle ? line.state : state, title: there.title || newest.title };
  }
  const { title, failed } = isLive ? shown : newest;
  return { ...line, ...more, title, ...(failed ? { failed } : {}) };
}

function rank({ id, state }: SessionLine, active: SessionId | undefined): number {
  return (id === active ? 2 : 0) + (state === 'closed' ? 0 : 1);
}

function lineOf(one: RunningLine): SessionLine {
  const { key, title, at = 0, profile } = one;
  return { id: HOSTED + key, title, agent: profile.name, profile: settingsId(profile.id), at, files: 0, hosted: true, ...stateOf(one) };
}

function stateOf({ state }: RunningSession): Pick<SessionLine, 'asks' | 'failed'> & { readonly state: 'busy' | 'past' } {
  const isBusy = state === 'busy' || state === 'asking';
  return { state: isBusy ? 'busy' : 'past', asks: state === 'asking' ? 1 : 0, ...(state === 'failed' ? { failed: true } : {}) };
}
