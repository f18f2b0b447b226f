/**
 * Characters that do not show, or not as what they are: control, format, private and unassigned ones, halves of characters, tags, fillers, and strokes
 * through the sign before them. They can make a command or a path read as another one. Tab and line feed are fine, and so is the joiner within one
 * picture.
 */
export const HIDDEN =
  /(?!\t|\n|\u200d|\ufe0e|\ufe0f|\p{Extended_Pictographic})[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u1680\u2800\ufffc\u{1d159}]|[\u0335-\u0338\u20d2\u20d3\u20e5\u20e6\u20ea\u20eb]|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f]|(?<!\p{Extended_Pictographic}|\ufe0f|[\u{1f3fb}-\u{1f3ff}])\u200d|\u200d(?!\p{Extended_Pictographic})/gu;
/** One that a codec has written out already. */
const WRITTEN = String.raw`⟨U\+[0-9A-F]{4,6}⟩`;
const MISLEADING = new RegExp(`${HIDDEN.source}|${WRITTEN}`, 'u');

/** The place of the first such character, written out or not, in UTF-16 units. */
export function firstHidden(text: string): { readonly from: number; readonly to: number } | undefined {
  // Without another character than these nothing is hidden: a quick look at a long text.
  const found = /[^\n\t -~]/.test(text) ? MISLEADING.exec(text) : null;
  return found ? { from: found.index, to: found.index + found[0].length } : undefined;
}

/** The first character of a command, outside of quotes, that looks like a blank and parts no words for a shell: `rm\u00a0-rf` is one name. */
export function firstFalseBlank(command: string): { readonly from: number; readonly to: number } | undefined {
  if (!FALSE_BLANK.test(command)) return undefined;
  const bare = command.replace(/'[^']*'|"[^"]*"/g, (quoted) => '-'.repeat(quoted.length));
  const from = bare.search(FALSE_BLANK);
  return from < 0 ? undefined : { from, to: from + 1 };
}
const FALSE_BLANK = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/;

/**
 * Such characters in texts, where some are at home: line ends of Windows, a mark at the beginning of a file, icons of fonts, strokes, and joiners between
 * letters of scripts that need them. A new one each time, as a global pattern keeps its place.
 */
export function misleadingInText(): RegExp {
  return new RegExp(`(?!${AT_HOME})(?:${HIDDEN.source})`, 'gu');
}
const NOT_JOINED = String.raw`\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}`;
const AT_HOME = String.raw`\r(?:\n|$)|(?<![^])\ufeff|[\f\p{Co}]|[\u0335-\u0338\u20d2-\u20eb]|(?<=(?![${NOT_JOINED}])[\p{L}\p{M}])[\u200c\u200d]`;

/** The first such character in a text, written out. */
export function firstInText(text: string): string | undefined {
  const [found] = misleadingInText().exec(text) ?? [];
  return found === undefined ? new RegExp(WRITTEN, 'u').exec(text)?.[0] : writtenOut(found);
}

/** The text with such characters written out, the same way on every surface. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, writtenOut);
}

/** The text with one blank for every run of blanks, but for those that are written out: U+2028 and the like. */
export function oneLine(text: string): string {
  return text.replace(/[^\S\u1680\u2028\u2029\ufeff]+/g, ' ').replace(/^ | $/g, '');
}

/** One character as people read it: ⟨U+202E⟩. */
export function writtenOut(character: string): string {
  const before = written.get(character);
  if (before !== undefined) return before;
  const text = `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
  if (written.size < MOST_WRITTEN) written.set(character, text);
  return text;
}
/** A text of a million of them is mostly of a few. */
const written = new Map<string, string>();
const MOST_WRITTEN = 1000;

/** The beginning of a long label, with a mark where it was cut; never half a character. `longest` counts characters. */
export function shortened(text: string, longest: number): string {
  // A character has at most two units.
  if (text.length <= longest) return text;
  const characters = [...text.slice(0, 2 * longest + 2)];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}
