import { oneLine, shortened, visibleText, writtenOut } from '../../session/visible.ts';
import { ROW_WIDTH } from './pickRoom.ts';

/** One line of an agent's words: escapes `$(name)`, which would be drawn as an icon, and writes out invisible characters. */
export function plainLabel(text: string): string {
  return exact(oneLine(text));
}

/** A command of one line as it is: a title draws several blanks as one, unless they do not break. */
export function commandLabel(command: string): string {
  return exact(command.trim()).replace(/ {2,}/g, (blanks) => `${'\u00a0'.repeat(blanks.length - 1)} `);
}

/** The same for the beginning of a long text. */
export function shortLabel(text: string, length: number): string {
  return plainLabel(shortened(text, length));
}

/** A title wraps at blanks only and cuts what is wider than it: longer words get places to break. */
export function wrapping(title: string): string {
  return title.replace(/\S{41,}/gu, (word) => word.replace(/\S{8,32}?[/\\.,;:&?=_-]|\S{32}/gu, '$&\u200b'));
}

function exact(text: string): string {
  return visibleText(text).replaceAll('\t', '    ').replaceAll('$(', '$\u200b(');
}

/**
 * Splits a command into rows of at most `width` small letters, leaving nothing out within them; `more` counts the rows that did not fit,
 * approximately for a very long command.
 */
export function commandRows(command: string, most = 8, width = ROW_WIDTH): { readonly rows: readonly string[]; readonly more: number } {
  const lines = command.slice(0, LAID_OUT).replace(/\r\n/g, '\n').split('\n');
  while (lines.length > 1 && lines.at(-1) === '') lines.pop();
  const rows = lines.flatMap((line) => cut(exact(line).replaceAll('↪', writtenOut('↪')), width));
  const rest = Math.ceil(Math.max(0, command.length - LAID_OUT) / width);
  return { rows: rows.slice(0, most), more: Math.max(0, rows.length - most) + rest };
}

/** UTF-16 units that are laid out: many times the visible amount. */
const LAID_OUT = 8000;

/** UTF-16 units of a line in a text to look at. */
const LONGEST_LINE = 200;

/** The text with lines that an editor draws whole: a longer one goes on in the next, behind a mark. */
export function asLines(text: string): string {
  const line = new RegExp(`[^\n]{${LONGEST_LINE}}(?=[^\n])`, 'gu');
  return text.length <= LONGEST_LINE ? text : text.replaceAll(GOES_ON, `${writtenOut('↪')} `).replace(line, `$&\n${GOES_ON}`);
}

/** Marks a row that continues the one before; a new line of the text begins without it. */
const GOES_ON = '↪ ';
/** Characters before the end of a row in which a blank may end it. */
const LOOK_BACK = 24;

/** Splits a line into rows, at a blank where there is one near the end; leaves nothing out. */
function cut(line: string, width: number): readonly string[] {
  const characters = [...line];
  const rows: string[] = [];
  let from = 0;
  while (from < characters.length || rows.length === 0) {
    const mark = rows.length === 0 ? '' : GOES_ON;
    let to = from;
    let filled = mark === '' ? 0 : 3;
    for (let next = characters[to]; next !== undefined; next = characters[to]) {
      filled += widthOf(next);
      if (filled > width && to > from) break;
      to += 1;
    }
    if (to < characters.length) to = blankBefore(characters, to, Math.max(from + 1, to - LOOK_BACK)) ?? to;
    rows.push(mark + characters.slice(from, to).join(''));
    from = to;
  }
  return rows;
}

/** The position after the last blank before `end`, at least `least`; undefined where there is none. */
function blankBefore(characters: readonly string[], end: number, least: number): number | undefined {
  for (let at = end; at > least; at--) if (characters[at - 1] === ' ') return at;
  return undefined;
}

/** Estimates the width in a proportional font, rather too wide than too narrow. */
function widthOf(character: string): number {
  if (character > '\u024f' || /[MW@%mw—]/.test(character)) return 2;
  return /[A-Z&#]/.test(character) ? 1.4 : 1;
}

/** UTF-16 units of a text that are converted: many times the visible amount. */
const LONGEST_MARKDOWN = 50_000;

/**
 * Converts Markdown to readable plain lines: no marks of emphasis, headings, code or links. Text in code stays unchanged, and so does what follows in a
 * very long one.
 */
export function plainMarkdown(text: string): string {
  if (text.length > LONGEST_MARKDOWN) {
    const end = text.lastIndexOf('\n', LONGEST_MARKDOWN - 1) + 1 || LONGEST_MARKDOWN;
    return plainMarkdown(text.slice(0, end)) + text.slice(end);
  }
  let inCode = false;
  const lines = text.split('\n').flatMap((line) => {
    if (line === '') return [line];
    if (/^\s*(?:```|~~~)/.test(line)) {
      inCode = !inCode;
      return [];
    }
    return [inCode ? line : plainLine(line)];
  });
  return lines.join('\n');
}

function plainLine(line: string): string {
  return line
    .replace(/^\s{0,3}#{1,6}\s+/, '')
    .replace(/^(\s*)[*+]\s+/, '$1- ')
    .split(/(?<!`)(`{1,9}[^`]{1,2000}`{1,9})/)
    .map((piece, at) =>
      at % 2 === 1
        ? piece.replace(/^`+|`{1,9}$/g, '')
        : piece.replace(/!?\[([^\][]{0,500})\]\([^()]{0,2000}\)/g, '$1').replace(/(\*\*|__|~~)(?=\S)(.{1,500}?)\1/g, '$2'),
    )
    .join('');
}
