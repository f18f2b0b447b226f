import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesUnderPick, pickRoom } from '../../../src/editor/approvals/pickRoom.ts';

const over = { title: 'Edit a.ts', room: pickRoom(undefined, 16) };
const at = (...lines: readonly number[]) => lines.map((line) => ({ before: line, after: line }));

test('lines that the editor can scroll out from under the pick are not repeated in it', () => {
  assert.equal(linesUnderPick(at(200, 201), 5, over), 0);
  assert.equal(linesUnderPick(at(3, 3, 200), 5, over), 2);
});

test('rows that are added lie over more lines, which are then shown too, up to what a pick can be high', () => {
  assert.equal(linesUnderPick(at(1, 13, 15), 4, over), 1);
  assert.equal(linesUnderPick(at(1, 2, 3, 13, 15), 4, over), 5);
  assert.equal(linesUnderPick(at(...Array.from({ length: 500 }, (_, line) => line + 1)), 5, over), 30);
});

test('lines of unknown place count as the first', () => {
  assert.equal(linesUnderPick([{}, {}], 5, over), 2);
});

test('high lines and short titles leave more of the diff in sight', () => {
  assert.equal(linesUnderPick(at(13), 5, over), 0);
  assert.equal(linesUnderPick(at(13), 5, { ...over, title: 'x'.repeat(300) }), 1);
  assert.equal(linesUnderPick(at(7), 5, over), 1);
  assert.equal(linesUnderPick(at(7), 5, { ...over, room: pickRoom(undefined, 40) }), 0);
});

test('a smaller window has shorter rows and fewer of them in sight, and a diff with fewer columns', () => {
  const usual = pickRoom(undefined, 19);
  assert.deepEqual(pickRoom({ width: 1400, height: 900 }, 19), { ...usual, rows: 16 });
  const small = pickRoom({ width: 800, height: 600 }, 19);
  assert.deepEqual(small, { row: 51, title: 48, rows: 10, under: 4, columns: 45, lineHeight: 19 });
  const between = pickRoom({ width: 1024, height: 700 }, 19);
  assert.ok(between.row === usual.row && between.under === 6 && between.columns === 73, JSON.stringify(between));
});

test('a zoomed window has the room of a smaller one; a size out of all bounds still leaves a pick', () => {
  assert.deepEqual(pickRoom({ width: 1600, height: 1200 }, 19, 2), pickRoom({ width: 800, height: 600 }, 19));
  assert.deepEqual(pickRoom({ width: 800, height: 600 }, 19, 0.5), pickRoom({ width: 800, height: 600 }, 19));
  for (const side of [1, 100_000])
    for (const value of Object.values(pickRoom({ width: side, height: side }, 19))) assert.ok(value >= 1 && value <= 100, String(value));
});

test('a low pick covers fewer lines than a high one', () => {
  const long = at(...Array.from({ length: 500 }, (_, line) => line + 1));
  assert.equal(linesUnderPick(long, 5, { ...over, room: pickRoom({ width: 800, height: 600 }, 16) }), 10);
});
