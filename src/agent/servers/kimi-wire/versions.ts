import { atLeast, type Feature, SINCE } from '../../../protocols/kimi-wire/codec.ts';
import { NEWEST_VERSION } from '../../../protocols/kimi-wire/schema.ts';

/** Features of each Wire version (wire.md §3). Decides everything that the server omits for older clients. */
export interface Dialect {
  /** As told to the client; 1.0 says "1". */
  readonly name: string;
  has(feature: Feature): boolean;
}

const NEWEST_MINOR = Number(NEWEST_VERSION.split('.')[1]);

/** Undefined for a version we do not serve. "1" is 1.0. */
export function dialectOf(version: string): Dialect | undefined {
  const match = /^1(?:\.(\d+))?$/.exec(version);
  if (!match) return undefined;
  const minor = Number(match[1] ?? 0);
  if (minor > NEWEST_MINOR) return undefined;
  return { name: minor === 0 ? '1' : `1.${minor}`, has: (feature) => atLeast({ major: 1, minor }, SINCE[feature]) };
}
