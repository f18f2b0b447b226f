import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareLabels, scoreOf } from '../../src/editor/fileScore.ts';

const order = (query: string, labels: readonly string[]) =>
  labels
    .filter((label) => scoreOf(label, query, false) > 0)
    .sort((a, b) => scoreOf(b, query, false) - scoreOf(a, query, false) || a.length - b.length);

test('a name that begins with the query comes before a path that holds it', () => {
  assert.deepEqual(order('read', ['src/reader/other.ts', 'docs/readme.md', 'src/unread.ts']), [
    'docs/readme.md',
    'src/unread.ts',
    'src/reader/other.ts',
  ]);
});

test('letters in order are enough; others are not', () => {
  assert.deepEqual(order('scts', ['src/calc.ts', 'a.md']), ['src/calc.ts']);
});

test('case and the kind of slash do not matter', () => {
  assert.ok(scoreOf('src/Editor/chatView.ts', 'EDITOR\\chat', false) > 0);
});

test('an open file wins among equals, and without a query everything fits', () => {
  assert.ok(scoreOf('a/x.ts', 'x', true) > scoreOf('b/x.ts', 'x', false));
  assert.ok(scoreOf('anything', '', false) > 0);
});

test('without a query the files near the root come first, by name; with one the shorter path does', () => {
  const labels = ['src/tags.js', 'TODO.md', 'src/main.ts', 'package.json', 'note10.md', 'note9.md', '.a/b/c.ts'];
  assert.deepEqual(
    labels.toSorted((a, b) => compareLabels(a, b, '')),
    ['note9.md', 'note10.md', 'package.json', 'TODO.md', 'src/main.ts', 'src/tags.js', '.a/b/c.ts'],
  );
  assert.deepEqual(
    ['src/main.test.ts', 'web/main.ts'].toSorted((a, b) => compareLabels(a, b, 'main')),
    ['web/main.ts', 'src/main.test.ts'],
  );
});
