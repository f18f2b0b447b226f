import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnOf, firstPlace, mergedInto, smallestChange } from '../../src/session/merge.ts';

const base = 'one\ntwo\nthree\nfour\n';

test('changes of different lines both stay, however near they are', () => {
  assert.equal(mergedInto('ONE\ntwo\nthree\nfour\n', base, 'one\nTWO\nthree\nfour\n'), 'ONE\nTWO\nthree\nfour\n');
  assert.equal(mergedInto('mine one\ntwo\nthree\nfour\n', base, `${base}five\n`), 'mine one\ntwo\nthree\nfour\nfive\n');
  assert.equal(mergedInto('two\nthree\nfour\n', base, 'one\ntwo\nthree\n'), 'two\nthree\n');
  assert.equal(mergedInto('one\ntwo\nand a half\nthree\nfour\n', base, 'one\ntwo\n3\nfour\n'), 'one\ntwo\nand a half\n3\nfour\n');
});

test('lines that are there many times are changed where they were', () => {
  assert.equal(mergedInto('x\n}\n}\n}\n', '}\n}\n}\n', '}\n}\n}\n!\n'), 'x\n}\n}\n}\n!\n');
});

test('the same change made twice is made once', () => {
  assert.equal(mergedInto('one\n2\nthree\n4\n', base, 'one\n2\nthree\nfour\n'), 'one\n2\nthree\n4\n');
});

test('changes of the same lines, or two insertions at one place, are for somebody to decide', () => {
  assert.equal(mergedInto('one\nmine\nthree\nfour\n', base, 'one\nyours\nthree\nfour\n'), undefined);
  assert.equal(mergedInto(`${base}mine\n`, base, `${base}yours\n`), undefined);
  assert.equal(mergedInto('four\n', base, 'one\n2\nthree\nfour\n'), undefined);
});

test('a text without a last line end', () => {
  assert.equal(mergedInto('ONE\ntwo', 'one\ntwo', 'one\ntwo\nthree'), 'ONE\ntwo\nthree');
  assert.equal(mergedInto('ONE\nmid\ntwo\n', 'one\nmid\ntwo\n', 'one\nmid\ntwo\nthree'), 'ONE\nmid\ntwo\nthree');
});

// --- the smallest change between two texts

const apply = (before: string, after: string) => {
  const change = smallestChange(before, after);
  return change ? before.slice(0, change.from) + change.text + before.slice(change.to) : before;
};

test('applied, the change gives the new text', () => {
  for (const [before, after] of [
    ['', 'a'],
    ['a', ''],
    ['aaa', 'aa'],
    ['abab', 'ab'],
    ['one\ntwo\nthree', 'one\n2\nthree'],
    ['x', 'y'],
  ] as const) {
    assert.equal(apply(before, after), after, `${before} -> ${after}`);
  }
});

test('only what differs is touched', () => {
  assert.deepEqual(smallestChange('one two three', 'one 2 three'), { from: 4, to: 7, text: '2' });
});

test('equal texts need no change', () => {
  assert.equal(smallestChange('a', 'a'), undefined);
});

const long = (end: string) => `call(${Array.from({ length: 20 }, (_, at) => `argument_${at}`).join(', ')}${end});`;

test('a change far to the right in its line is shown at its column, any other from the start of the line', () => {
  const column = long('').length - 2;
  assert.deepEqual(firstPlace(`a\r\n${long('')}\r\n`, `a\n${long(', more')}\n`), { line: 1, column });
  assert.deepEqual(firstPlace('a\nb\n', 'a\nbc\n'), { line: 1, column: 0 });
  assert.equal(firstPlace('a\r\n', 'a\n'), undefined);
  assert.equal(columnOf({ before: [long('')], after: [long(', more'), 'next'] }), column);
  assert.deepEqual([columnOf({ before: [], after: [long('')] }), columnOf({ before: [long('')], after: [] })], [0, 0]);
});
