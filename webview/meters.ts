import { html, nothing, type TemplateResult } from 'lit/html.js';
import { t } from './strings.ts';
import type { View } from './view.ts';

/** The agent's modes, when it has some. */
export function modeView(view: View): TemplateResult | typeof nothing {
  const { mode } = view.session;
  if (!mode || mode.all.length === 0) return nothing;
  const current = mode.all.find((one) => one.id === mode.current);
  const set = (event: Event) => {
    const modeId = (event.target as HTMLSelectElement).value;
    if (modeId !== mode.current) view.act.intent({ type: 'setMode', modeId });
  };
  return html`<vscode-dropdown class="mode" position="above" aria-label=${t('Mode')} title=${current?.description ?? t('Mode')} @change=${set}>
    ${mode.all.map((one) => html`<vscode-option value=${one.id} ?selected=${one.id === mode.current} title=${one.description ?? ''}>${one.name}</vscode-option>`)}
  </vscode-dropdown>`;
}

/** How full the context window is, or what was used so far. */
export function usageView(view: View): TemplateResult | typeof nothing {
  const { usage } = view.session;
  if (!usage) return nothing;
  const { used, size, input, output } = usage;
  if (used !== undefined && size !== undefined && size > 0) {
    const label = t('{0} of {1} tokens of the context window used', count(used), count(size));
    return html`<span class="usage" title=${label}>
      <meter min="0" max=${size} high=${size * 0.8} optimum="0" value=${used} aria-label=${label}></meter>
      <span aria-hidden="true">${Math.min(100, Math.round((used / size) * 100))} %</span>
    </span>`;
  }
  const total = used ?? (input ?? 0) + (output ?? 0);
  return total === 0 ? nothing : html`<span class="usage">${t('{0} tokens', count(total))}</span>`;
}

function count(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
