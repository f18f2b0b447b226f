/**
 * Deviations of single agents, by the name they give at initialize. Each entry holds for a range of versions and names the recorded case in
 * test/protocols/acp that proves it. Deviations that show in the messages themselves are handled without an entry.
 */
export interface Quirks {
  /** An error for a missing file makes every new file fail: answer with an empty text. */
  readonly missingFileIsEmpty?: true;
  /** A tool server that is started as a process is refused; only an address will do. */
  readonly noProcessTools?: true;
  /** It writes files itself and only tells us: refusing a write changes nothing. */
  readonly mirrorsWrites?: true;
  /**
   * Its record of a conversation is a file named by the minute and the session id, and opening a conversation by that id writes an empty one
   * first: a load within the minute in which the conversation was begun empties its record, so the load is held until that minute is over.
   */
  readonly loadErasesYoung?: true;
  /** Its record has each message of the user as one piece without an id: two pieces are two messages. */
  readonly wholePrompts?: true;
}

interface Entry {
  readonly agent: string;
  /** First version it was seen in, and the first one in which it is gone. */
  readonly from: string;
  readonly until?: string;
  readonly quirks: Quirks;
  /** A recording that proves it, in test/protocols/acp. */
  readonly proof: string;
  /** The title of the transcript that fails without it. */
  readonly transcript: string;
}

export const QUIRKS: readonly Entry[] = [
  {
    agent: 'gemini-cli',
    from: '0.61.0',
    quirks: { missingFileIsEmpty: true },
    proof: 'recorded/gemini-new-file.jsonl',
    transcript: 'quirk: a missing file is empty for an agent that cannot read the error',
  },
  {
    agent: 'gemini-cli',
    from: '0.61.0',
    quirks: { loadErasesYoung: true },
    proof: 'recorded/gemini-load-too-soon.jsonl',
    transcript: 'quirk: a young conversation is loaded when the minute it began in is over',
  },
  {
    agent: 'opencode',
    from: '1.18.33',
    quirks: { mirrorsWrites: true },
    proof: 'recorded/opencode-refused-write.jsonl',
    transcript: 'quirk: an agent that writes by itself only mirrors outside, and is not refused',
  },
  {
    agent: 'copilot',
    from: '1.0.102',
    quirks: { noProcessTools: true },
    proof: 'recorded/copilot-initialize.jsonl',
    transcript: 'quirk: an agent that refuses tool servers as processes is offered none',
  },
  {
    agent: 'copilot',
    from: '1.0.102',
    quirks: { wholePrompts: true },
    proof: 'recorded/copilot-whole-prompts.jsonl',
    transcript: 'quirk: each piece of a record in the user’s name is a message of its own, where the agent joins their blocks',
  },
  {
    agent: 'codex-acp',
    from: '0.16.0',
    until: '2.0.0',
    quirks: { wholePrompts: true },
    proof: 'recorded/codex-whole-prompts.jsonl',
    transcript: 'quirk: each piece of a record in the user’s name is a message of its own, where the agent joins their blocks',
  },
];

export function quirksOf(agent: string | undefined, version: string | undefined): Quirks {
  const found = QUIRKS.filter(
    (entry) =>
      entry.agent === agent?.toLowerCase() &&
      (entry.until === undefined || version === undefined || compareVersions(version, entry.until) < 0),
  );
  return Object.assign({}, ...found.map((entry) => entry.quirks));
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
