import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJson } from '../../src/base/json.ts';
import { TemplateReader } from '../../src/transport/templateReader.ts';
import { randomFrom } from '../random.ts';

const recordOf = (text: string, id = 'm1', more: object = {}) =>
  JSON.stringify({ result: { status: { at: 'now', message: { id, parts: [{ kind: 'text', text }], tags: ['a', 'b'] } }, ...more } });

/** Texts after which a template is looked for. */
const FLOOD = ['some', 'more', 'words'].map((text) => recordOf(text));

/** What the last text is read as, after the others of its stream. */
function lastOf(...texts: readonly string[]): unknown {
  const lines = new TemplateReader();
  return texts.map((text) => lines.read(text)).at(-1);
}

test('a text like the ones before it is read as what parsing it gives', () => {
  for (const text of ['more', '', 'one\ntwo "three" \\ \u0001', 'ends in \\', '…你好🙂', '\ud83d', '"}', 'm1', 'x'.repeat(100_000)]) {
    const line = recordOf(text, 'm3');
    assert.deepEqual(lastOf(...FLOOD, recordOf('and others', 'm2'), line), JSON.parse(line));
  }
});

test('what two texts of a flood have in common is there once', () => {
  const lines = new TemplateReader();
  const read = ['one', 'two', 'three', 'four'].map(
    (text) => lines.read(recordOf(text, text, { meta: { model: 'm' } })) as { result: { meta: object } },
  );
  assert.equal(read[3]?.result.meta, read[2]?.result.meta);
});

test('a value is not changed by the texts that follow', () => {
  const lines = new TemplateReader();
  const texts = ['one', 'two', 'three', 'four', 'five'].map((text, at) => recordOf(text, `m${at}`));
  const read = texts.map((text) => lines.read(text));
  assert.deepEqual(
    read,
    texts.map((text) => JSON.parse(text)),
  );
});

test('a text that only looks alike is read by itself', () => {
  const second = recordOf('and others');
  const others = [
    `${second} `,
    second.slice(0, -1),
    second.replace('"and others"', '5'),
    second.replace('"and others"', '"a","text":"b"'),
    second.replace('"and others"', '"a'),
    second.replace('"and others"', '"a\u0001"'),
    second.replace('"and others"', '"\\x"'),
    second.replace('"and others"', '"a\\"'),
    second.replace('"and others"', '"a\\\\"'),
    second.replace('"and others"', '"a\\","text":"b"'),
    second.replace('"and others"', ''),
    second.replace('"kind"', '"sort"'),
    '',
    'nothing',
  ];
  for (const other of others) assert.deepEqual(lastOf(...FLOOD, second, other), readJson(other), other);
});

test('members that stand twice, in another order, or have odd names are read as parsing reads them', () => {
  const forms: readonly ((a: string, b: string) => string)[] = [
    (a, b) => `{"x":"${a}","x":"${b}"}`,
    (a, b) => `{"b":"${a}","1":"${b}","0":"x"}`,
    (a, b) => `{"2":{"x":"${a}"},"1":{"x":"${b}"}}`,
    (a, b) => `{"__proto__":{"x":"${a}"},"y":"${b}"}`,
    (a, b) => `{"y":{"__proto__":"${a}"},"z":"${b}"}`,
    (a, b) => `{"${a}":"${b}"}`,
    (a, b) => `["${a}",{"x":["${b}"]},null,1.50,true]`,
    (a, b) => `{ "x" : "${a}" ,\t"y":[ "${b}" ] }`,
    (a) => `"${a}"`,
  ];
  for (const form of forms) {
    const texts = [form('a', 'b'), form('one', 'two'), form('two', 'one'), form('x', 'x'), form('1', '0'), form('0', 'y')];
    const lines = new TemplateReader();
    for (const text of texts) assert.deepEqual(lines.read(text), readJson(text), text);
  }
});

test('floods of any values are read as parsing reads them', () => {
  const below = randomFrom(16);
  const random = () => below(1000) / 1000;
  const words = ['', 'a', 'b', 'some words', 'x"y', 'back\\', '\n', '1', '🙂', 'id'];
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const anyValue = (depth: number): unknown => {
    const kind = random();
    if (depth === 0 || kind < 0.5) return pick<unknown>([...words, ...words, 1, null, true]);
    const inner = Array.from({ length: Math.floor(random() * 4) }, () => anyValue(depth - 1));
    return kind < 0.65 ? inner : Object.fromEntries(inner.map((one, at) => [pick([...words, `k${at}`]), one]));
  };
  /** The same value with another string here and there. */
  const changed = (value: unknown): unknown => {
    if (typeof value === 'string') return random() < 0.3 ? pick(words) : value;
    if (Array.isArray(value)) return value.map(changed);
    if (typeof value !== 'object' || value === null) return random() < 0.03 ? 2 : value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, changed(inner)]));
  };
  for (let flood = 0; flood < 300; flood++) {
    const lines = new TemplateReader();
    let value = anyValue(4);
    for (let at = 0; at < 12; at++) {
      const text = JSON.stringify(value, null, flood % 5 === 0 ? 1 : undefined);
      assert.deepEqual(lines.read(text), readJson(text), text);
      value = random() < 0.9 ? changed(value) : anyValue(4);
    }
  }
});
