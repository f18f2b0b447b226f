import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterEvent, BESIDE, type EditorEvent, type EditorLayout, noActivity, placeFor, REST } from '../../src/editor/followPlace.ts';

const NOW = 100_000;
const scene = (
  given: Partial<EditorLayout> & { readonly moved?: Record<string, number>; readonly worked?: Record<string, number> },
): EditorLayout => ({
  visible: [{ uri: 'mine', column: 1 }],
  columns: [1],
  active: 1,
  own: undefined,
  activity: { ...noActivity([]), moved: new Map(Object.entries(given.moved ?? {})), worked: new Map(Object.entries(given.worked ?? {})) },
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

const after = (...events: readonly EditorEvent[]) => events.reduce(afterEvent, noActivity(['mine']));

test('going to a file that was not on the screen is a jump, in whichever order the editor tells of it', () => {
  const active: EditorEvent = { type: 'activated', uri: 'far', inReview: false, at: 5 };
  const visible: EditorEvent = { type: 'visible', uris: ['mine', 'far'], at: 5 };
  assert.equal(after(active, visible).jumpedAt, 5);
  assert.equal(after(visible, active).jumpedAt, 5);
  assert.equal(after(visible, active, { type: 'jumpForgotten' }).jumpedAt, undefined);
  assert.equal(after({ type: 'activated', uri: 'mine', inReview: false, at: 5 }).jumpedAt, undefined, 'it was on the screen');
});

test('an editor that we showed, or that was behind one of our diffs, is no jump', () => {
  const visible: EditorEvent = { type: 'visible', uris: ['mine', 'far'], at: 5 };
  const active: EditorEvent = { type: 'activated', uri: 'far', inReview: false, at: 5 };
  assert.equal(after({ type: 'shownByUs', uri: 'far', at: 4 }, visible, active).jumpedAt, undefined);
  assert.equal(after({ type: 'activated', uri: 'diff', inReview: true, at: 3 }, visible, active).jumpedAt, undefined);
});

test('an editor that scrolls because we showed something in it was not touched by the user', () => {
  const shown: EditorEvent = { type: 'shownByUs', uri: 'mine', at: 1000 };
  assert.equal(after(shown, { type: 'moved', uri: 'mine', at: 1500 }).moved.get('mine'), undefined);
  assert.equal(after(shown, { type: 'moved', uri: 'mine', at: 2500 }).moved.get('mine'), 2500);
});
