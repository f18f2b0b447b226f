import assert from 'node:assert/strict';
import { test } from 'node:test';
import { window } from './dom.ts';

interface Sent {
  readonly type: string;
  readonly text?: string;
  readonly number?: number;
}
const sent: Sent[] = [];
Object.defineProperty(globalThis, 'acquireVsCodeApi', { value: () => ({ postMessage: (message: Sent) => void sent.push(message) }) });

const post = (data: unknown) => void window.dispatchEvent(new window.MessageEvent('message', { data }));
const kinds = () => [...document.querySelectorAll<HTMLElement>('.kind')];
const count = () => document.querySelector('header > span')?.textContent;
const stops = () => kinds().filter((kind) => kind.getAttribute('tabindex') === '0');
const focused = () => document.activeElement?.textContent;
const press = (key: string) =>
  void document.activeElement?.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true }) as unknown as Event);

function type(text: string): void {
  const field = document.querySelector('input');
  assert.ok(field);
  field.value = text;
  field.dispatchEvent(new window.Event('input') as unknown as Event);
}

test('of thousands of messages the latest are drawn, earlier ones on demand, and one row is a stop for Tab', async () => {
  await import('../../webview/inspector.ts');
  assert.deepEqual(sent, [{ type: 'ready' }]);
  const row = (number: number) => ({ number, at: 0, way: 'in', kind: `kind${number}`, size: 1, events: [] });
  post({ type: 'rows', first: 1, rows: Array.from({ length: 700 }, (_, at) => row(at + 1)), strings: {} });
  assert.deepEqual([count(), kinds().length, kinds()[0]?.textContent], ['700', 500, 'kind201']);
  document.querySelector<HTMLElement>('.more')?.click();
  assert.deepEqual([kinds().length, kinds()[0]?.textContent, document.querySelector('.more')], [700, 'kind1', null]);

  stops()[0]?.focus();
  press('End');
  assert.equal(focused(), 'kind700');
  press('PageUp');
  press('ArrowUp');
  assert.equal(focused(), 'kind679');
  assert.deepEqual(
    stops().map((kind) => kind.textContent),
    ['kind679'],
  );
  press('Home');
  press('ArrowUp');
  assert.equal(focused(), 'kind1');

  // What the host has dropped is gone here, too: it has no JSON to show.
  post({ type: 'rows', first: 201, rows: [row(701)], strings: {} });
  assert.deepEqual([count(), kinds().at(0)?.textContent], ['501', 'kind201']);
});

test('the host finds the words; an answer to an earlier question counts no more', () => {
  type('ink');
  type('ink buy');
  assert.deepEqual(sent.slice(-2), [
    { type: 'find', text: 'ink' },
    { type: 'find', text: 'ink buy' },
  ]);
  post({ type: 'found', query: 'ink', numbers: [300, 301] });
  assert.equal(count(), '501');
  post({ type: 'found', query: 'ink buy', numbers: [301] });
  assert.deepEqual([count(), kinds().map((kind) => kind.textContent)], ['1', ['kind301']]);
  kinds()[0]?.click();
  assert.deepEqual(sent.at(-1), { type: 'detail', number: 301 });
  post({ type: 'detail', number: 301, json: '{"text":"Buy ink"}' });
  assert.match(document.querySelector('pre')?.textContent ?? '', /"text": "Buy ink"/);
  const cell = () => document.querySelector<HTMLElement>('tr.message .at');
  cell()?.click();
  assert.equal(document.querySelector('pre'), null, 'the whole row opens and closes');
  cell()?.click();
  assert.equal(sent.filter(({ type }) => type === 'detail').length, 2);
  type('');
  assert.equal(count(), '501');
});

test('a filter without a hit says so where the table was, and it is announced', () => {
  const status = document.querySelector('[role="status"]');
  assert.equal(status?.textContent, '');
  type('nowhere');
  post({ type: 'found', query: 'nowhere', numbers: [] });
  assert.deepEqual([count(), status?.textContent, document.querySelector('table')], ['0', 'Nothing found', null]);
  type('');
  assert.deepEqual([status?.textContent, kinds().length > 0], ['', true]);
});
