/** How deeply values from outside may be nested: what goes deeper is read by everybody and can be written by nobody, for writing recurses. */
export const DEEPEST = 256;

/** JSON of somebody else's making. What lies deeper than `DEEPEST` is cut away. Throws what `JSON.parse` throws. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return mayBeDeep(text) ? cut(value, DEEPEST) : value;
}

/** Only counts what opens, whether it stands in a text or not: most messages are told apart by that. */
function mayBeDeep(text: string): boolean {
  if (text.length <= 2 * DEEPEST) return false;
  let opened = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if ((unit === 0x7b || unit === 0x5b) && ++opened > DEEPEST) return true;
  }
  return false;
}

/** The value itself where nothing of it lies too deep. */
function cut(value: unknown, left: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (left === 0) return '…';
  if (Array.isArray(value)) {
    value.forEach((one: unknown, at) => {
      value[at] = cut(one, left - 1);
    });
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const key of Object.keys(members)) {
    const before = members[key];
    const after = cut(before, left - 1);
    if (after !== before) members[key] = after;
  }
  return value;
}
