import { html, type TemplateResult } from 'lit/html.js';
import { HIDDEN, writtenOut } from '../src/session/visible.ts';

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
