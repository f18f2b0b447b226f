import { html, type TemplateResult } from 'lit/html.js';
import { durationText } from '../../src/session/callWords.ts';
import type { Part } from '../../src/session/model.ts';
import { t } from '../strings.ts';
import type { View } from '../view.ts';
import { fold } from './fold.ts';
import { textView } from './text.ts';

/** What the agent thought, folded. `growing` while it still thinks. */
export function thoughtView(view: View, part: Extract<Part, { kind: 'thought' }>, growing: boolean, done: boolean): TemplateResult {
  return fold(view, {
    key: part.id,
    look: growing ? 'thought growing' : 'thought',
    summary: html`<span>${growing ? t('Thinking') : took(part)}</span>`,
    body: () => textView(part.text, done),
  });
}

function took({ startedAt, endedAt }: Extract<Part, { kind: 'thought' }>): string {
  const seconds = startedAt === undefined || endedAt === undefined ? 0 : Math.round((endedAt - startedAt) / 1000);
  return seconds > 0 ? t('Thought for {0}', durationText(seconds * 1000)) : t('Thought');
}
