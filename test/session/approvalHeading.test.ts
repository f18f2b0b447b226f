import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeAmount, fileBecomes } from '../../src/session/approvalHeading.ts';

test('how much is changed is counted where both texts are there and can be compared', () => {
  assert.equal(changeAmount([{ path: 'a', before: 'a\nb\n', after: 'a\nc\n' }]), '+1 −1');
  assert.equal(changeAmount([{ path: 'a', before: null, after: 'word\n'.repeat(200) }]), '+200 −0');
  assert.equal(changeAmount([{ path: 'a', before: 'a'.repeat(300_000), after: 'b'.repeat(300_000) }]), '');
  assert.equal(changeAmount([{ path: 'a', before: null, after: 'Deleted: a', summary: true }]), '');
});

test('a file that comes or goes is told apart from one that changes', () => {
  const at = (before: string | null, after: string | null) => ({ path: 'a', before, after });
  assert.deepEqual(
    [[at('x', null)], [at(null, 'x')], [at('x', 'y')], [{ ...at(null, 'Deleted: a'), summary: true as const }]].map(fileBecomes),
    ['deleted', 'new', 'changed', 'changed'],
  );
});
