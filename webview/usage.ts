import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Session, Usage } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { t } from './strings.ts';
import type { View } from './view.ts';

/** A price in the words of the view's language; undefined for what costs nothing. A price below a hundredth is not told as nothing. */
export function money({ amount, currency }: { readonly amount: number; readonly currency: string }): string | undefined {
  if (amount === 0) return undefined;
  const digits = Math.abs(amount) < 0.005 ? { maximumSignificantDigits: 1 } : {};
  try {
    return new Intl.NumberFormat(document.documentElement.lang || 'en', { style: 'currency', currency, ...digits }).format(amount);
  } catch {
    return `${amount} ${currency}`;
  }
}

/** A number of tokens, short. */
export function count(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}

/** Background work beside the turns; it may end with the agent. */
export function backgroundView(view: View): TemplateResult | typeof nothing {
  const tasks = view.session.background ?? [];
  if (tasks.length === 0) return nothing;
  const names = tasks.map((task) => visibleText(task.text)).join('\n');
  const text = t('In the background: {0}', tasks.length);
  return html`<span class="usage" title=${`${text}\n${names}`}><span class="spinner" aria-hidden="true"></span><span class="sr-only">${text}</span><span class="usage-count" aria-hidden="true">${tasks.length}</span><span class="usage-words" aria-hidden="true">${text}</span></span>`;
}

/** Usage of the context window, tokens and cost in words; empty where nothing is known. */
export function usageText({ usage }: Session): string {
  const { percent, tokens, price } = partsOf(usage ?? {});
  return [percent === undefined ? '' : t('Context {0} % full', percent), tokens && t('{0} tokens', tokens), price ?? '']
    .filter(Boolean)
    .join(' · ');
}

function partsOf({ used, size, share, input, output, cost }: Usage) {
  const price = cost ? money(cost) : undefined;
  const full = used !== undefined && size !== undefined && size > 0 ? used / size : used === undefined ? share : undefined;
  const total = used ?? (input ?? 0) + (output ?? 0);
  const percent = full === undefined ? undefined : Math.min(100, Math.round(full * 100));
  return { price, percent, tokens: total === 0 ? '' : size ? `${count(total)} / ${count(size)}` : count(total) };
}

/** Usage of the context window as a ring with its number, or the tokens used; and the cost. The tooltip has the details. */
export function usageView(view: View): TemplateResult | typeof nothing {
  const { usage } = view.session;
  if (!usage) return nothing;
  const { percent, tokens, price } = partsOf(usage);
  const label = usageText(view.session);
  // The summary of a turn has its own cost: the sum of all is in the tooltip then.
  const shown = view.session.turns.some(({ spent }) => spent?.cost) ? undefined : price;
  if (label === '') return nothing;
  if (percent === undefined) return html`<span class="usage" title=${label}>${tokens && t('{0} tokens', tokens)} ${shown ?? ''}</span>`;
  return html`<span class=${percent >= 80 ? 'usage full' : 'usage'} role="meter" aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent} aria-label=${label} title=${label}>
    <span class="usage-text" aria-hidden="true">${shown ?? `${percent} %`}</span>
    <svg class="ring" viewBox="0 0 16 16" aria-hidden="true"><circle class="ring-track" cx="8" cy="8" r="6" /><circle class="ring-value" cx="8" cy="8" r="6" pathLength="100" stroke-dasharray="${percent} 100" /></svg>
  </span>`;
}
