import { html, nothing, render, type TemplateResult } from 'lit/html.js';
import { drawable } from './drawable.ts';
import type { EditorApi } from './host.ts';
import { setStrings, t, visible } from './strings.ts';
import './inspector.css';

/** A row of traffic, as the host sends it: `src/editor/traffic.ts`, without its JSON. */
interface Row {
  readonly number: number;
  readonly at: number;
  readonly way: 'in' | 'out';
  readonly kind: string;
  readonly size: number;
  readonly events: readonly string[];
}
type Message =
  | {
      readonly type: 'rows';
      readonly rows: readonly Row[];
      /** Earlier ones are gone. */
      readonly first: number;
      readonly strings: Readonly<Record<string, string>>;
    }
  | { readonly type: 'found'; readonly query: string; readonly numbers: readonly number[] }
  | { readonly type: 'detail'; readonly number: number; readonly json: string };
declare function acquireVsCodeApi(): EditorApi;

/** Most rows drawn at first, the latest, and added with each press; the filter searches all. */
const AT_ONCE = 500;
const api = acquireVsCodeApi();
const root = document.createElement('main');
document.body.append(root);
const rows = new Map<number, Row>();
let filter = '';
/** The rows that the filter leaves; all without one. The host finds them, as it has the JSON. */
let found: ReadonlySet<number> | undefined;
let most = AT_ONCE;
let detail: { readonly number: number; readonly json?: string } | undefined;
/** The row that Tab leads to: the one where the keyboard was last. */
let current: number | undefined;

window.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data.type === 'rows') {
    setStrings(data.strings);
    for (const row of data.rows) rows.set(row.number, row);
    for (const number of rows.keys()) if (number < data.first) rows.delete(number);
  } else if (data.type === 'found') {
    if (data.query === filter) found = new Set(data.numbers);
  } else if (data.number === detail?.number) detail = data;
  draw();
});

function find(text: string): void {
  filter = text;
  most = AT_ONCE;
  if (filter === '') found = undefined;
  api.postMessage({ type: 'find', text: filter });
  draw();
}

function draw(): void {
  const left = found;
  const all = [...rows.values()].filter(({ number }) => left?.has(number) ?? true);
  const isNone = left !== undefined && all.length === 0;
  const shown = all.slice(-most);
  const more = Math.min(AT_ONCE, all.length - shown.length);
  const stop = shown.some(({ number }) => number === current) ? current : shown[0]?.number;
  render(
    html`<header>
        <h1>Parley</h1>
        <input type="search" maxlength="1000" aria-label=${t('Search')} placeholder=${t('Search')} .value=${filter} @input=${(event: Event) => find((event.target as HTMLInputElement).value)} />
        <span aria-live="polite">${all.length}</span>
        <button type="button" @click=${() => api.postMessage({ type: 'save' })}>${t('Save')}</button>
      </header>
      ${
        more > 0
          ? html`<button class="more" type="button" @click=${() => {
              most += AT_ONCE;
              draw();
            }}>${t('Show {0} more {0|line|lines}', more)}</button>`
          : nothing
      }
      <p role="status">${isNone ? t('Nothing found') : nothing}</p>
      ${
        isNone
          ? nothing
          : html`<table role="table">
        <thead role="rowgroup"><tr role="row">
          ${[t('Time'), t('Direction'), t('Kind'), t('Size'), t('Events')].map((name, at) => html`<th role="columnheader" class=${CELLS[at] ?? nothing}>${name}</th>`)}
        </tr></thead>
        <tbody role="rowgroup" @keydown=${move}>${shown.map((row) => rowView(row, row.number === stop))}</tbody>
      </table>`
      }`,
    root,
  );
}

/** Rows that Page Up and Page Down pass over. */
const PAGE = 20;

/** Goes from message to message with the keys of a list. */
function move(event: KeyboardEvent): void {
  const kinds = [...root.querySelectorAll<HTMLElement>('.kind')];
  const at = kinds.indexOf(event.target as HTMLElement);
  const to = new Map([
    ['ArrowDown', at + 1],
    ['ArrowUp', at - 1],
    ['PageDown', at + PAGE],
    ['PageUp', at - PAGE],
    ['Home', 0],
    ['End', kinds.length - 1],
  ]).get(event.key);
  if (to === undefined || at < 0) return;
  kinds[Math.max(0, Math.min(to, kinds.length - 1))]?.focus();
  event.preventDefault();
}

/** The time of day where the user is, with milliseconds. */
function timeOf(at: number): string {
  const date = new Date(at);
  const digits = (value: number, count: number) => String(value).padStart(count, '0');
  const seconds = [date.getHours(), date.getMinutes(), date.getSeconds()].map((value) => digits(value, 2));
  return `${seconds.join(':')}.${digits(date.getMilliseconds(), 3)}`;
}

function rowView(row: Row, isStop: boolean): TemplateResult {
  const open = detail?.number === row.number;
  const toggle = () => {
    detail = open ? undefined : { number: row.number };
    if (!open) api.postMessage({ type: 'detail', number: row.number });
    draw();
  };
  const cells = [
    timeOf(row.at),
    `${row.way === 'in' ? '←' : '→'} ${row.way}`,
    html`<button class="kind" type="button" tabindex=${isStop ? 0 : -1} aria-expanded=${String(open)} @focus=${() => {
      current = row.number;
      draw();
    }}>${visible(row.kind)}</button>`,
    row.size,
    summary(row.events),
  ];
  // Who selects a text in the row does not mean to open it.
  const pressed = () => (document.getSelection()?.isCollapsed === false ? undefined : toggle());
  return html`<tr role="row" class="message ${row.way}" @click=${pressed}>${cells.map((cell, at) => html`<td role="cell" class=${CELLS[at] ?? nothing}>${cell}</td>`)}</tr>
    ${open ? html`<tr role="row"><td role="cell" class="json" colspan="5"><pre tabindex="0">${jsonView(detail?.json ?? '')}</pre></td></tr>` : nothing}`;
}

/** The look of the columns: in a narrow tab a row becomes three lines, so it no longer is a table for browsers without its roles. */
const CELLS = ['at', 'way', 'name', 'num', 'made'];
/** Most UTF-16 units of a message that are drawn; Save writes it whole. */
const LONGEST_JSON = 200_000;

function jsonView(json: string): unknown {
  const text = pretty(json);
  const most = drawable(text, LONGEST_JSON);
  return [visible(text.slice(0, most)), most < text.length ? `… ${t('{0} characters', text.length - most)} …` : nothing];
}

/** Such as "text.delta ×3, call.changed". */
function summary(events: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const event of events) counts.set(event, (counts.get(event) ?? 0) + 1);
  return [...counts].map(([event, count]) => (count === 1 ? event : `${event} ×${count}`)).join(', ');
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

draw();
root.querySelector('input')?.focus();
api.postMessage({ type: 'ready' });
