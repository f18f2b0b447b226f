import type { Field } from '../../session/model.ts';
import { plainLabel } from './rowText.ts';

/** Characters of a question that a title shows; a longer question also goes into rows. */
const TITLE = 70;

/** A question too long for a title, in rows of whole words; `more` counts the rows that did not fit. */
export function questionRows(
  { label, body }: Pick<Field, 'label' | 'body'>,
  most = 8,
  width = 88,
): { readonly rows: readonly string[]; readonly more: number } {
  const long = label.length > TITLE || /\n./.test(label.trim());
  const text = [long ? label : '', body ?? ''].filter(Boolean).join('\n');
  const rows = withoutMarks(text)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .flatMap((line) => wrapped(line, width));
  return { rows: rows.slice(0, most), more: Math.max(0, rows.length - most) };
}

/** Markdown as a label without markup, which a row would not draw. A link becomes its text and its address. */
export function withoutMarks(markdown: string): string {
  return markdown
    .replace(/^```.*$/gm, '')
    .replace(LINK, (_, image: string, words: string, address: string) =>
      image || words.trim() === address ? words : `${words} (${address})`,
    )
    .replace(/<([a-z][a-z0-9+.-]*:[^\s<>]+)>/gi, '$1')
    .replace(/^#{1,6} +/gm, '')
    .replace(/[`*]+/g, '');
}

// Words without brackets, an address in or without angle brackets, perhaps a title.
const LINK = /(!?)\[([^\][\n]{0,500})\]\(\s{0,9}<?([^\s<>()]{1,2000})>?(?:\s{1,9}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,9}\)/g;

function wrapped(line: string, width: number): readonly string[] {
  const rows: string[] = [];
  let row = '';
  for (const word of plainLabel(line).split(' ')) {
    if (row !== '' && row.length + word.length >= width) {
      rows.push(row);
      row = '';
    }
    row = row === '' ? word : `${row} ${word}`;
  }
  return [...rows, row];
}
