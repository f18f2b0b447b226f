import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doneSides, excerptSides, type Located, pendingSides } from '../../src/session/diffs.ts';
import { inMannerOf, plain } from '../../src/session/lineEnds.ts';
import type { Diff } from '../../src/session/model.ts';

const whole = (before: string | null, after: string | null): Diff => ({ path: 'f', before, after });
const excerpt = (before: string, after: string, beforeLine?: number, afterLine = beforeLine): Diff => ({
  path: 'f',
  before,
  after,
  excerpt: { ...(beforeLine === undefined ? {} : { beforeLine }), ...(afterLine === undefined ? {} : { afterLine }) },
});
const located = (before: string | null, after: string | null): Located => ({ ok: true, sides: { before, after } });
const lost = (why: 'changed' | 'ambiguous' | 'unreadable'): Located => ({ ok: false, why });

test('pending: a whole proposal stands beside the file as the user has it', () => {
  assert.deepEqual(pendingSides([whole('a\n', 'b\n')], 'a\n'), located('a\n', 'b\n'));
  assert.deepEqual(pendingSides([whole('a\n', 'b\n')], 'unsaved\n'), located('unsaved\n', 'b\n'), 'what would be lost is seen');
});

test('pending: new files, deleted files, files that cannot be read', () => {
  assert.deepEqual(pendingSides([whole(null, 'new\n')], null), located(null, 'new\n'));
  assert.deepEqual(pendingSides([whole('old\n', null)], 'old\n'), located('old\n', null));
  assert.deepEqual(pendingSides([whole('a', 'b')], undefined), located('a', 'b'));
  assert.deepEqual(pendingSides([excerpt('a', 'b')], undefined), lost('unreadable'));
});

test('pending: an excerpt is put in at its line', () => {
  assert.deepEqual(pendingSides([excerpt('x', 'Y', 3)], 'x\n-\nx\n'), located('x\n-\nx\n', 'x\n-\nY\n'));
});

test('pending: without a line the only place is taken, and of several none', () => {
  assert.deepEqual(pendingSides([excerpt('b', 'B')], 'a\nb\nc'), located('a\nb\nc', 'a\nB\nc'));
  assert.deepEqual(pendingSides([excerpt('b', 'B')], 'b\na\nb'), lost('ambiguous'));
  assert.deepEqual(pendingSides([excerpt('z', 'Z')], 'a\nb'), lost('changed'));
});

test('pending: whole lines are preferred to pieces of lines', () => {
  assert.deepEqual(pendingSides([excerpt('add', 'sum')], 'addAll\nadd\n'), located('addAll\nadd\n', 'addAll\nsum\n'));
});

test('pending: when the line is off, the nearest place is taken', () => {
  const text = 'x\n1\n2\n3\n4\nx\n';
  assert.deepEqual(pendingSides([excerpt('x', 'Y', 5)], text), located(text, 'x\n1\n2\n3\n4\nY\n'));
});

test('pending: several excerpts count in the text before all of them', () => {
  const text = '1\n2\n3\n4\n5\n';
  assert.deepEqual(pendingSides([excerpt('1', 'one\nuno', 1), excerpt('4', 'four', 4)], text), located(text, 'one\nuno\n2\n3\nfour\n5\n'));
  assert.deepEqual(pendingSides([excerpt('4', 'four', 4), excerpt('1', 'one\nuno', 1)], text), located(text, 'one\nuno\n2\n3\nfour\n5\n'));
});

test('done: lines that were put in are taken out again, and what was around them stays', () => {
  assert.deepEqual(doneSides([excerpt('', 'new', 2)], 'a\nnew\nb\n'), located('a\nb\n', 'a\nnew\nb\n'));
  assert.deepEqual(doneSides([excerpt('', 'new\nnewer', 2)], 'top\na\nnew\nnewer\nb\n'), located('top\na\nb\n', 'top\na\nnew\nnewer\nb\n'));
});

test('pending: excerpts that build on one another are carried out one after the other', () => {
  assert.deepEqual(pendingSides([excerpt('a', 'b'), excerpt('b', 'c')], 'a\n'), located('a\n', 'c\n'));
});

test('pending: lines are put in before a line, at the end, and into an empty file', () => {
  assert.deepEqual(pendingSides([excerpt('', 'new', 2)], 'a\nb\n'), located('a\nb\n', 'a\nnew\nb\n'));
  assert.deepEqual(pendingSides([excerpt('', 'new', 9)], 'a'), located('a', 'a\nnew'));
  assert.deepEqual(pendingSides([excerpt('', 'new')], ''), located('', 'new'));
  assert.deepEqual(pendingSides([excerpt('', 'new')], 'a\n'), lost('changed'), 'nobody says where');
});

test('pending: lines that are taken out go with their line end', () => {
  assert.deepEqual(pendingSides([excerpt('b', '', 2)], 'a\nb\nc\n'), located('a\nb\nc\n', 'a\nc\n'));
  assert.deepEqual(pendingSides([excerpt('b', '', 2)], 'a\nb'), located('a\nb', 'a'));
  assert.deepEqual(pendingSides([excerpt('b', '')], 'a b c'), located('a b c', 'a  c'), 'a piece of a line does not');
});

test('pending: line ends and a byte order mark do not matter', () => {
  assert.deepEqual(pendingSides([excerpt('b\nc', 'B\nC', 2)], '\uFEFFa\r\nb\r\nc\r\n'), located('a\nb\nc\n', 'a\nB\nC\n'));
});

test('pending: sentences about a change are not the change', () => {
  assert.equal(pendingSides([{ ...whole('was', 'is'), summary: true }], 'x').ok, false);
});

test('done: one change is taken back from the file as it is', () => {
  assert.deepEqual(doneSides([whole('a\n', 'b\n')], 'b\n'), located('a\n', 'b\n'));
  assert.deepEqual(doneSides([excerpt('x', 'Y', 3)], 'x\n-\nY\n'), located('x\n-\nx\n', 'x\n-\nY\n'));
});

test('done: a run of changes is taken back last first', () => {
  const diffs = [whole('1\n', '2\n'), excerpt('2', '3', 1), excerpt('3', '3\n4', 1)];
  assert.deepEqual(doneSides(diffs, '3\n4\n'), located('1\n', '3\n4\n'));
});

test('done: several excerpts of one change, the second moved by the first', () => {
  const diffs = [excerpt('1', 'one\nuno', 1, 1), excerpt('4', 'four', 4, 5)];
  assert.deepEqual(doneSides(diffs, 'one\nuno\n2\n3\nfour\n5\n'), located('1\n2\n3\n4\n5\n', 'one\nuno\n2\n3\nfour\n5\n'));
});

test('done: made and deleted files', () => {
  assert.deepEqual(doneSides([whole(null, 'new\n')], 'new\n'), located(null, 'new\n'));
  assert.deepEqual(doneSides([whole('old\n', null)], null), located('old\n', null));
  assert.deepEqual(doneSides([whole(null, 'new\n')], 'new, and mine\n'), lost('changed'), 'the user’s text is not thrown away');
  assert.deepEqual(doneSides([whole('old\n', null)], 'made again\n'), lost('changed'));
});

test('done: what the user changed elsewhere since stays', () => {
  const before = `${Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n')}\n`;
  const after = before.replace('line 20', 'LINE 20');
  const present = `mine\n${after}`;
  assert.deepEqual(doneSides([whole(before, after)], present), located(`mine\n${before}`, present));
});

test('done: what the user changed in the same place since is not thrown away', () => {
  assert.deepEqual(doneSides([whole('a\nb\nc\n', 'a\nB\nc\n')], 'a\nmine\nc\n'), lost('changed'));
  assert.deepEqual(doneSides([excerpt('b', 'B', 2)], 'a\nmine\nc\n'), lost('changed'));
});

test('done: a file without a last line end, and one with \\r\\n', () => {
  assert.deepEqual(doneSides([whole('a\nb', 'a\nc')], 'a\nc'), located('a\nb', 'a\nc'));
  assert.deepEqual(doneSides([whole('a\nb\n', 'a\nc\n')], 'a\r\nc\r\n'), located('a\nb\n', 'a\nc\n'));
});

test('done: unreadable files are said to be so', () => {
  assert.deepEqual(doneSides([whole('a', 'b')], undefined), lost('unreadable'));
});

test('excerpts of a file in which they cannot be found are shown by themselves', () => {
  assert.deepEqual(excerptSides([excerpt('a', 'b'), excerpt('c', 'd')]), { before: 'a\n⋯\nc', after: 'b\n⋯\nd' });
  assert.deepEqual(excerptSides([whole(null, 'x')]), { before: null, after: 'x' });
});

test('text goes back in the manner of the file', () => {
  assert.equal(inMannerOf('a\nb\n', 'x\r\ny\r\n'), 'a\r\nb\r\n');
  assert.equal(inMannerOf('a\r\nb', 'x\ny\n'), 'a\nb');
  assert.equal(inMannerOf('a', '\uFEFFx'), '\uFEFFa');
  assert.equal(inMannerOf('\uFEFFa', 'x'), 'a');
  assert.equal(plain('\uFEFFa\r\nb'), 'a\nb');
});

test('an excerpt without a place is not put into a file, nor taken back from one, even where one place looks likely', () => {
  const unplaced: Diff = { path: 'a', before: 'x', after: 'Y', excerpt: { unplaced: true } };
  assert.deepEqual(pendingSides([unplaced], 'x\nxy\n'), lost('ambiguous'));
  assert.deepEqual(doneSides([unplaced], 'Y\nx\n'), lost('changed'));
  assert.deepEqual(excerptSides([unplaced]), { before: 'x', after: 'Y' });
});
