import type { Field } from '../../session/model.ts';
import { plainLabel } from './optionRows.ts';

/** What a title shows of a question, in characters; a longer one stands in rows as well. */
const TITLE = 70;

/** A question that a title does not hold, in rows of whole words; `more` counts the rows that did not fit. */
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

/** Markdown as a label: a row shows no markup. */
export function withoutMarks(markdown: string): string {
  return markdown
    .replace(/^```.*$/gm, '')
    .replace(/^#{1,6} +/gm, '')
    .replace(/[`*]+/g, '');
}

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
