import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Diff, ToolCall, Turn } from '../../src/session/model.ts';
import { changedFiles } from '../../src/session/select.ts';

function turnWith(diffs: readonly Diff[]): Turn {
  const call: ToolCall = {
    id: 'c',
    name: 'write',
    title: 'write',
    kind: 'edit',
    status: 'done',
    inputText: '',
    output: diffs.map((diff) => ({ kind: 'diff', diff })),
    locations: [],
  };
  return { id: 't', startedAt: 0, prompt: [], status: 'done', parts: [{ kind: 'call', id: 'c', call }] };
}

test('a file that was written as it stood is not among the changed ones; an empty new file is', () => {
  const diffs: readonly Diff[] = [
    { path: 'same.txt', before: 'one', after: 'one' },
    { path: 'new.txt', before: null, after: '' },
    { path: 'said.txt', before: '', after: '', summary: true },
    { path: 'twice.txt', before: 'a', after: 'a' },
    { path: 'twice.txt', before: 'a', after: 'b' },
  ];
  const changed = changedFiles(turnWith(diffs)).map(({ path, diffs: found }) => [path, found.length]);
  assert.deepEqual(changed, [
    ['new.txt', 1],
    ['said.txt', 1],
    ['twice.txt', 1],
  ]);
});
