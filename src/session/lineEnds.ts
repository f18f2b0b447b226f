import { compareLines, linesOf } from './segments.ts';

/** Text with \n line ends and without a byte order mark, as diffs have it. A lone \r ends a line, too: the editor counts it so. */
export function plain(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
}

/**
 * `text` in the manner of `like`: its byte order mark and its line ends. Of different ones, each line that both have keeps its own, and so do lines
 * that stand for as many others; the rest get what most lines of `like` have.
 */
export function inMannerOf(text: string, like: string): string {
  const most = commonEnd(like);
  if (!hasMixedEnds(like)) return withMarkOf(most === '\n' ? plain(text) : plain(text).replaceAll('\n', most), like);
  const other = markOf(most);
  // The last line has no end of its own.
  const marks = linesOf(marked(like))
    .map((line) => MARK.exec(line)?.[0] ?? '')
    .with(-1, other);
  let at = 0;
  const ends = compareLines(linesOf(plain(like)), linesOf(plain(text))).flatMap((segment) => {
    const from = at;
    at += segment.kind === 'same' ? segment.lines.length : segment.before.length;
    if (segment.kind === 'same') return marks.slice(from, at);
    const isLineForLine = segment.before.length === segment.after.length;
    return segment.after.map((_, index) => (isLineForLine ? marks[from + index] : undefined) ?? other);
  });
  const last = ends.length - 1;
  const lines = linesOf(plain(text)).map((line, index) => (index === last ? line : line + (ends[index] ?? '')));
  return withMarkOf(unmarked(lines.join('\n')), like);
}

/** The text with a byte order mark where `like` has one. */
export function withMarkOf(text: string, like: string): string {
  return (like.startsWith('\uFEFF') ? '\uFEFF' : '') + text.replace(/^\uFEFF/, '');
}

/** The kinds of line ends in a text: `CRLF`. */
export function endsIn(text: string): string {
  const kinds = { CRLF: /\r\n/, LF: /(?<!\r)\n/, CR: /\r(?!\n)/ };
  return Object.entries(kinds)
    .flatMap(([name, end]) => (end.test(text) ? [name] : []))
    .join('+');
}

/** What a change makes of the kinds of line ends (`CRLF → LF`); '' where it keeps them. */
export function changedEnds(before: string, after: string): string {
  const [from, to] = [endsIn(before), endsIn(after)];
  return from === to ? '' : `${from} → ${to}`;
}

/** True for such words. */
export function isChangedEnds(text: string): boolean {
  return /^(?:(?:CRLF|LF|CR|\+)+ → (?:CRLF|LF|CR|\+)+\n?)+$/.test(text.slice(0, LONGEST_WORDS));
}
const LONGEST_WORDS = 200;

/** True for a text whose lines do not all end in the same way. */
export function hasMixedEnds(text: string): boolean {
  if (!text.includes('\r')) return false;
  const first = /\r\n?|\n/.exec(text)?.[0];
  return !(first === '\r\n' ? !/\r(?!\n)|(?<!\r)\n/.test(text) : first === '\r' && !text.includes('\n'));
}

/** True for a text whose line ends the editor's save changes: it makes them one kind, which is never a lone \r. */
export function losesEnds(text: string): boolean {
  return hasMixedEnds(text) || (text.includes('\r') && !text.includes('\n'));
}

/** How the texts of a file are compared: by their lines alone, or with how each of these ends. */
export interface Manner {
  readonly name: 'plain' | 'marked';
  /** The text, without its byte order mark, as it is compared. */
  readonly read: (text: string) => string;
  /** A text that was made of such ones, as it is written: with the byte order mark of `like`. */
  readonly write: (text: string, like: string) => string;
}

/**
 * For a file of that text. Where all of its lines end in one way, how those of another version of it did is no change of theirs; where they do not, no
 * decision about a line may change how another one ends.
 */
export function mannerOf(present: string): Manner {
  return hasMixedEnds(present) ? MARKED : PLAIN;
}

const PLAIN: Manner = { name: 'plain', read: plain, write: inMannerOf };
const MARKED: Manner = {
  name: 'marked',
  read: marked,
  write: (text, like) => withMarkOf(unmarked(text), like),
};

/** How a line ended, at its end: nothing for \n, one \r for \r\n, and two for a lone \r. */
const MARK = /\r{0,2}$/;

function markOf(end: string): string {
  return end === '\n' ? '' : end === '\r' ? '\r\r' : '\r';
}

/** The text with \n line ends, each after its mark. */
function marked(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/\r(?!\n)/g, '\r\r\n');
}

function unmarked(text: string): string {
  return text.replace(/\r\r\n/g, '\r');
}

function commonEnd(text: string): '\n' | '\r\n' | '\r' {
  const crlf = text.split('\r\n').length - 1;
  const lf = text.split('\n').length - 1 - crlf;
  const cr = text.split('\r').length - 1 - crlf;
  if (cr > crlf && cr > lf) return '\r';
  return crlf > lf ? '\r\n' : '\n';
}
