import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeSummary, fileBecomes } from '../../../src/editor/approvals/changeSummary.ts';

test('a change in one line: how much, and how it begins, hidden characters written out', () => {
  const diffs = [{ path: 'a', before: '{\n  "debug": false\n}\n', after: '{\n  "debug": \u202etrue\n}\n' }];
  assert.deepEqual(changeSummary(diffs), { counts: '+1 −1', beginning: '− "debug": false   + "debug": ⟨U+202E⟩true' });
});

test('a long change is cut, and says so', () => {
  const { counts, beginning } = changeSummary([{ path: 'a', before: null, after: 'word\n'.repeat(200) }]);
  assert.equal(counts, '+200 −0');
  assert.match(beginning, /^\+ word {3}\+ word.*…$/);
  assert.equal([...beginning].length, 101);
});

test('changes too long to compare say nothing', () => {
  const none = { counts: '', beginning: '' };
  assert.deepEqual(changeSummary([{ path: 'a', before: 'a'.repeat(300_000), after: 'b'.repeat(300_000) }]), none);
});

test('a change that is only told in words is told in those words', () => {
  const said = { path: 'TODO.md', before: null, after: 'Deleted: TODO.md', summary: true } as const;
  assert.deepEqual(changeSummary([said]), { counts: '', beginning: 'Deleted: TODO.md' });
  const moved = { path: 'b', before: null, after: 'Moved: a → b', summary: true } as const;
  const lines = { path: 'b', before: 'x', after: 'y', excerpt: {} };
  assert.deepEqual(changeSummary([moved, lines]), { counts: '+1 −1', beginning: 'Moved: a → b   − x   + y' });
});

test('a file that comes or goes is told apart from one that changes', () => {
  const at = (before: string | null, after: string | null) => ({ path: 'a', before, after });
  assert.deepEqual(
    [[at('x', null)], [at(null, 'x')], [at('x', 'y')], [{ ...at(null, 'Deleted: a'), summary: true as const }]].map(fileBecomes),
    ['deleted', 'new', 'changed', 'changed'],
  );
});
