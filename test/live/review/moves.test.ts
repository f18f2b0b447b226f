import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMoves, type Moving } from '../../../src/live/review/scan.ts';

const file = (name: string, text: string | undefined, content = text ?? name): Moving => ({ name, text, content });
const named = (gone: readonly Moving[], fresh: readonly Moving[]) =>
  findMoves(gone, fresh).map(([from, to]) => `${from.name} > ${to.name}`);
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `line ${from + at}\n`).join('');

test('the same content is a move; of several, the file that kept its name', () => {
  const gone = [file('a/index.ts', 'export {};\n'), file('a/x.ts', 'export {};\n')];
  const fresh = [file('b/x.ts', 'export {};\n'), file('b/index.ts', 'export {};\n'), file('b/third.ts', 'export {};\n')];
  assert.deepEqual(named(gone, fresh).toSorted(), ['a/index.ts > b/index.ts', 'a/x.ts > b/x.ts']);
});

test('nearly the same content is a move, the most alike first; half of it must be shared', () => {
  const gone = [file('one', lines(0, 20)), file('two', lines(100, 120))];
  const fresh = [file('far', lines(0, 12) + lines(50, 58)), file('near', lines(0, 19)), file('none', lines(100, 108) + lines(200, 212))];
  assert.deepEqual(named(gone, fresh), ['one > near']);
});

test('line ends and indentation make no other file; empty files and files that are not text are no sign', () => {
  assert.deepEqual(named([file('a', 'x\ny\n')], [file('b', '  x\r\n  y\r\n')]), ['a > b']);
  assert.deepEqual(named([file('a', '', 'empty')], [file('b', '', 'empty')]), []);
  assert.deepEqual(named([file('a', undefined, 'h1')], [file('b', undefined, 'h2')]), []);
  assert.deepEqual(named([file('a', undefined, 'unkept 1 2 3 4')], [file('b', undefined, 'unkept 1 9 3 4')]), ['a > b']);
});

test('thousands of files moved at once are compared by content alone', () => {
  const gone = Array.from({ length: 2000 }, (_, at) => file(`old/${at}`, lines(at, at + 50)));
  const fresh = gone.map(({ text }, at) => file(`new/${at}`, text));
  assert.equal(findMoves(gone, fresh).length, 2000);
  assert.deepEqual(
    findMoves(
      gone,
      fresh.map(({ name, text }) => file(name, `${text}!`)),
    ),
    [],
  );
});
