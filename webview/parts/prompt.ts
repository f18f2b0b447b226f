import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Content } from '../../src/session/model.ts';
import { t } from '../strings.ts';
import type { View } from '../view.ts';
import { chip } from './content.ts';
import { fold } from './fold.ts';
import { plainText } from './plainText.ts';

/** What the user said: the text as it was typed, and what was attached to it. */
export function promptView(view: View, key: string, content: readonly Content[], label: string = t('You')): TemplateResult {
  const text = content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n\n');
  const attached = content.filter((one) => one.type !== 'text');
  return html`<div class="prompt">
    <h2 class="sr-only">${label}</h2>
    ${text === '' ? nothing : plainText(view, `${key}:prompt`, text)}
    ${attached.length === 0 ? nothing : html`<div class="chips">${attached.map((one) => chip(view, one))}</div>`}
  </div>`;
}

/** What the agent has told a sub-agent to do: its own words, folded, for its card says them in short. */
export function taskView(view: View, key: string, content: readonly Content[]): TemplateResult {
  const text = content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n\n');
  return fold(view, {
    key: `${key}:task`,
    summary: t('The prompt for the sub-agent'),
    body: () => plainText(view, `${key}:taskText`, text),
  });
}
