import type { Approval, Option } from '../../session/model.ts';

const ICONS: Readonly<Record<Option['effect'], string>> = {
  allow_once: 'check',
  allow_always: 'check-all',
  reject_once: 'close',
  reject_always: 'circle-slash',
};

export interface OptionRow {
  readonly label: string;
  readonly description?: string;
  readonly option: Option;
}

/** The agent's own labels in the agent's order, each row carrying its option: two options with one label stay two. */
export function optionRows(ask: Approval): readonly OptionRow[] {
  return ask.options.map((option) => ({
    label: `$(${ICONS[option.effect]}) ${plainLabel(option.label || option.id)}`,
    ...(option.description === undefined ? {} : { description: option.description }),
    option,
  }));
}

/** The option to take when a person accepts without choosing a row: only ever for this once. */
export function acceptance(ask: Approval): Option | undefined {
  return ask.options.find((one) => one.effect === 'allow_once');
}

/** One line of an agent's words: `$(name)` would be drawn as an icon, and what cannot be seen is written out. */
export function plainLabel(text: string): string {
  return exact(text.replace(/\s+/g, ' ').trim());
}

// Control and format characters, among them those that turn the reading direction.
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

function exact(text: string): string {
  return text
    .replace(UNSEEN, (one) => (one === '\t' ? '    ' : `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`))
    .replace(/\$\(/g, '$\u200b(');
}

/** A command in rows as wide as `width` small letters at most, nothing left out within them; `more` counts the rows that did not fit. */
export function commandRows(command: string, most = 8, width = WIDTH): { readonly rows: readonly string[]; readonly more: number } {
  const rows = command
    .replace(/\r\n/g, '\n')
    .replace(/\n+$/, '')
    .split('\n')
    .flatMap((line) => cut(exact(line), width));
  return { rows: rows.slice(0, most), more: Math.max(0, rows.length - most) };
}

/** What a quick-pick of 600 pixels shows of a row before it cuts its end, in small letters of the editor's font. */
const WIDTH = 64;

function cut(line: string, width: number): readonly string[] {
  const rows: string[] = [];
  let row = '';
  let filled = 0;
  for (const character of line) {
    const wide = widthOf(character);
    if (row !== '' && filled + wide > width) {
      rows.push(row);
      row = '';
      filled = 0;
    }
    row += character;
    filled += wide;
  }
  return [...rows, row];
}

/** The font is proportional: rather too wide than too narrow. */
function widthOf(character: string): number {
  if (character > '\u024f' || /[MW@%mw—]/.test(character)) return 2;
  return /[A-Z&#]/.test(character) ? 1.4 : 1;
}
