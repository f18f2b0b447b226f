import { NEWEST_VERSION } from '../../../protocols/kimi-wire/schema.ts';

/** What a version of Wire has (wire.md §3). Everything the server leaves out for an older client is decided here. */
export interface Dialect {
  /** As told to the client; 1.0 says "1". */
  readonly name: string;
  has(feature: Feature): boolean;
}

const since = {
  initialize: 1,
  externalTools: 1,
  approvalResponse: 1,
  turnEnd: 2,
  /** Before it a turn that is cancelled while a request is open never ends (§9.1). */
  cancelsWaiting: 4,
  replay: 3,
  steer: 4,
  planMode: 4,
  questions: 4,
  contextTokens: 4,
  steerInput: 5,
  notifications: 5,
  approvalSource: 6,
  feedback: 6,
  parentToolCallId: 6,
  planDisplay: 7,
  hooks: 7,
  diffStarts: 7,
  loginExpired: 7,
  summaries: 8,
  /** From it on a cancelled turn has its TurnEnd, too (§7). */
  cancelledTurnEnd: 9,
  asides: 9,
  /** From 1.6 and before it, an approval that a cancel settles is told of after the prompt has been answered (§7). */
  promptEcho: 10,
  stepRetry: 10,
} as const satisfies Readonly<Record<string, number>>;
export type Feature = keyof typeof since;

const NEWEST_MINOR = Number(NEWEST_VERSION.split('.')[1]);

/** Undefined for a version we do not serve. "1" is 1.0. */
export function dialectOf(version: string): Dialect | undefined {
  const match = /^1(?:\.(\d+))?$/.exec(version);
  if (!match) return undefined;
  const minor = Number(match[1] ?? 0);
  if (minor > NEWEST_MINOR) return undefined;
  return { name: minor === 0 ? '1' : `1.${minor}`, has: (feature) => minor >= since[feature] };
}
