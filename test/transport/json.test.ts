import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEEPEST, parseJson } from '../../src/base/json.ts';

function depthOf(value: unknown): number {
  let depth = 0;
  for (let at = value; typeof at === 'object' && at !== null; depth++) at = Object.values(at)[0];
  return depth;
}

test('what is nested too deeply to be written again is cut, in lists and in records; the rest of the message stays', () => {
  const deep = (levels: number, open: string, close: string) => `{"name":"x","more":${open.repeat(levels)}1${close.repeat(levels)}}`;
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const value = parseJson(deep(20_000, open, close)) as { readonly name: string; readonly more: unknown };
    assert.equal(value.name, 'x');
    assert.equal(depthOf(value.more), DEEPEST - 1);
    assert.ok(JSON.stringify(value).length < 10_000);
  }
});

test('a text may hold as many brackets as it likes, and what is flat stays as it is', () => {
  const value = { text: '[{'.repeat(5000), list: Array.from({ length: 2000 }, (_, at) => ({ at, inner: [at] })) };
  assert.deepEqual(parseJson(JSON.stringify(value)), value);
  assert.throws(() => parseJson('{'), SyntaxError);
});
