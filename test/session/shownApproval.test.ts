import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval } from '../../src/session/model.ts';
import { changeAmount, changeAmounts, fileBecomes, inputText, wordsBeside } from '../../src/session/shownApproval.ts';

test('how much is changed is counted where both texts are there and can be compared', () => {
  assert.equal(changeAmount([{ path: 'a', before: 'a\nb\n', after: 'a\nc\n' }]), '+1 −1');
  assert.equal(changeAmount([{ path: 'a', before: null, after: 'word\n'.repeat(200) }]), '+200 −0');
  assert.equal(changeAmount([{ path: 'a', before: 'a'.repeat(300_000), after: 'b'.repeat(300_000) }]), '');
  assert.equal(changeAmount([{ path: 'a', before: null, after: 'Deleted: a', summary: true }]), '');
});

test('amounts of many files are counted in their order, as far as a frame has time for', () => {
  const lines = (word: string) => Array.from({ length: 40 }, (_, at) => `${word} ${at}\n`).join('');
  const files = Array.from({ length: 1000 }, (_, at) => [{ path: `${at}`, before: lines('a'), after: lines('b') }]);
  const amounts = changeAmounts(files);
  assert.equal(amounts[0], '+40 −40');
  assert.equal(amounts.at(-1), '');
  assert.equal(changeAmount(files.flat()), '');
  const short = files.map(([diff]) => [{ path: diff?.path ?? '', before: 'a\n', after: 'b\n' }]);
  assert.equal(changeAmount(short.slice(0, 500).flat()), '+500 −500');
});

test('a file that comes or goes is told apart from one that changes', () => {
  const at = (before: string | null, after: string | null) => ({ path: 'a', before, after });
  assert.deepEqual(
    [[at('x', null)], [at(null, 'x')], [at('x', 'y')], [{ ...at(null, 'Deleted: a'), summary: true as const }]].map(fileBecomes),
    ['deleted', 'new', 'changed', 'changed'],
  );
});

test('the input of a tool reads as lines; no value reads as a member', () => {
  assert.equal(
    inputText({ title: 'Count', labels: ['bug'], body: 'one\ntitle: two', 'a\nb': 1 }),
    'title: Count\nlabels: ["bug"]\nbody:\n  one\n  title: two\n"a\\nb": 1',
  );
  assert.equal(inputText([1]), '[\n  1\n]');
  assert.equal(inputText(undefined), '');
});

test('words that the title says already are left out, and nothing else is', () => {
  const ask: Approval = { kind: 'approval', id: 'a', title: 'http://x', detail: { type: 'text', text: '' }, options: [] };
  const words = (text: string, markdown?: true) => wordsBeside(ask, { type: 'text', text, ...(markdown ? { markdown } : {}) });
  assert.equal(words('http://x '), '');
  assert.equal(words('{"url":"http://x"}'), '');
  assert.equal(words('{"url":"http://x","method":"POST"}'), 'url: http://x\nmethod: POST');
  assert.equal(words('{"url":"http://y"}'), 'url: http://y');
  assert.equal(words('{not json}'), '{not json}');
  assert.equal(words('{"a":1}', true), '{"a":1}');
});
