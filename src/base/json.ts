/** Levels of lists and objects in one value. Nothing real comes near; what goes far beyond cannot be written as JSON again. */
export const DEEPEST = 256;

/** JSON.parse for text from outside: what is nested deeper than `DEEPEST` is replaced by words that say so. Throws on text that is no JSON. */
export function parseJson(text: string, onCut?: () => void): unknown {
  const value: unknown = JSON.parse(text);
  // So many brackets do not fit into less.
  if (text.length <= 2 * DEEPEST || !isDeeper(value, DEEPEST)) return value;
  onCut?.();
  return cut(value, DEEPEST);
}

/** The same value when it is not nested too deeply, otherwise a copy without what is. */
export function cutDeep<T>(value: T): T {
  return isDeeper(value, DEEPEST) ? (cut(value, DEEPEST) as T) : value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (isDeeper(inner, levels - 1)) return true;
    return false;
  }
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], levels - 1)) return true;
  return false;
}

function cut(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return `… (nested more than ${DEEPEST} deep, left out)`;
  if (Array.isArray(value)) return value.map((inner) => cut(inner, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner, levels - 1)]));
}
