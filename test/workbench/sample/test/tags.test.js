import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTags } from '../src/tags.js';

test('counts each tag', () => {
  assert.equal(countTags([{ text: 'Buy ink #shop' }, { text: 'Call #print' }]).get('#print'), 1);
});

test('a tag is the same with a capital letter', () => {
  assert.equal(countTags([{ text: 'Buy ink #shop' }, { text: 'Wrong colour #Shop' }]).get('#shop'), 2);
});
