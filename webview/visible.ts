import { html, type TemplateResult } from 'lit/html.js';

/** Control, bidirectional and invisible characters: what can make a command or a path read as another one. Tab and line feed are fine. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\ufe00-\ufe0d]|[\u{e0000}-\u{e0fff}]/gu;

/** The text with such characters written out. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, name);
}

/** The same for a template: the written-out characters stand out. */
export function visible(text: string): readonly (string | TemplateResult)[] {
  const pieces: (string | TemplateResult)[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) pieces.push(text.slice(from, found.index));
    pieces.push(html`<span class="hidden-char">${name(found[0])}</span>`);
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}

function name(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
