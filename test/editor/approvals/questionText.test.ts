import assert from 'node:assert/strict';
import { test } from 'node:test';
import { questionRows, withoutMarks } from '../../../src/editor/approvals/questionText.ts';

test('a link is its words and where it leads, an image its words', () => {
  const { rows } = questionRows({
    label: 'Which?',
    body: 'See [the notes](https://example.com/a "Notes") and <https://b.example>.\n![A chart](chart.png) [src/a.ts](src/a.ts)',
  });
  assert.deepEqual(rows, ['See the notes (https://example.com/a) and https://b.example.', 'A chart src/a.ts']);
});

test('what only looks like a link stays as it is', () => {
  for (const text of ['items[0](x y)', '[] (no)', 'a < b > c', '[open](']) assert.equal(withoutMarks(text), text);
});

test('hostile brackets take no time', () => {
  const text = '['.repeat(50_000) + '](<'.repeat(50_000);
  assert.equal(withoutMarks(text), text);
});
