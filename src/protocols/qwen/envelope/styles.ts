import type { TerminalNote } from './schema.ts';

/** Theme tokens of the terminal program, as the colour numbers every terminal maps to its own theme (SGR). */
const TOKENS: Readonly<Record<string, string>> = {
  accentgreen: '32',
  accentred: '31',
  accentyellow: '33',
  accentblue: '34',
  accentpurple: '35',
  accentcyan: '36',
  lightblue: '94',
  gray: '90',
  comment: '90',
  diffadded: '32',
  diffremoved: '31',
  diffmodified: '33',
};
const RESET = '\u001b[0m';
const SGR = /^(?:\u001b\[[0-9;]*m)+$/;
// Everything that is no colour: cursor movement, titles, links.
const OTHERS = /\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b\[[0-?]*[ -/]*(?![0-?]*m)[@-ln-~]|\u001b[^[\]PX^_]/g;

/**
 * A terminal note's text with its styles as SGR sequences and nothing else in it that a terminal would obey (qwen.md §4.3). Offsets are
 * UTF-16 units; those out of range are clamped.
 */
export function styledText(text: string, note: Pick<TerminalNote, 'spans' | 'ansi' | 'channel'>): string {
  const marks = note.spans && note.spans.length > 0 ? spanMarks(note.spans) : ansiMarks(note.ansi ?? []);
  const clean = (piece: string) => piece.replace(OTHERS, '');
  if (marks.length === 0) return note.channel === 'stderr' && !text.includes('\u001b[') ? `\u001b[31m${clean(text)}${RESET}` : clean(text);
  let out = '';
  let from = 0;
  for (const { at, code } of marks.sort((a, b) => a.at - b.at)) {
    const to = Math.min(Math.max(at, from), text.length);
    out += clean(text.slice(from, to)) + code;
    from = to;
  }
  return `${out}${clean(text.slice(from))}${RESET}`;
}

interface Mark {
  readonly at: number;
  readonly code: string;
}

function spanMarks(spans: NonNullable<TerminalNote['spans']>): Mark[] {
  return spans.flatMap((span) => {
    const codes = [TOKENS[(span.style?.theme_token ?? '').toLowerCase()], span.style?.bold ? '1' : undefined].filter(Boolean);
    const from = span.start ?? span.start_index;
    const to = span.end ?? span.end_index;
    if (codes.length === 0 || from == null || to == null || to <= from) return [];
    return [
      { at: from, code: `\u001b[${codes.join(';')}m` },
      { at: to, code: RESET },
    ];
  });
}

function ansiMarks(ansi: NonNullable<TerminalNote['ansi']>): Mark[] {
  return ansi.flatMap(({ offset, code, sequence }) => {
    const found = code ?? sequence ?? '';
    return SGR.test(found) ? [{ at: offset, code: found }] : [];
  });
}
