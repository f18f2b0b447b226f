/**
 * Control, bidirectional and invisible characters, which can make a command or a path read as another one. Tab and line feed are fine, and so is
 * the joiner within one picture.
 */
export const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u2800\ufff9-\ufffb\u{13430}-\u{1343f}]|(?![\u200d\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f]|(?<!\p{Extended_Pictographic}|\ufe0f|[\u{1f3fb}-\u{1f3ff}])\u200d|\u200d(?!\p{Extended_Pictographic})/gu;

/** The text with such characters written out, the same way on every surface. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, writtenOut);
}

/** One character as people read it: ⟨U+202E⟩. */
export function writtenOut(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** The beginning of a long label, with a mark where it was cut; never half a character. `longest` counts characters. */
export function shortened(text: string, longest: number): string {
  // A character has at most two units.
  if (text.length <= longest) return text;
  const characters = [...text.slice(0, 2 * longest + 2)];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}
