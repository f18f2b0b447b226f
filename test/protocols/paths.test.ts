import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { toolCall } from '../../src/protocols/acp/schema.ts';
import { diffsOf } from '../../src/protocols/kimi-wire/codec.ts';
import { placeOf, realPathNow } from '../../src/protocols/paths.ts';
import { pathOf } from '../../src/protocols/qwen/tools.ts';

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

test('links out of the workspace, also to what is not there yet', async (t) => {
  const cwd = folderFor(t);
  const away = folderFor(t);
  symlinkSync(away, path.join(cwd, 'link'));
  symlinkSync(path.join(away, 'not-yet'), path.join(cwd, 'dangling'));
  assert.equal(await placeOf(path.join(cwd, 'link', 'x.txt'), [cwd]), 'outside');
  assert.equal(await placeOf(path.join(cwd, 'dangling'), [cwd]), 'outside');
});

test('an agent that writes the address of a file for its path names that file, over each protocol', () => {
  const uri = 'file:///c%3A/ws/a.ts';
  const call = toolCall.parse({
    toolCallId: '1',
    content: [{ type: 'diff', path: uri, newText: 'a' }],
    locations: [{ path: '/c:/ws/a.ts' }],
  });
  const [wire] = diffsOf([{ type: 'diff', path: uri, old_text: '', new_text: 'a' }]);
  const [item] = call.content ?? [];
  const paths = [item?.type === 'diff' && item.path, call.locations?.[0]?.path, wire?.path, pathOf({ file_path: uri }, 'C:\\ws')];
  assert.deepEqual(paths, ['c:\\ws\\a.ts', 'c:\\ws\\a.ts', 'c:\\ws\\a.ts', 'c:\\ws\\a.ts']);
});
