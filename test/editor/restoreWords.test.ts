import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectWords, leftWords, previewTitle, restoredWords, restoreQuestion } from '../../src/editor/review/restoreWords.ts';
import type { RestoredFile } from '../../src/live/review/changeSet.ts';

test('each file of a restore says what will happen to it, a moved one once, and the question counts them', () => {
  const refused = 'b has unsaved changes. Save or revert it first.';
  const files: readonly RestoredFile[] = [
    { name: 'b', how: 'rewrite', refused },
    { name: 'big', how: 'unknown' },
    { name: 'edited/to', how: 'delete', back: { name: 'from', rewritten: true } },
    { name: 'fresh', how: 'delete' },
    { name: 'from', how: 'create' },
    { name: 'gone', how: 'create' },
    { name: 'mixed', how: 'rewrite', users: 'kept' },
    { name: 'moved/to', how: 'delete', back: { name: 'old', rewritten: false } },
    { name: 'old', how: 'create' },
    { name: 'other', how: 'rewrite', users: 'lost' },
    { name: 'plain', how: 'rewrite' },
  ];
  assert.deepEqual(effectWords({ turnId: 't', files, unwatched: ['dist'], between: ['mine', 'yours'] }).split('\n'), [
    `Not changed: ${refused}`,
    'other — goes back to how it was · other changes are lost',
    'big — cannot be undone',
    'mixed — goes back to how it was · other changes stay',
    'fresh — will be deleted',
    'edited/to → from — moves back · goes back to how it was',
    'gone — comes back',
    'moved/to → old — moves back',
    'plain — goes back to how it was',
    'Not watched: dist — not restored',
    'Changed while no prompt ran: mine, yours — not restored',
  ]);
  assert.match(restoreQuestion(files), /^Restore 7 files to before this prompt\?/);
  assert.match(restoreQuestion(files.slice(-1)), /^Restore 1 file to/);
  assert.equal(restoredWords(files.slice(4)), '6 files: restored', 'places that nothing moves back to are files of their own');
  assert.equal(leftWords(files.slice(0, 2)), 'Not changed: 2 files');
});

test('a restore of thousands of files lists some of them, and the question counts all', () => {
  const files = Array.from({ length: 2101 }, (_, at): RestoredFile => ({ name: `f${at}`, how: 'delete' }));
  assert.match(effectWords({ turnId: 't', files, unwatched: [], between: [] }), /f19 — will be deleted\n… \+2081$/);
  assert.match(restoreQuestion(files), /^Restore 2101 files/);
  assert.equal(previewTitle(100, files), 'Restore Files (100/2101)', 'not all of them have a diff');
  assert.equal(previewTitle(2, files.slice(0, 2)), 'Restore Files');
});
