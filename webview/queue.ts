import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { QueuedPrompt } from '../src/session/model.ts';
import { isBusy } from '../src/session/select.ts';
import { iconOf } from './icons.ts';
import { chipLabel } from './parts/content.ts';
import { t } from './strings.ts';
import type { View } from './view.ts';

/** Prompts that wait for the running turn to end, or for the user. `edit` takes one back into the composer. */
export function queueView(view: View, edit: (prompt: QueuedPrompt) => void): TemplateResult | typeof nothing {
  const { queue, link } = view.session;
  if (queue.length === 0) return nothing;
  const busy = isBusy(view.session);
  // Nothing else keeps a prompt from being sent.
  const looks = !busy && link.state === 'ready' && queue.some((prompt) => !prompt.held);
  const steers = link.state === 'ready' && link.offers.steer === true;
  const { intent } = view.act;
  const now = ({ turnId, content }: QueuedPrompt) => {
    if (!busy || !steers) return intent({ type: 'prompt', turnId, content });
    intent({ type: 'unqueue', turnId });
    intent({ type: 'steer', turnId, content });
  };
  return html`<section class="queue" aria-label=${t('Waiting prompts')}>
    ${looks ? html`<p class="faint" role="status">${t('Looking at the files…')}</p>` : nothing}
    <ul>
      ${queue.map(
        (prompt) =>
          html`<li>
            ${iconOf('clock')}<bdi class="queue-text">${prompt.content.map((one) => chipLabel(one, view.session.cwd)).join(' · ')}</bdi>
            ${prompt.feedback ? html`<span class="tag">${t('Feedback')}</span>` : nothing}${prompt.held ? html`<span class="tag">${t('Held')}</span>` : nothing}
            ${!busy || steers ? small('send', t('Send now'), () => now(prompt)) : prompt.held ? small('send', t('Send when this turn has ended'), () => now(prompt)) : nothing} ${small('edit', t('Edit'), () => edit(prompt))}
            ${small('cross', t('Remove'), () => intent({ type: 'unqueue', turnId: prompt.turnId }))}
          </li>`,
      )}
    </ul>
  </section>`;
}

function small(icon: 'send' | 'edit' | 'cross', label: string, act: () => void): TemplateResult {
  return html`<button class="icon-button" type="button" title=${label} aria-label=${label} @click=${act}>${iconOf(icon)}</button>`;
}
