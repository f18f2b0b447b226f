import { html, nothing, render, type TemplateResult } from 'lit/html.js';
import type { EditorApi } from './host.ts';
import { setStrings, t } from './strings.ts';
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
      <table>
        <thead><tr><th>Time</th><th>Direction</th><th>Kind</th><th>Size</th><th>Events</th></tr></thead>
        <tbody>${found.slice(-SHOWN).map(rowView)}</tbody>
      </table>`,
    root,
  );
}

function rowView(row: Row): TemplateResult {
  const open = detail?.number === row.number;
  const toggle = () => {
    detail = open ? undefined : { number: row.number };
    if (!open) api.postMessage({ type: 'detail', number: row.number });
    draw();
  };
  return html`<tr class=${row.way}>
      <td>${new Date(row.at).toISOString().slice(11, 23)}</td>
      <td>${row.way === 'in' ? '←' : '→'} ${row.way}</td>
      <td><button class="kind" type="button" aria-expanded=${String(open)} @click=${toggle}>${row.kind}</button></td>
      <td class="num">${row.size}</td>
      <td>${summary(row.events)}</td>
    </tr>
    ${open ? html`<tr><td colspan="5"><pre tabindex="0">${pretty(detail?.json ?? '')}</pre></td></tr>` : nothing}`;
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
api.postMessage({ type: 'ready' });
