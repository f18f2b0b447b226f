import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readFileTool, strReplaceFileTool, writeFileTool } from '../../../src/agent/tools/files.ts';
import { Rejected } from '../../../src/agent/tools/tool.ts';
import { placeOf } from '../../../src/agent/workspace/paths.ts';
import type { TextFiles } from '../../../src/agent/workspace/textFiles.ts';
import { temporaryFolder } from '../agentProcess.ts';
import { failureOf, reject, sceneIn } from '../toolScene.ts';

test('a file is read with line numbers, in parts, without asking', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'one\r\ntwo\r\nthree');
  const scene = sceneIn(cwd);
  const whole = await readFileTool.run({ path: 'a.txt' }, scene);
  assert.equal(whole.text, '1\tone\n2\ttwo\n3\tthree');
  const part = await readFileTool.run({ path: './a.txt', line_offset: 2, n_lines: 1 }, scene);
  assert.equal(part.text, '2\ttwo');
  assert.match(part.message, /goes on to line 3/);
  assert.match(await failureOf(readFileTool, { path: 'a.txt', line_offset: 9 }, scene), /only 3 lines/);
  assert.match(await failureOf(readFileTool, { path: 'none.txt' }, scene), /does not exist/);
  assert.match(await failureOf(readFileTool, { path: '.' }, scene), /is a directory/);
  assert.match(await failureOf(readFileTool, { path: 3 }, scene), /Invalid arguments: path/);
  assert.match(await failureOf(readFileTool, { path: 'a\0b' }, scene), /NUL/);
  assert.equal(scene.asked.length, 0);
});

test('another server is not looked at before that is allowed, also not for an edit', async (t) => {
  const cwd = temporaryFolder(t);
  const workspace = { cwd, roots: [cwd], platform: 'win32' as const };
  for (const given of ['//evil/share/a.ts', '\\\\?\\UNC\\evil\\share\\a.ts', '\\\\evil@SSL\\DavWWWRoot\\a.ts'])
    assert.equal((await placeOf(workspace, given)).unseen, true, given);
  assert.equal((await placeOf(workspace, 'a.ts')).unseen, undefined);
  assert.equal((await placeOf({ ...workspace, platform: 'posix' }, '//evil/share/a.ts')).unseen, undefined);
  const looked: string[] = [];
  const files: TextFiles = { read: async (place) => void looked.push(place.path), write: async () => {} };
  for (const [tool, input] of [
    [writeFileTool, { content: 'x' }],
    [strReplaceFileTool, { edit: { old: 'a', new: 'b' } }],
  ] as const) {
    const scene = { ...sceneIn(cwd, { answer: reject }), files, workspace };
    await assert.rejects(tool.run({ ...input, path: '//evil/share/a.ts' }, scene), Rejected);
    assert.deepEqual([scene.asked.map(({ action }) => action), looked], [['read outside of working directory'], []]);
  }
});

test('a long file is cut, and says where it goes on', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'long.txt'), `${'x\n'.repeat(2500)}`);
  writeFileSync(path.join(cwd, 'wide.txt'), 'y'.repeat(9000));
  const long = await readFileTool.run({ path: 'long.txt' }, sceneIn(cwd));
  assert.equal(long.text.split('\n').length, 1000);
  assert.match(long.message, /Lines 1-1000 of 2500.*line 2500/);
  assert.ok((await readFileTool.run({ path: 'wide.txt' }, sceneIn(cwd))).text.length < 2200);
});

test('binary files are refused', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'nul.bin'), Buffer.from([65, 0, 66]));
  writeFileSync(path.join(cwd, 'latin.bin'), Buffer.from([0xe9, 0xe8, 0x20]));
  for (const name of ['nul.bin', 'latin.bin']) {
    assert.match(await failureOf(readFileTool, { path: name }, sceneIn(cwd)), /binary/);
    assert.match(await failureOf(strReplaceFileTool, { path: name, edit: { old: 'A', new: 'B' } }, sceneIn(cwd)), /binary/);
  }
});

test('outside of the roots is asked for: parents, absolute paths, links and files behind links that do not exist yet', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(outside, 'secret.txt'), 'secret');
  symlinkSync(outside, path.join(cwd, 'link'));
  symlinkSync(path.join(outside, 'secret.txt'), path.join(cwd, 'file-link'));
  symlinkSync(path.join(outside, 'not-there.txt'), path.join(cwd, 'dangling'));
  for (const given of [path.join(outside, 'secret.txt'), `../${path.basename(outside)}/secret.txt`, 'link/secret.txt', 'file-link']) {
    const scene = sceneIn(cwd, { answer: reject });
    await assert.rejects(readFileTool.run({ path: given }, scene), Rejected, given);
    assert.equal(scene.asked[0]?.action, 'read outside of working directory', given);
  }
  for (const given of ['link/new.txt', 'link/deep/er/new.txt', 'dangling']) {
    const scene = sceneIn(cwd, { answer: reject });
    await assert.rejects(writeFileTool.run({ path: given, content: 'x' }, scene), Rejected, given);
    assert.equal(scene.asked[0]?.action, 'edit file outside of working directory', given);
  }
  assert.deepEqual(readdirSync(outside), ['secret.txt']);
});

test('a link inside the roots, and a second root, are inside', async (t) => {
  const second = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  mkdirSync(path.join(cwd, 'real'));
  symlinkSync('real', path.join(cwd, 'link'));
  const scene = sceneIn(cwd, { roots: [cwd, second] });
  await writeFileTool.run({ path: 'link/a.txt', content: 'x' }, scene);
  await writeFileTool.run({ path: path.join(second, 'b.txt'), content: 'x' }, scene);
  assert.deepEqual(
    scene.asked.map((one) => one.action),
    ['edit file', 'edit file'],
  );
});

test('writing makes folders, appends, and keeps mode, line ends and byte order mark', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'deep/er/a.sh');
  await writeFileTool.run({ path: 'deep/er/a.sh', content: 'one\n' }, sceneIn(cwd));
  assert.equal(readFileSync(file, 'utf8'), 'one\n');
  chmodSync(file, 0o755);
  await writeFileTool.run({ path: 'deep/er/a.sh', content: 'two\n', mode: 'append' }, sceneIn(cwd));
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
  assert.equal(statSync(file).mode & 0o777, 0o755);
  writeFileSync(path.join(cwd, 'dos.txt'), '\uFEFFa\r\nb\r\n');
  await writeFileTool.run({ path: 'dos.txt', content: 'a\nc\nd\n' }, sceneIn(cwd));
  assert.equal(readFileSync(path.join(cwd, 'dos.txt'), 'utf8'), '\uFEFFa\r\nc\r\nd\r\n');
  assert.deepEqual(readdirSync(cwd).sort(), ['deep', 'dos.txt'], 'no temporary file stays');
});

test('a rejected write writes nothing; the question shows the whole change', async (t) => {
  const cwd = temporaryFolder(t);
  const scene = sceneIn(cwd, { answer: reject });
  await assert.rejects(writeFileTool.run({ path: 'new/a.txt', content: 'x\n' }, scene), Rejected);
  assert.equal(existsSync(path.join(cwd, 'new')), false);
  assert.deepEqual(scene.asked[0]?.shown, [
    { type: 'diff', path: path.join(scene.workspace.cwd, 'new/a.txt'), before: null, after: 'x\n' },
  ]);
});

test('a replacement must be unique unless all are meant', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'x = 1\ny = 1\nx = 1\n');
  const twice = await failureOf(strReplaceFileTool, { path: 'a.txt', edit: { old: 'x = 1', new: 'x = 2' } }, sceneIn(cwd));
  assert.match(twice, /occurs 2 times.*lines 1, 3/);
  assert.equal(readFileSync(file, 'utf8'), 'x = 1\ny = 1\nx = 1\n');
  await strReplaceFileTool.run({ path: 'a.txt', edit: { old: 'x = 1', new: '$& $1', replace_all: true } }, sceneIn(cwd));
  assert.equal(readFileSync(file, 'utf8'), '$& $1\ny = 1\n$& $1\n');
});

test('several replacements are all made or none', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one two\n');
  const bad = [
    { old: 'one', new: '1' },
    { old: 'three', new: '3' },
  ];
  assert.match(await failureOf(strReplaceFileTool, { path: 'a.txt', edit: bad }, sceneIn(cwd)), /Edit 2: old was not found/);
  assert.equal(readFileSync(file, 'utf8'), 'one two\n');
  const good = [
    { old: 'one', new: '1' },
    { old: '1 two', new: '3' },
  ];
  await strReplaceFileTool.run({ path: 'a.txt', edit: good }, sceneIn(cwd));
  assert.equal(readFileSync(file, 'utf8'), '3\n');
});

test('replacing across lines works in files with DOS and with mixed line ends, and leaves the rest alone', async (t) => {
  const cwd = temporaryFolder(t);
  const edit = { old: 'a\nb', new: 'a\nB' };
  writeFileSync(path.join(cwd, 'dos.txt'), 'a\r\nb\r\nc\r\n');
  writeFileSync(path.join(cwd, 'mixed.txt'), 'a\r\nb\nc\r\n');
  await strReplaceFileTool.run({ path: 'dos.txt', edit }, sceneIn(cwd));
  assert.equal(readFileSync(path.join(cwd, 'dos.txt'), 'utf8'), 'a\r\nB\r\nc\r\n');
  await strReplaceFileTool.run({ path: 'mixed.txt', edit }, sceneIn(cwd));
  assert.equal(readFileSync(path.join(cwd, 'mixed.txt'), 'utf8'), 'a\r\nB\nc\r\n');
});

test('a file that changed while the question was open is not overwritten', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one\n');
  const scene = sceneIn(cwd, { answer: () => writeFileSync(file, 'one\nmine\n') });
  assert.match(await failureOf(strReplaceFileTool, { path: 'a.txt', edit: { old: 'one', new: 'two' } }, scene), /changed while/);
  assert.equal(readFileSync(file, 'utf8'), 'one\nmine\n');
});

test('a place that turns into a link outside while the question was open is not written', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  const scene = sceneIn(cwd, { answer: () => symlinkSync(outside, path.join(cwd, 'dir')) });
  assert.match(await failureOf(writeFileTool, { path: 'dir/a.txt', content: 'x' }, scene), /changed while/);
  assert.deepEqual(readdirSync(outside), []);
});

test('a new file gets the line ends of the files beside it, scripts those they run with', async (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(path.join(cwd, 'src', 'deep', 'er'), { recursive: true });
  mkdirSync(path.join(cwd, 'unix'));
  writeFileSync(path.join(cwd, 'src', 'a.ts'), 'one\r\ntwo\r\n');
  writeFileSync(path.join(cwd, 'src', 'notes.md'), 'one\ntwo\n');
  writeFileSync(path.join(cwd, 'src', 'empty.md'), '');
  writeFileSync(path.join(cwd, 'unix', 'a.txt'), 'one\ntwo\n');
  const written = async (name: string) => {
    await writeFileTool.run({ path: name, content: 'x\ny\n' }, sceneIn(cwd));
    return readFileSync(path.join(cwd, name), 'utf8');
  };
  const [lf, crlf] = ['x\ny\n', 'x\r\ny\r\n'];
  assert.equal(await written('src/b.ts'), crlf);
  assert.equal(await written('src/b.md'), lf, 'its own kind counts first');
  assert.equal(await written('src/b.json'), crlf);
  assert.equal(await written('src/deep/er/b.ts'), crlf, 'a folder without files is as the one above');
  assert.equal(await written('unix/b.ts'), lf);
  assert.equal(await written('src/run.sh'), lf);
  assert.equal(await written('unix/run.cmd'), crlf);
});
