import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordAt } from '../../../src/editor/tools/wordAt.ts';

test('a name is found as a word of its own before it is found inside another', () => {
  assert.equal(wordAt('addAll(add)', 'add'), 7);
  assert.equal(wordAt('const $add = _add + add;', 'add'), 20);
});

test('inside another word is better than nothing, and -1 is nothing', () => {
  assert.equal(wordAt('addAll()', 'add'), 0);
  assert.equal(wordAt('x', 'add'), -1);
});

test('letters of every language are letters', () => {
  assert.equal(wordAt('größe + grö', 'grö'), 8);
});
