import { html, type TemplateResult } from 'lit/html.js';
import type { Part } from '../../src/session/model.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import type { View } from '../view.ts';
import { fold } from './fold.ts';
import { textView } from './text.ts';

/** What the agent thought, folded. `growing` while it still thinks. */
export function thoughtView(view: View, part: Extract<Part, { kind: 'thought' }>, growing: boolean, done: boolean): TemplateResult {
  return fold(view, {
    key: part.id,
    look: growing ? 'thought growing' : 'thought',
    summary: html`${iconOf('think')}<span>${growing ? t('Thinking…') : t('Thought')}</span>`,
    body: () => textView(part.text, done),
  });
}
