import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smallestChange } from '../../src/editor/textChange.ts';

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
