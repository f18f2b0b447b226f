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

/** A command in rows of at most `width` characters, nothing left out within them; `more` counts the rows that did not fit. */
export function commandRows(command: string, most = 8, width = 78): { readonly rows: readonly string[]; readonly more: number } {
  const rows = command
    .replace(/\r\n/g, '\n')
    .replace(/\n+$/, '')
    .split('\n')
    .flatMap((line) => cut(exact(line), width));
  return { rows: rows.slice(0, most), more: Math.max(0, rows.length - most) };
}

function cut(line: string, width: number): readonly string[] {
  const characters = [...line];
  const rows: string[] = [];
  for (let at = 0; at < characters.length || at === 0; at += width) rows.push(characters.slice(at, at + width).join(''));
  return rows;
}
