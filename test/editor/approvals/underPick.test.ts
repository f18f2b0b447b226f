import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesUnderPick } from '../../../src/editor/approvals/rowText.ts';

const over = { title: 'Edit a.ts', lineHeight: 16 };
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
  assert.equal(linesUnderPick(at(7), 5, { ...over, lineHeight: 40 }), 0);
});
