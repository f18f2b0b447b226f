/**
 * Steps that a pattern may take over one text, its size times that of the text: some tenths of a second. RE2 takes time in proportion to
 * both, and a pattern of 70 characters may stand for ten thousand places (`(\pL\pL…){1000}`).
 */
export const MOST_STEPS = 10_000_000;
/** Places of a pattern that is compiled: a hundred times as many take half a gigabyte. */
export const LARGEST_PATTERN = 5000;

/** The places that a pattern of RE2 has when its repetitions are written out, rather too many than too few. */
export function patternSize(pattern: string): number {
  if (pattern.length > LARGEST_PATTERN) return pattern.length;
  /** Of the groups around this place, the outermost first. */
  const outer: number[] = [];
  let size = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; ) {
    const piece = pieceAt(pattern, at);
    at += piece.length;
    const times = REPEATED.exec(piece);
    if (times) {
      const least = Number(times[1]);
      const most = Math.max(1, least, Number(times[2] ?? 0));
      // An optional repetition takes one more place.
      const repeated = last * most + Math.max(1, most - least);
      size += repeated - last;
      last = repeated;
    } else if (piece === '(') {
      outer.push(size);
      size = 0;
    } else if (piece === ')' && outer.length > 0) {
      last = size + 2;
      size = (outer.pop() ?? 0) + last;
    } else {
      last = piece.startsWith('\\Q') ? Math.max(1, piece.length) : 1;
      size += last;
    }
  }
  return outer.reduce((sum, one) => sum + one, size);
}
const REPEATED = /^\{(\d+)(?:,(\d*))?\}$/;
/** A quoted run, a repetition, a class of characters, an escape, or else one character. */
const PIECE = /\\Q(?:(?!\\E).)*(?:\\E)?|\{\d+(?:,\d*)?\}|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\[pPx]\{[^}]*\}|\\[pP]\w|\\.|./sy;

function pieceAt(pattern: string, at: number): string {
  PIECE.lastIndex = at;
  return PIECE.exec(pattern)?.[0] ?? pattern.charAt(at);
}

/** `longest`: how many characters of a line are searched. */
export interface LinearPattern {
  readonly fits: (line: string) => boolean;
  readonly longest: number;
}

/**
 * Compiles a pattern that searches at most `longest` characters of a line; a large pattern searches fewer. Throws for a pattern that RE2 does not
 * support, and for one that is too large.
 */
export async function linearPattern(
  pattern: string,
  { literal, ignoreCase, longest }: { readonly literal: boolean; readonly ignoreCase: boolean; readonly longest: number },
): Promise<LinearPattern> {
  const size = literal ? pattern.length : patternSize(pattern);
  if (size > LARGEST_PATTERN) throw new Error(`its repetitions stand for more than ${LARGEST_PATTERN} places`);
  const { RE2JS } = await import('re2js');
  const source = literal ? RE2JS.quote(pattern) : RE2JS.translateRegExp(pattern);
  const compiled = RE2JS.compile(source, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  return { fits: (line) => compiled.test(line), longest: Math.min(longest, Math.floor(MOST_STEPS / size)) };
}
