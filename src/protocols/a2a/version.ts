/** The extension's version, which is a segment of its address (a2a.md §5). */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly pre: string;
}

/** What this build implements. */
export const OURS: Version = { major: 0, minor: 0, patch: 0, pre: '' };

const SEGMENT = /^v(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** undefined when no segment of the path is a version. */
export function versionIn(uri: string): Version | undefined {
  const path = URL.canParse(uri) ? new URL(uri).pathname : uri;
  const match = path
    .split('/')
    .map((segment) => SEGMENT.exec(segment))
    .findLast((found) => found !== null);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2] ?? 0), patch: Number(match[3] ?? 0), pre: match[4] ?? '' };
}

export function fits(version: Version | undefined): boolean {
  if (!version || version.major !== OURS.major || version.pre !== OURS.pre) return false;
  return version.major === 0 ? version.minor === OURS.minor : version.minor >= OURS.minor;
}

export function isOurExtension(uri: string, more: readonly string[] = []): boolean {
  return more.includes(uri) || uri.includes('/developer-profile/') || (uri.includes('development-tool') && SEGMENTS.test(uri));
}
const SEGMENTS = /(^|\/)development-tool(\/|$)/;

export function versionText(version: Version | undefined): string {
  if (!version) return '?';
  return `${version.major}.${version.minor}.${version.patch}${version.pre ? `-${version.pre}` : ''}`;
}

export function newest(uris: readonly string[]): string | undefined {
  const rank = (uri: string) => {
    const { major, minor, patch } = versionIn(uri) ?? OURS;
    return major * 1e12 + minor * 1e6 + patch;
  };
  return uris.toSorted((a, b) => rank(b) - rank(a))[0];
}
