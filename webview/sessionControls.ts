import { live } from 'lit/directives/live.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { OptionChoice, SessionOption } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { count, money } from './amounts.ts';
import { iconOf } from './icons.ts';
import { t } from './strings.ts';
import { isUnfolded, type View } from './view.ts';

/** The agent's modes, when it has some. */
export function modeView(view: View): TemplateResult | typeof nothing {
  const { mode } = view.session;
  if (!mode || mode.all.length === 0) return nothing;
  const choices = mode.all.map(({ id, name, description }) => ({ value: id, name, ...(description === undefined ? {} : { description }) }));
  return pick(t('Mode'), mode.current, choices, (modeId) => view.act.intent({ type: 'setMode', modeId }));
}

/** How many options stand in the open; the rest is folded. */
const IN_SIGHT = 2;

/** What else can be chosen for the session: the model and the like. */
export function optionsView(view: View): unknown {
  const options = (view.session.options ?? []).map((option) => optionView(view, option));
  if (options.length <= IN_SIGHT + 1) return options;
  const open = isUnfolded(view.memory, 'options', false);
  const label = open ? t('Fewer options') : t('{0} more options', options.length - IN_SIGHT);
  return html`${open ? options : options.slice(0, IN_SIGHT)}<button class="icon-button" type="button" title=${label} aria-label=${label} aria-expanded=${String(open)}
      @click=${() => view.act.unfold('options', !open)}>${iconOf('more')}</button>`;
}

function optionView(view: View, option: SessionOption): TemplateResult {
  const set = (value: string | boolean) => view.act.intent({ type: 'setOption', optionId: option.id, value });
  if (option.kind === 'choice') return pick(visibleText(option.name), option.current, option.choices, set);
  return html`<label class="switch" title=${option.description ?? ''}>
    <input type="checkbox" .checked=${live(option.on)} @change=${(event: Event) => set((event.target as HTMLInputElement).checked)} />
    <span>${visibleText(option.name)}</span>
  </label>`;
}

/** A native list: it fits a narrow bar and is as wide as what it shows. */
function pick(label: string, current: string, choices: readonly OptionChoice[], choose: (value: string) => void): TemplateResult {
  const chosen = choices.find((choice) => choice.value === current);
  const groups = [...new Set(choices.map((choice) => choice.group ?? ''))];
  const changed = (event: Event) => {
    const { value } = event.target as HTMLSelectElement;
    if (value !== current) choose(value);
  };
  const lines = (group: string) =>
    choices
      .filter((choice) => (choice.group ?? '') === group)
      .map(
        ({ value, name, description }) =>
          html`<option value=${value} ?selected=${value === current} title=${description ?? ''}>${visibleText(name)}</option>`,
      );
  return html`<select class="pick" aria-label=${label} title=${chosen?.description ? `${label}: ${chosen.description}` : label} .value=${live(current)} @change=${changed}>
    ${groups.map((group) => (group === '' ? lines(group) : html`<optgroup label=${group}>${lines(group)}</optgroup>`))}
  </select>`;
}

/** What runs beside the turns; it may end with the agent. */
export function backgroundView(view: View): TemplateResult | typeof nothing {
  const tasks = view.session.background ?? [];
  if (tasks.length === 0) return nothing;
  const names = tasks.map((task) => visibleText(task.text)).join('\n');
  return html`<span class="usage" title=${names}><span class="spinner" aria-hidden="true"></span>${t('{0} in the background', tasks.length)}</span>`;
}

/** How full the context window is, or what was used so far, and what it cost. */
export function usageView(view: View): TemplateResult | typeof nothing {
  const { usage } = view.session;
  if (!usage) return nothing;
  const { used, size, share, input, output, cost } = usage;
  const price = cost ? money(cost) : undefined;
  const paid = price === undefined ? nothing : html`<span class="usage" title=${t('Cost so far')}>${price}</span>`;
  if (used !== undefined && size !== undefined && size > 0) {
    const label = t('{0} of {1} tokens of the context window used', count(used), count(size));
    return html`<span class="usage" title=${label}>
        <meter min="0" max=${size} high=${size * 0.8} optimum="0" value=${used} aria-label=${label}></meter>
        <span aria-hidden="true">${Math.min(100, Math.round((used / size) * 100))} %</span>
      </span>
      ${paid}`;
  }
  if (used === undefined && share !== undefined) {
    const percent = Math.min(100, Math.round(share * 100));
    const label = t('{0} % of the context window used', percent);
    return html`<span class="usage" title=${label}>
        <meter min="0" max="100" high="80" optimum="0" value=${percent} aria-label=${label}></meter>
        <span aria-hidden="true">${percent} %</span>
      </span>
      ${paid}`;
  }
  const total = used ?? (input ?? 0) + (output ?? 0);
  return html`${total === 0 ? nothing : html`<span class="usage">${t('{0} tokens', count(total))}</span>`} ${paid}`;
}
