import type { Quirk } from '../../conversation/quirk.ts';

/*
 * Deviations of single agents, by the name they give at initialize, in every version before `until`. Deviations that show in the messages themselves
 * are handled for all agents, without a row.
 */

interface AcpQuirk extends Quirk {
  /** The first version without it. */
  readonly until?: string;
  /** A recording that proves it, in test/protocols/acp. */
  readonly proof: string;
}

export const QUIRKS = [
  {
    id: 'missingFileIsEmpty',
    peers: 'gemini-cli',
    what: 'An error for a missing file makes every new file fail, so such a read is answered with an empty text.',
    proof: 'recorded/gemini-new-file.jsonl',
    transcript: 'quirk: a missing file is empty for an agent that cannot read the error',
  },
  {
    id: 'loadErasesYoung',
    peers: 'gemini-cli',
    what: 'Its record of a conversation is a file named by the minute and the session id, and opening a conversation by that id writes an empty one first: loading it within the minute in which it was begun empties its record. So the load waits until that minute is over.',
    proof: 'recorded/gemini-load-too-soon.jsonl',
    transcript: 'quirk: a young conversation is loaded when the minute it began in is over',
  },
  {
    id: 'mirrorsWrites',
    peers: 'opencode',
    what: 'It writes files itself and only reports it, so refusing a write changes nothing.',
    proof: 'recorded/opencode-refused-write.jsonl',
    transcript: 'quirk: an agent that writes by itself only mirrors outside, and is not refused',
  },
  {
    id: 'noProcessTools',
    peers: 'copilot',
    what: 'It refuses a tool server that is started as a process; only one with an address is offered.',
    proof: 'recorded/copilot-initialize.jsonl',
    transcript: 'quirk: an agent that refuses tool servers as processes is offered none',
  },
  {
    id: 'wholePrompts',
    peers: 'copilot',
    what: 'Its record has each message of the user as one piece without an id, so two pieces are two messages.',
    proof: 'recorded/copilot-whole-prompts.jsonl',
    transcript: 'quirk: each piece of a record in the user’s name is a message of its own, where the agent joins their blocks',
  },
  {
    id: 'wholePrompts',
    peers: 'codex-acp',
    until: '2.0.0',
    what: 'Its record has each message of the user as one piece without an id, so two pieces are two messages.',
    proof: 'recorded/codex-whole-prompts.jsonl',
    transcript: 'quirk: each piece of a record in the user’s name is a message of its own, where the agent joins their blocks',
  },
] as const satisfies readonly AcpQuirk[];
/** The rows that hold for an agent, by their ids. */
export type Quirks = { readonly [id in (typeof QUIRKS)[number]['id']]?: true };

export function quirksOf(agent: string | undefined, version: string | undefined): Quirks {
  const rows: readonly AcpQuirk[] = QUIRKS;
  const found = rows.filter(
    ({ peers, until }) =>
      peers === agent?.toLowerCase() && (until === undefined || version === undefined || compareVersions(version, until) < 0),
  );
  return Object.fromEntries(found.map(({ id }) => [id, true]));
}

export const MINUTE = 60_000;
/** Milliseconds until a conversation that began then can be loaded from an agent with `loadErasesYoung`; not positive when it can be. */
export function loadDelayLeft(startedAt: number, now: number): number {
  return (Math.floor(startedAt / MINUTE) + 1) * MINUTE - now;
}

/** By number, part by part; what follows a hyphen is left aside. */
export function compareVersions(one: string, other: string): number {
  const parts = (version: string) =>
    (version.replace(/^v/, '').split('-', 1)[0] ?? '').split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [left, right] = [parts(one), parts(other)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
