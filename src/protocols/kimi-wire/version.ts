/** A protocol version; 1.10 is newer than 1.9 (wire.md §3). */
export interface Version {
  readonly major: number;
  readonly minor: number;
}

/** Before there was a handshake. */
export const LEGACY: Version = { major: 1, minor: 0 };

/** Reads `major.minor` and ignores what follows; "1" is 1.0. Undefined when there is no number at all. */
export function parseVersion(text: string): Version | undefined {
  const found = /^\s*v?(\d{1,6})(?:\.(\d{1,6}))?/.exec(text);
  return found ? { major: Number(found[1]), minor: Number(found[2] ?? 0) } : undefined;
}

export function atLeast(version: Version, minor: number): boolean {
  return version.major > 1 || (version.major === 1 && version.minor >= minor);
}

export function isNewer(one: Version, other: Version): boolean {
  return one.major > other.major || (one.major === other.major && one.minor > other.minor);
}
