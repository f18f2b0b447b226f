import { ref } from 'lit/directives/ref.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { ModelLine } from '../src/bridge/contract.ts';
import type { SessionOption } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { best } from './completion.ts';
import { fitBar } from './fitBar.ts';
import { iconOf } from './icons.ts';
import { commandTitle, t } from './strings.ts';
import { usageText } from './usage.ts';
import { COMPOSER_ID, PICKER_ID, type Popup, type View } from './view.ts';

const SEARCH_ID = 'picker-search';
const LIST_ID = 'picker-list';

type PickerState = Extract<Popup, { kind: 'picker' }>;

/** A line of the picker: a value of a setting, a switch, or a link to something else. */
interface Row {
  readonly name: string;
  readonly detail?: string | undefined;
  readonly price?: string | undefined;
  readonly current?: boolean | undefined;
  readonly choose: () => void;
}
interface Group {
  readonly label: string;
  readonly rows: readonly Row[];
}

/** The one control for agent, model, mode and the session's other options: shows the current choice, and opens the picker. */
export function pillView(view: View): TemplateResult | typeof nothing {
  const { session, profile, popup } = view;
  if (session.id === '') return nothing;
  const { agent } = session;
  const model = modelName(view);
  const mode = session.mode?.all.find(({ id }) => id === session.mode?.current)?.name;
  const parts = [model, mode].filter((part) => part !== undefined && part !== '');
  const own = [agent.own ?? agent.name, agent.version].filter(Boolean).join(' ');
  const title = visibleText(
    [...new Set([agent.name, own, ...parts, ...switchedOn(session.options), usageText(session)])].filter(Boolean).join(' · '),
  );
  const open = popup?.kind === 'picker';
  return html`<button ${ref(fitBar)} class="pill agent" type="button" id=${PICKER_ID} title=${title} aria-haspopup="dialog" aria-expanded=${String(open)} data-state=${session.link.state}
    @click=${() => (open ? view.act.show(undefined) : openPicker(view))}>
    <span class="pill-text"><bdi class=${model === undefined ? nothing : 'pill-agent'}>${visibleText(agent.name)}</bdi>${
      model === undefined ? nothing : html`<bdi class="pill-model">${visibleText(model)}</bdi>`
    }${mode === undefined ? nothing : html`<bdi class="pill-mode">${visibleText(mode)}</bdi>`}</span>${iconOf('down')}
  </button>${profile?.model === '' && !open ? html`<span class="sr-only">${t('No model')}</span>` : nothing}`;
}

/** The display name of the session's model; undefined where the agent does not report it. */
function modelName({ session, profile }: View): string | undefined {
  if (profile?.model !== undefined) return profile.model === '' ? t('No model') : profile.model;
  const names = (session.options ?? []).flatMap((option) =>
    option.kind === 'choice' && option.about !== undefined
      ? [option.choices.find(({ value }) => value === option.current)?.name ?? option.current]
      : [],
  );
  return names.length === 0 ? undefined : names.join(' · ');
}

function switchedOn(options: readonly SessionOption[] = []): readonly string[] {
  return options.flatMap((option) => (option.kind === 'switch' && option.on ? [option.name] : []));
}

export function openPicker(view: View): void {
  view.act.show({ kind: 'picker', query: '' });
  view.act.focus(SEARCH_ID);
  if (view.profile?.model) view.act.loadModels();
}

/** The picker, above the composer: a search field, and all choices below it. */
export function pickerView(view: View): TemplateResult | typeof nothing {
  const { popup } = view;
  if (popup?.kind !== 'picker') return nothing;
  const groups = groupsOf(view, popup);
  const rows = groups.flatMap((group) => group.rows);
  const at = activeRow(popup, rows);
  const choose = (row: Row | undefined) => {
    if (!row) return;
    close(view);
    row.choose();
  };
  let index = -1;
  const rowView = (row: Row) => {
    index += 1;
    return html`<div class="menu-item pick-row" role="option" id=${`pick-${index}`} aria-selected=${String(index === at)} aria-checked=${row.current ? 'true' : nothing}
      @mousedown=${(event: Event) => event.preventDefault()} @click=${() => choose(row)}>
      <span class="menu-label"><bdi>${visibleText(row.name)}</bdi>${row.current ? iconOf('check') : nothing}</span>
      ${row.price ? html`<span class="pick-price" title=${t('For a million tokens: in / out')}>${row.price}</span>` : nothing}
      ${row.detail ? html`<span class="menu-detail"><bdi>${visibleText(row.detail)}</bdi></span>` : nothing}
    </div>`;
  };
  return html`<div class="menu picker" role="dialog" aria-label=${t('Model')} @focusout=${(event: FocusEvent) => leave(event, view)}>
    <input class="field search" id=${SEARCH_ID} type="text" role="combobox" aria-expanded="true" aria-controls=${LIST_ID} aria-autocomplete="list"
      aria-activedescendant=${rows.length > 0 ? `pick-${at}` : nothing} aria-label=${t('Search')} placeholder=${t('Search')} .value=${popup.query}
      @input=${(event: Event) => change(view, { query: (event.target as HTMLInputElement).value, at: 0 })}
      @keydown=${(event: KeyboardEvent) => key(event, view, choose)} />
    <div class="pick-list" role="listbox" id=${LIST_ID} aria-label=${t('Model')}>
      ${groups.map((group) =>
        group.label === ''
          ? html`<div class="pick-group" role="group">${group.rows.map(rowView)}</div>`
          : html`<div class="pick-group" role="group" aria-label=${visibleText(group.label)}><div class="faint pick-head" aria-hidden="true"><span>${visibleText(group.label)}</span>${pricesOf(group)}</div>${group.rows.map(rowView)}</div>`,
      )}
    </div>
  </div>`;
}

/** The unit of the prices in a group. */
function pricesOf({ rows }: Group): TemplateResult | typeof nothing {
  return rows.some(({ price }) => price) ? html`<span>${t('For a million tokens: in / out')}</span>` : nothing;
}

function leave({ relatedTarget, currentTarget }: FocusEvent, view: View): void {
  const inside = relatedTarget instanceof Node && (currentTarget as Element).contains(relatedTarget);
  const pill = relatedTarget instanceof Element && relatedTarget.id === PICKER_ID;
  if (!inside && !pill && document.hasFocus()) view.act.show(undefined);
}

/** Several keys may come before the next frame: each reads the state left by the one before. */
function key(event: KeyboardEvent, view: View, choose: (row: Row | undefined) => void): void {
  const { popup } = view;
  if (popup?.kind !== 'picker' || event.isComposing || event.keyCode === 229) return;
  const rows = groupsOf(view, popup).flatMap((group) => group.rows);
  const at = activeRow(popup, rows);
  const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (move !== 0 && rows.length > 0) {
    const next = (at + move + rows.length) % rows.length;
    change(view, { at: next });
    view.act.reveal(`pick-${next}`);
  } else if (event.key === 'Enter' && !event.repeat) choose(rows[at]);
  else if (event.key === 'Escape') close(view);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The active row: the current choice, until the user moves on. */
function activeRow({ at }: PickerState, rows: readonly Row[]): number {
  return Math.min(
    at ??
      Math.max(
        0,
        rows.findIndex(({ current }) => current),
      ),
    rows.length - 1,
  );
}

function change(view: View, what: Partial<Pick<PickerState, 'query' | 'at'>>): void {
  if (view.popup?.kind === 'picker') view.act.show({ ...view.popup, ...what });
}

function close(view: View): void {
  view.act.show(undefined);
  view.act.focus(COMPOSER_ID);
}

function groupsOf(view: View, { query, models }: PickerState): readonly Group[] {
  const { session, profile, act } = view;
  const options = session.options ?? [];
  const choices = options.filter((option) => option.kind === 'choice');
  const ordered = [...choices.filter(({ about }) => about === 'model'), ...choices.filter(({ about }) => about !== 'model')];
  const groups: readonly Group[] = [
    ...(profile?.model === undefined ? [] : [{ label: t('Model'), rows: modelRows(view, profile.model, models) }]),
    ...ordered.map((option) => ({
      label: option.name,
      rows: option.choices.map(({ value, name, description, group }) => ({
        name: group ? `${group} · ${name}` : name,
        detail: description,
        current: value === option.current,
        choose: () => value !== option.current && act.intent({ type: 'setOption', optionId: option.id, value }),
      })),
    })),
    ...(session.mode
      ? [
          {
            label: t('Mode'),
            rows: session.mode.all.map(({ id, name, description }) => ({
              name,
              detail: description,
              current: id === session.mode?.current,
              choose: () => id !== session.mode?.current && act.intent({ type: 'setMode', modeId: id }),
            })),
          },
        ]
      : []),
    {
      label: '',
      rows: [
        ...options.flatMap((option): Row[] =>
          option.kind === 'switch'
            ? [
                {
                  name: option.name,
                  detail: option.description,
                  current: option.on,
                  choose: () => act.intent({ type: 'setOption', optionId: option.id, value: !option.on }),
                },
              ]
            : [],
        ),
        { name: t('Another agent'), choose: () => act.newSession({ pick: true }) },
      ],
    },
  ];
  return groups.map(({ label, rows }) => ({ label, rows: best(query, rows, ({ name }) => [name]) })).filter(({ rows }) => rows.length > 0);
}

/** The configured model, the others of its endpoint, and a link to another endpoint. */
function modelRows({ act }: View, current: string, models: readonly ModelLine[] = []): readonly Row[] {
  const known = current === '' || models.some(({ name }) => name === current) ? models : [{ name: current }, ...models];
  return [
    ...known.map((one) => ({
      name: one.name,
      price: one.price,
      current: one.name === current,
      choose: () => one.name !== current && act.useModel(one.name),
    })),
    { name: commandTitle('Configure Model'), choose: () => act.remedy('configureModel') },
  ];
}
