import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { globTool, grepTool, grepToolOf, listDirectoryTool, searchBuiltIn, unsearchedIn } from '../../../src/agent/tools/searching.ts';
import { openReal } from '../../../src/transport/realFiles.ts';
import { temporaryFolder } from '../agentProcess.ts';
import { failureOf, sceneIn } from '../toolScene.ts';

function project(t: TestContext): string {
  const cwd = temporaryFolder(t);
  const files: Readonly<Record<string, string>> = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.gitignore': 'out/\n*.log\n!keep.log\n',
    'src/a.ts': 'export const needle = 1;\n// Needle (here)\n',
    'src/deep/b.ts': 'import { needle } from "../a.ts";\n',
    'src/deep/.gitignore': 'private.ts\n',
    'src/deep/private.ts': 'needle\n',
    'out/c.js': 'needle\n',
    'debug.log': 'needle\n',
    'keep.log': 'needle\n',
    'node_modules/x/index.js': 'needle\n',
    'image.bin': 'needle\0',
    '.github/w.yml': 'needle: true\n',
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.join(cwd, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(cwd, name), text);
  }
  symlinkSync('..', path.join(cwd, 'src/loop'));
  return cwd;
}

test('globs leave out what git ignores and do not run in circles', async (t) => {
  const cwd = project(t);
  const all = await globTool.run({ pattern: '**/*' }, sceneIn(cwd));
  assert.deepEqual(all.text.split('\n').sort(), [
    '.github/w.yml',
    '.gitignore',
    'image.bin',
    'keep.log',
    'src/a.ts',
    'src/deep/.gitignore',
    'src/deep/b.ts',
    'src/loop',
  ]);
  assert.equal((await globTool.run({ pattern: '*.ts' }, sceneIn(cwd))).text, 'src/a.ts\nsrc/deep/b.ts');
  assert.equal((await globTool.run({ pattern: '*.ts', directory: 'src/deep' }, sceneIn(cwd))).text, 'src/deep/b.ts');
  assert.equal((await globTool.run({ pattern: 'src/*', include_dirs: true }, sceneIn(cwd))).text, 'src/a.ts\nsrc/deep/\nsrc/loop');
});

test('a workspace that a repository around it ignores is searched all the same', async (t) => {
  const home = temporaryFolder(t);
  const cwd = path.join(home, 'code', 'project');
  mkdirSync(path.join(home, '.git'), { recursive: true });
  mkdirSync(cwd, { recursive: true });
  writeFileSync(path.join(home, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(home, '.gitignore'), '*\n');
  writeFileSync(path.join(cwd, '.gitignore'), '*.log\n');
  writeFileSync(path.join(cwd, 'a.ts'), 'needle\n');
  writeFileSync(path.join(cwd, 'b.log'), 'needle\n');
  assert.equal((await globTool.run({ pattern: '**/*' }, sceneIn(cwd))).text, '.gitignore\na.ts');
  assert.equal((await grepTool.run({ pattern: 'needle' }, sceneIn(cwd))).text, 'a.ts:1:needle');
  assert.match((await listDirectoryTool.run({}, sceneIn(cwd))).text, /a\.ts/);
});

test('a search gives path, line and text, and leaves out what git ignores and binary files', async (t) => {
  const cwd = project(t);
  const found = await grepTool.run({ pattern: 'needle' }, sceneIn(cwd));
  assert.deepEqual(found.text.split('\n').sort(), [
    '.github/w.yml:1:needle: true',
    'keep.log:1:needle',
    'src/a.ts:1:export const needle = 1;',
    'src/deep/b.ts:1:import { needle } from "../a.ts";',
  ]);
  assert.match((await grepTool.run({ pattern: 'needle', glob: '*.ts', path: 'src/deep' }, sceneIn(cwd))).text, /^src\/deep\/b\.ts:1:/);
  assert.equal(
    (await grepTool.run({ pattern: 'NEEDLE (', literal: true, ignore_case: true }, sceneIn(cwd))).text,
    'src/a.ts:2:// Needle (here)',
  );
  assert.equal((await grepTool.run({ pattern: 'nothing like this' }, sceneIn(cwd))).message, 'No matches.');
  assert.match(await failureOf(grepTool, { pattern: '(' }, sceneIn(cwd)), /literal/);
  const few = await grepTool.run({ pattern: 'needle', max_results: 2 }, sceneIn(cwd));
  assert.equal(few.text.split('\n').length, 2);
  assert.match(few.message, /There are more/);
});

test('a listing shows folders first and says how much it left out', async (t) => {
  const cwd = project(t);
  const listed = await listDirectoryTool.run({}, sceneIn(cwd));
  assert.deepEqual(listed.text.split('\n'), ['.github/', 'src/', '.gitignore  21', 'image.bin  7', 'keep.log  7']);
  assert.match(listed.message, /ignored/);
  assert.match((await listDirectoryTool.run({ include_ignored: true }, sceneIn(cwd))).text, /debug\.log/);
  assert.match(await failureOf(listDirectoryTool, { path: 'none' }, sceneIn(cwd)), /does not exist/);
  assert.match(await failureOf(listDirectoryTool, { path: 'src/a.ts' }, sceneIn(cwd)), /is a file/);
});

test('a file that cannot be read is told of, and is not taken for one without a match', async (t) => {
  const cwd = temporaryFolder(t);
  for (const name of ['a.txt', 'b.txt']) writeFileSync(path.join(cwd, name), 'needle\n');
  const held = Object.assign(new Error('b.txt is held (EBUSY).'), { code: 'EBUSY' });
  const open: typeof openReal = (file) => (file.endsWith('b.txt') ? Promise.reject(held) : openReal(file));
  const grep = grepToolOf((search, signal) => searchBuiltIn(search, signal, open));
  assert.equal(
    await failureOf(grep, { pattern: 'needle', path: 'b.txt' }, sceneIn(cwd)),
    'b.txt could not be read: b.txt is held (EBUSY).',
  );
  const all = await grep.run({ pattern: 'needle' }, sceneIn(cwd));
  assert.equal(all.text, 'a.txt:1:needle');
  assert.equal(all.message, '1 matches in 1 files. Could not be read and were not searched: b.txt (b.txt is held (EBUSY).).');
  const none = await grep.run({ pattern: 'other' }, sceneIn(cwd));
  assert.match(none.message, /^No matches\. Could not be read and were not searched: b\.txt /);
});

test('what ripgrep could not read is known by its own words', () => {
  const said =
    'rg: /w/a: b.txt: Permission denied (os error 13)\nrg: C:\\w\\b.txt: The process cannot access the file (os error 32)\r\nrg: odd\n';
  assert.deepEqual(unsearchedIn(said), [
    { path: '/w/a: b.txt', why: 'Permission denied (os error 13)' },
    { path: 'C:\\w\\b.txt', why: 'The process cannot access the file (os error 32)' },
  ]);
});
