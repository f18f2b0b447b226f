import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Diff, ToolCall, Turn } from '../../src/session/model.ts';
import { callTitle, changedFiles, fileNamed, relativePath, rowName } from '../../src/session/select.ts';

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

test('a file of Windows is one by all its spellings, and stands with the first', () => {
  const paths = ['c:\\ws\\src\\a.ts', 'C:\\ws\\src\\a.ts', 'C:/WS/src/A.ts', 'c:\\ws\\src\\b.ts', '/ws/a.ts', '/ws/A.ts'];
  const changed = changedFiles(turnWith(paths.map((path) => ({ path, before: 'a', after: 'b' }))));
  assert.deepEqual(
    changed.map(({ path, diffs }) => [path, diffs.length]),
    [
      ['c:\\ws\\src\\a.ts', 3],
      ['c:\\ws\\src\\b.ts', 1],
      ['/ws/a.ts', 1],
      ['/ws/A.ts', 1],
    ],
  );
});

test('a path of Windows is told from its folder, whichever case the drive is written in', () => {
  assert.equal(relativePath('C:\\ws\\src\\a.ts', 'c:\\ws'), 'src\\a.ts');
  assert.equal(relativePath('c:/WS/src/a.ts', 'C:\\ws\\'), 'src/a.ts');
  assert.equal(relativePath('C:\\ws-twin\\a.ts', 'c:\\ws'), 'C:\\ws-twin\\a.ts');
  assert.equal(relativePath('/WS/a.ts', '/ws'), '/WS/a.ts');
});

test('a path of macOS is told from its folder by every spelling of it', () => {
  assert.equal(relativePath('/users/Me/ws/Ä.ts', '/Users/me/ws'), 'Ä.ts');
  assert.equal(relativePath('/private/tmp/ws/a.ts', '/private/tmp/ws'), 'a.ts');
  assert.equal(relativePath('/private/tmp/ws/a.ts', '/tmp/ws'), 'a.ts');
  assert.equal(relativePath('/tmp/ws/a.ts', '/private/tmp/ws'), 'a.ts');
  assert.equal(relativePath('/private/ws/a.ts', '/ws'), '/private/ws/a.ts');
  assert.equal(relativePath('/private/tmp/ws/a.ts', 'c:\\ws'), '/private/tmp/ws/a.ts');
  assert.equal(relativePath('/Users/me/ws-twin/a.ts', '/Users/me/ws'), '/Users/me/ws-twin/a.ts');
  assert.equal(relativePath('a/ws/b.ts', '/a'), 'a/ws/b.ts');
});

test('a title names files without the folder, in whatever case the agent writes it', () => {
  const titleOf = (title: string, cwd: string) => callTitle({ ...call, title }, cwd);
  const call: ToolCall = { id: 'c', name: 'x', title: '', kind: 'other', status: 'done', inputText: '', output: [], locations: [] };
  assert.equal(titleOf('Edit C:\\ws\\src\\a.ts and c:/WS/b.ts', 'c:\\ws'), 'Edit src\\a.ts and b.ts');
  assert.equal(titleOf('Edit /ws/a.ts, not /WS/a.ts', '/ws'), 'Edit a.ts, not /WS/a.ts');
  assert.equal(titleOf('Edit \\\\server\\share\\ws\\a.ts', '\\\\server\\share\\ws'), 'Edit a.ts');
});

test('a file that was moved has both names, with their folders where these differ', () => {
  assert.equal(rowName('src/a.ts', undefined), 'a.ts');
  assert.equal(rowName('src/b.ts', 'src/a.ts'), 'a.ts → b.ts');
  assert.equal(rowName('lib/a.ts', 'src/a.ts'), 'src/a.ts → lib/a.ts');
  assert.equal(rowName('src/a.ts', 'a.ts'), 'a.ts → src/a.ts');
});

test('a file of a list is known by any case of its path on Windows and macOS, and by its own first', () => {
  const files = ['C:\\ws\\a.ts', 'c:\\ws\\a.ts', '/Users/me/A', '/ws/A'].map((path) => ({ path }));
  assert.equal(fileNamed(files, 'c:\\ws\\a.ts'), files[1]);
  assert.equal(fileNamed(files, 'c:/WS/A.TS'), files[0]);
  assert.equal(fileNamed(files, '/Users/Me/a'), files[2]);
  assert.equal(fileNamed(files, '/ws/a'), undefined);
});
