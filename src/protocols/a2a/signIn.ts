import { isRecord } from './words.ts';

/** A name as headers and cookies have them. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that say how the request itself is framed and where it goes. */
const FRAMING =
  /^(host|connection|content-length|content-type|content-encoding|transfer-encoding|upgrade|te|trailer|expect|keep-alive|accept)$/i;

/** How a server wants to be shown a secret. */
export type Way =
  | { readonly how: 'bearer' }
  | { readonly how: 'basic' }
  | { readonly how: 'key'; readonly place: 'header' | 'query' | 'cookie'; readonly name: string };

/** One secret that is wanted; `scheme` is its name in the card. */
export interface Wanted {
  readonly scheme: string;
  readonly way: Way;
}
type Schemes = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * What has to be shown together: the first of the card's alternatives that is known here in full, or, where the card names none, its first
 * known scheme. Empty: nothing that is known (a2a.md §15).
 */
export function wantedBy(schemes: Schemes, alternatives: readonly Readonly<Record<string, unknown>>[]): readonly Wanted[] {
  const known = new Map<string, Way>();
  for (const [scheme, facts] of Object.entries(schemes)) {
    const way = wayOf(facts);
    if (way) known.set(scheme, way);
  }
  const all = [...known].map(([scheme, way]) => ({ scheme, way }));
  // 1.0 wraps the names; an empty alternative says that nothing needs to be shown.
  const sets = alternatives.map((one) => Object.keys(isRecord(one.schemes) ? one.schemes : one)).filter((names) => names.length > 0);
  if (sets.length === 0) return all.slice(0, 1);
  const fitting = sets.find((names) => names.every((name) => known.has(name)));
  return all.filter(({ scheme }) => fitting?.includes(scheme));
}

/** Both versions' spellings; undefined for what needs a browser or a certificate, or could not be sent. */
function wayOf(scheme: Readonly<Record<string, unknown>>): Way | undefined {
  const http = isRecord(scheme.httpAuthSecurityScheme) ? scheme.httpAuthSecurityScheme : scheme.type === 'http' ? scheme : undefined;
  if (http && typeof http.scheme === 'string') {
    if (/^bearer$/i.test(http.scheme)) return { how: 'bearer' };
    return /^basic$/i.test(http.scheme) ? { how: 'basic' } : undefined;
  }
  const key = isRecord(scheme.apiKeySecurityScheme) ? scheme.apiKeySecurityScheme : scheme.type === 'apiKey' ? scheme : undefined;
  const place = key?.location ?? key?.in;
  if (!key || typeof key.name !== 'string' || (place !== 'header' && place !== 'query' && place !== 'cookie')) return undefined;
  if (place !== 'query' && !NAME.test(key.name)) return undefined;
  if (place === 'header' && FRAMING.test(key.name)) return undefined;
  return { how: 'key', place, name: key.name };
}
