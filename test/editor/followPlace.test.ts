import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BESIDE, placeFor, REST, type Scene } from '../../src/editor/followPlace.ts';

const NOW = 100_000;
const scene = (given: Partial<Scene> & { readonly moved?: Record<string, number>; readonly worked?: Record<string, number> }): Scene => ({
  visible: [{ uri: 'mine', column: 1 }],
  columns: [1],
  active: 1,
  own: undefined,
  touchedAt: (uri) => given.moved?.[uri] ?? given.worked?.[uri],
  workedAt: (uri) => given.worked?.[uri],
  since: NOW - 60_000,
  now: NOW,
  ...given,
});
const two = {
  visible: [
    { uri: 'mine', column: 1 },
    { uri: 'other', column: 2 },
  ],
  columns: [1, 2],
};

test('a user who only looks on gets the file where they look', () => {
  assert.deepEqual(placeFor('new', scene({})), { column: 1 });
  assert.deepEqual(placeFor('new', scene({ visible: [] })), { column: 1 });
});

test('the editor a user has worked in during the turn is never covered, however long they think', () => {
  assert.deepEqual(placeFor('new', scene({ worked: { mine: NOW - 50_000 } })), { column: BESIDE });
  assert.deepEqual(placeFor('new', scene({ ...two, worked: { mine: NOW - 50_000 } })), { column: 2 });
  assert.deepEqual(placeFor('new', scene({ worked: { mine: NOW - 70_000 } })), { column: 1 }, 'before the turn');
});

test('a file on the screen is shown where it is, once it has been left alone', () => {
  assert.deepEqual(placeFor('other', scene(two)), { column: 2 });
  assert.deepEqual(placeFor('other', scene({ ...two, worked: { other: NOW - 1000 } })), { waitMs: REST - 1000 });
  assert.deepEqual(placeFor('other', scene({ ...two, moved: { other: NOW - REST } })), { column: 2 });
});

test('what was scrolled just now is not covered either', () => {
  assert.deepEqual(placeFor('new', scene({ ...two, active: 2, own: 1, moved: { mine: NOW - 10 } })), { column: 2 });
  assert.deepEqual(placeFor('new', scene({ ...two, moved: { mine: NOW - 10, other: NOW - 500 } })), { waitMs: REST - 500 });
});

test('a lone column that was scrolled is waited for, not doubled', () => {
  assert.deepEqual(placeFor('new', scene({ moved: { mine: NOW - 100 } })), { waitMs: REST - 100 });
});

test('one column is used for all files, unless it is closed', () => {
  assert.deepEqual(placeFor('new', scene({ ...two, own: 2 })), { column: 2 });
  assert.deepEqual(placeFor('new', scene({ own: 2 })), { column: 1 });
});
