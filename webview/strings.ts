import { html, type TemplateResult } from 'lit/html.js';
import { filled, setTranslator } from '../src/base/l10n.ts';
import { HIDDEN, writtenOut } from '../src/session/visible.ts';

let table: Readonly<Record<string, string>> = {};

/** Takes the translations that came with `hello`: English text -> text in the user's language. */
export function setStrings(strings: Readonly<Record<string, string>>): void {
  table = strings;
  // Shared code makes the texts that both ends show.
  setTranslator(t);
}

/** The text in the user's language, with {0}, {1} … filled in. Texts without a translation stay English. */
export function t(english: string, ...values: readonly (string | number)[]): string {
  return filled(table[english] ?? english, values);
}

/** The title of a command in the user's language, by its English title in the manifest. A button that does the same has no text of its own. */
export function commandTitle(english: string): string {
  return table[english] ?? english;
}

/** A text with paths, which may break after each folder. */
export function byFolders(text: string): unknown {
  return text.split(/(?<=[/\\])(?=[^/\\])/).map((piece, at) => (at === 0 ? visible(piece) : html`<wbr>${visible(piece)}`));
}

/** The longest command whose options are kept together, in UTF-16 units. */
const LONGEST_IN_WORDS = 4000;

/** A command, whose lines break between its words and not within an option. */
export function inWords(command: string): unknown {
  if (command.length > LONGEST_IN_WORDS) return visible(command);
  return command
    .split(/(?<!\S)(-[\w-]{1,24})/)
    .map((piece, at) => (at % 2 === 0 ? visible(piece) : html`<span class="option">${piece}</span>`));
}

/** The text for a template, with hidden characters written out and highlighted. */
export function visible(text: string): readonly (string | TemplateResult)[] {
  const pieces: (string | TemplateResult)[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) pieces.push(text.slice(from, found.index));
    pieces.push(html`<span class="hidden-char">${writtenOut(found[0])}</span>`);
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}
