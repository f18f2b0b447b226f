import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEEPEST, MOST_MEMBERS, parseJson } from '../../src/base/json.ts';

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

test('members beyond the most of one text are left out, wherever they are, and everything else stays', () => {
  const many = (count: number, value: unknown) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value]));
  const value = {
    before: 'x,{"',
    map: many(MOST_MEMBERS, { a: [1, 2], b: '\\"' }),
    list: Array.from({ length: 30_000 }, () => ({ content: 'step', status: 'done' })),
    after: { small: true, map: many(300, 1) },
  };
  let cuts = 0;
  const read = parseJson(JSON.stringify(value, undefined, 1), () => (cuts += 1)) as typeof value;
  assert.equal(cuts, 1);
  assert.deepEqual(read.map, value.map);
  assert.deepEqual(read.list, value.list);
  assert.equal(read.before, value.before);
  assert.deepEqual(read.after, { small: true, map: { ...many(202, 1), '…': '98 more, left out' } });
});

test('an object of any number of members, and many such objects, end up bounded', () => {
  const object = `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":{"a":[${at}]}`).join()}}`;
  for (const text of [object, `[${object},${object}]`, `{"a":${object},"b":{"c":${object}}}`]) {
    let members = 0;
    JSON.stringify(parseJson(text), (_, value) => {
      if (typeof value === 'object' && value !== null && 'k0' in value) members += Object.keys(value).length;
      return value;
    });
    assert.ok(members > MOST_MEMBERS && members < MOST_MEMBERS + 400, String(members));
  }
});

test('a long text that is no JSON is refused, where nothing is cut and where something is', () => {
  const members = Array.from({ length: 30_000 }, (_, at) => `"k${at}":1`).join();
  for (const text of [`{${members}`, `{${members}]`, `{${members},"a`, `[${members}}`, `"${'a'.repeat(100_000)}`, `${'{'.repeat(100_000)}`])
    assert.throws(() => parseJson(text), SyntaxError, text.slice(0, 10));
});
