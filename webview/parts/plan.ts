import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Plan, PlanEntry } from '../../src/session/model.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import type { View } from '../view.ts';
import { fold } from './fold.ts';

/** The agent's plan, folded down to where it stands. */
export function planView(view: View, plan: Plan | undefined): TemplateResult | typeof nothing {
  if (!plan || plan.entries.length === 0) return nothing;
  const done = plan.entries.filter((entry) => entry.status === 'completed').length;
  const now = plan.entries.find((entry) => entry.status === 'in_progress');
  return fold(view, {
    key: 'plan',
    look: 'plan',
    summary: html`${iconOf('list')}<span class="plan-count">${t('Plan {0}/{1}', done, plan.entries.length)}</span>
      <bdi class="plan-now">${now?.text ?? ''}</bdi>`,
    body: () => html`<ol class="plan-entries">${plan.entries.map(entryView)}</ol>`,
  });
}

function entryView(entry: PlanEntry): TemplateResult {
  const text = entry.status === 'completed' ? t('Done') : entry.status === 'in_progress' ? t('Under way') : t('To do');
  return html`<li class="entry entry-${entry.status}">
    ${entry.status === 'completed' ? iconOf('check') : entry.status === 'in_progress' ? html`<span class="spinner" aria-hidden="true"></span>` : html`<span class="dot" aria-hidden="true"></span>`}
    <span class="sr-only">${text}: </span><bdi>${entry.text}</bdi>
    ${entry.priority === 'high' ? html`<span class="tag">${t('high')}</span>` : nothing}
  </li>`;
}
