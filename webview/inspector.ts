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
  | { readonly type: 'rows'; readonly rows: readonly Row[]; readonly strings: Readonly<Record<string, string>> }
  | { readonly type: 'detail'; readonly number: number; readonly json: string };
declare function acquireVsCodeApi(): EditorApi;

/** Most rows drawn, the latest; the filter searches all. */
const SHOWN = 500;
const api = acquireVsCodeApi();
const root = document.createElement('main');
document.body.append(root);
const rows = new Map<number, Row>();
let filter = '';
let detail: { readonly number: number; readonly json?: string } | undefined;

window.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data.type === 'rows') {
    setStrings(data.strings);
    for (const row of data.rows) rows.set(row.number, row);
  } else if (data.number === detail?.number) detail = data;
  draw();
});

function draw(): void {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...rows.values()].filter(({ way, kind, events }) => {
    const text = `${way} ${kind} ${events.join(' ')}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  render(
    html`<header>
        <h1>Parley</h1>
        <input type="search" aria-label=${t('Search')} placeholder=${t('Search')} .value=${filter} @input=${(event: Event) => {
          filter = (event.target as HTMLInputElement).value;
          draw();
        }} />
        <span aria-live="polite">${found.length}</span>
        <button type="button" @click=${() => api.postMessage({ type: 'save' })}>${t('Save')}</button>
      </header>
      <table role="table">
        <thead role="rowgroup"><tr role="row">
          ${[t('Time'), t('Direction'), t('Kind'), t('Size'), t('Events')].map((name, at) => html`<th role="columnheader" class=${CELLS[at] ?? nothing}>${name}</th>`)}
        </tr></thead>
        <tbody role="rowgroup" @keydown=${move}>${found.slice(-SHOWN).map(rowView)}</tbody>
      </table>`,
    root,
  );
}

/** Goes from message to message with the arrow keys. */
function move(event: KeyboardEvent): void {
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const kinds = [...root.querySelectorAll<HTMLElement>('.kind')];
  const at = kinds.indexOf(event.target as HTMLElement);
  if (by === 0 || at < 0) return;
  kinds[at + by]?.focus();
  event.preventDefault();
}

/** The time of day where the user is, with milliseconds. */
function timeOf(at: number): string {
  const date = new Date(at);
  const digits = (value: number, count: number) => String(value).padStart(count, '0');
  const seconds = [date.getHours(), date.getMinutes(), date.getSeconds()].map((value) => digits(value, 2));
  return `${seconds.join(':')}.${digits(date.getMilliseconds(), 3)}`;
}

function rowView(row: Row): TemplateResult {
  const open = detail?.number === row.number;
  const toggle = () => {
    detail = open ? undefined : { number: row.number };
    if (!open) api.postMessage({ type: 'detail', number: row.number });
    draw();
  };
  const cells = [
    timeOf(row.at),
    `${row.way === 'in' ? '←' : '→'} ${row.way}`,
    html`<button class="kind" type="button" aria-expanded=${String(open)} @click=${toggle}>${visible(row.kind)}</button>`,
    row.size,
    summary(row.events),
  ];
  return html`<tr role="row" class=${row.way}>${cells.map((cell, at) => html`<td role="cell" class=${CELLS[at] ?? nothing}>${cell}</td>`)}</tr>
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
