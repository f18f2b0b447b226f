import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { isSameFile, placeOf, realPathNow } from '../../src/protocols/paths.ts';

function folderFor(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-paths-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('.., a folder with a like name, folders that steer the editor, relative paths', async (t) => {
  const cwd = folderFor(t);
  mkdirSync(path.join(cwd, '.git'));
  const place = (name: string) => placeOf(path.join(cwd, name), [cwd]);
  assert.equal(await place('src/new/deep.txt'), 'inside');
  assert.equal(await placeOf(`${cwd}/../x`, [cwd]), 'outside');
  assert.equal(await placeOf(`${cwd}-twin/x`, [cwd]), 'outside');
  assert.equal(await place('.git/hooks/pre-commit'), 'guarded');
  assert.equal(await place('sub/.vscode/tasks.json'), 'guarded');
  for (const name of ['x.code-workspace', '.devcontainer/devcontainer.json', '.mcp.json', 'sub/.envrc'])
    assert.equal(await place(name), 'guarded');
  await assert.rejects(placeOf('src/a.txt', [cwd]), /not absolute/);
  await assert.rejects(placeOf(`${cwd}/a\0b`, [cwd]), /NUL/);
});

test('a path of a hundred thousand folders ends neither the stack nor the patience', async (t) => {
  const cwd = folderFor(t);
  const deep = path.join(cwd, 'a/'.repeat(100_000), 'x');
  assert.equal(realPathNow(deep), deep);
  assert.equal(await placeOf(deep, [cwd]), 'guarded');
});

test('two spellings of one file are the same where the system takes them for one', () => {
  assert.ok(isSameFile('c:\\ws\\a.ts', 'C:\\WS\\A.ts', 'win32'));
  assert.ok(isSameFile('c:\\ws\\a.ts', 'C:/ws/a.ts', 'win32'));
  assert.ok(!isSameFile('c:\\ws\\a.ts', 'D:\\ws\\a.ts', 'win32'));
  assert.ok(isSameFile('/Users/me/\u00fc', '/users/ME/u\u0308', 'darwin'));
  assert.ok(!isSameFile('/ws/a', '/ws/A', 'posix'));
});

test('links out of the workspace, also to what is not there yet', async (t) => {
  const cwd = folderFor(t);
  const away = folderFor(t);
  symlinkSync(away, path.join(cwd, 'link'));
  symlinkSync(path.join(away, 'not-yet'), path.join(cwd, 'dangling'));
  assert.equal(await placeOf(path.join(cwd, 'link', 'x.txt'), [cwd]), 'outside');
  assert.equal(await placeOf(path.join(cwd, 'dangling'), [cwd]), 'outside');
});
