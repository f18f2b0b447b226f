/** Kinds of characters between which a line changes its font or direction: Latin letters, right to left, pictures and others. */
const LATIN = 1;
const RIGHT_TO_LEFT = 2;
const PICTURE = 3;
const OTHER = 4;

/**
 * The number of UTF-16 units at the beginning of a text that can be drawn at once: at most `most`, and fewer where its letters keep changing between
 * scripts, as a browser needs a thousand times longer for each change than for a letter. Never half a character.
 */
export function drawable(text: string, most: number, changes = most / 10): number {
  if (text.length <= changes) return text.length;
  let left = changes;
  let last = 0;
  let at = 0;
  for (; at < text.length && at < most && left >= 0; at += 1) {
    const kind = kindOf(text.charCodeAt(at));
    if (kind === 0 || kind === last) continue;
    last = kind;
    left -= 1;
  }
  return at < text.length && isLowHalf(text.charCodeAt(at)) ? at - 1 : at;
}

/** The same from the end: where the last `most` units begin that can be drawn at once. */
export function drawableEnd(text: string, most: number): number {
  const from = Math.max(0, text.length - most);
  return isLowHalf(text.charCodeAt(from)) ? from + 1 : from;
}

function isLowHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** 0 for blanks, digits and signs, which stay with what is around them. */
function kindOf(unit: number): number {
  if (unit < 0x80) return (unit > 0x40 && unit < 0x5b) || (unit > 0x60 && unit < 0x7b) ? LATIN : 0;
  if ((unit >= 0x590 && unit < 0x900) || (unit >= 0xfb1d && unit <= 0xfeff)) return RIGHT_TO_LEFT;
  return unit >= 0xd800 && unit <= 0xdfff ? PICTURE : OTHER;
}
