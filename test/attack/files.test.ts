import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { strReplaceFileTool, writeFileTool } from '../../src/agent/tools/files.ts';
import { silentLog } from '../../src/base/log.ts';
import { diskEffects, diskFilesIn } from '../../src/live/diskFiles.ts';
import { ChangeSet } from '../../src/live/review/changeSet.ts';
import { ContentStore } from '../../src/live/review/contentStore.ts';
import { emptyScan, scanFolders, usualLimits } from '../../src/live/review/scan.ts';
import { realPath, realPathNow } from '../../src/protocols/paths.ts';
import { ContentChanged, moveReal, openReal, overwriteReal, readRealNow, removeReal, writeReal } from '../../src/transport/realFiles.ts';
import { sceneIn } from '../agent/toolScene.ts';

/** The room of files: the host writes for an agent, and what was checked is swapped for something else. */

function folders(t: TestContext) {
  const at = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-attack-')));
  t.after(() => rmSync(at, { recursive: true, force: true }));
  const [inside, outside] = [path.join(at, 'w'), path.join(at, 'other')];
  mkdirSync(inside);
  mkdirSync(outside);
  return { inside, outside };
}

test('the host writes where a link leads that was there when somebody decided', async (t) => {
  const { inside } = folders(t);
  writeFileSync(path.join(inside, 'real.txt'), 'old');
  symlinkSync('real.txt', path.join(inside, 'link.txt'));
  const file = path.join(inside, 'link.txt');
  await diskFilesIn(inside).write(file, 'new', undefined, realPathNow(file));
  assert.equal(readFileSync(path.join(inside, 'real.txt'), 'utf8'), 'new');
  await diskFilesIn(inside).write(path.join(inside, 'a/b/c.txt'), 'made');
  assert.equal(readFileSync(path.join(inside, 'a/b/c.txt'), 'utf8'), 'made');
});

test('a file with another name, a hook or one outside, is changed under the name that was decided about alone', async (t) => {
  const { inside, outside } = folders(t);
  mkdirSync(path.join(inside, '.git/hooks'), { recursive: true });
  const others = [path.join(inside, '.git/hooks/pre-commit'), path.join(outside, '.bashrc')];
  const scene = sceneIn(inside);
  const writes: Readonly<Record<string, (file: string) => Promise<unknown>>> = {
    'the file door': (file) => diskFilesIn(inside).write(file, 'evil', undefined, realPathNow(file)),
    'an edit that is put right': (file) => diskEffects.writeText(file, 'evil', 'as it was', realPathNow(file)),
    'a restore': (file) => writeReal(file, 'evil', { durable: false }),
    'WriteFile of parley-agent': (file) => writeFileTool.run({ path: file, content: 'evil' }, scene),
    'StrReplaceFile of parley-agent': (file) => strReplaceFileTool.run({ path: file, edit: { old: 'as it was', new: 'evil' } }, scene),
  };
  for (const [name, write] of Object.entries(writes)) {
    for (const other of others) {
      writeFileSync(other, 'as it was', { mode: 0o755 });
      const file = path.join(inside, 'notes.txt');
      linkSync(other, file);
      await write(file);
      assert.deepEqual([readFileSync(file, 'utf8'), readFileSync(other, 'utf8')], ['evil', 'as it was'], `${name}: ${other}`);
      assert.equal(statSync(file).mode & 0o777, 0o755);
      rmSync(file);
      rmSync(other);
    }
  }
  // A file of one name stays the very file it was, for those who watch it.
  const file = path.join(inside, 'one.txt');
  writeFileSync(file, 'old');
  const { ino } = statSync(file);
  await diskFilesIn(inside).write(file, 'new');
  assert.deepEqual([statSync(file).ino, readFileSync(file, 'utf8')], [ino, 'new']);
});

test('where a path leads is found by few questions to the system, however much of it is not there', async (t) => {
  const { inside, outside } = folders(t);
  symlinkSync(outside, path.join(inside, 'link'));
  symlinkSync('link/none/deep', path.join(inside, 'dangling'));
  symlinkSync('loop', path.join(inside, 'loop'));
  writeFileSync(path.join(inside, 'file'), '');
  const deep = Array.from({ length: 1800 }, () => 'x').join('/');
  const leads: Readonly<Record<string, string>> = {
    [`link/${deep}`]: path.join(outside, deep),
    [`dangling/${deep}`]: path.join(outside, 'none/deep', deep),
    'link/../file': path.join(inside, 'file'),
    'none/../../w/link/a': path.join(outside, 'a'),
    [`file/${deep}`]: path.join(inside, 'file', deep),
    'loop/a': path.join(inside, 'loop/a'),
    [deep]: path.join(inside, deep),
    link: outside,
  };
  for (const [from, to] of Object.entries(leads)) {
    const asked = path.join(inside, from);
    assert.equal(realPathNow(asked), to, from.slice(0, 40));
    assert.equal(await realPath(asked), to, from.slice(0, 40));
  }
  const looks = t.mock.method(fs, 'lstatSync');
  const links = t.mock.method(fs, 'readlinkSync');
  syncBuiltinESMExports();
  try {
    realPathNow(path.join(inside, deep));
    assert.ok(looks.mock.callCount() > 0, 'the questions are counted');
    assert.ok(looks.mock.callCount() + links.mock.callCount() <= 20, `${looks.mock.callCount()} and ${links.mock.callCount()} questions`);
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
});

test('a file or a folder that becomes a link after the decision is not written through by the host', async (t) => {
  const { inside, outside } = folders(t);
  mkdirSync(path.join(inside, 'd'));
  const file = path.join(inside, 'd/f.txt');
  const real = realPathNow(file);
  symlinkSync(path.join(outside, 'f.txt'), file);
  await assert.rejects(diskFilesIn(inside).write(file, 'x', undefined, real), /elsewhere/);
  rmSync(path.join(inside, 'd'), { recursive: true });
  symlinkSync(outside, path.join(inside, 'd'));
  await assert.rejects(diskFilesIn(inside).write(file, 'x', undefined, real), /elsewhere/);
  assert.ok(!existsSync(path.join(outside, 'f.txt')));
});

test('a folder far above the file that becomes a link after the decision leads nowhere: nothing is read, written or removed there', async (t) => {
  const { inside, outside } = folders(t);
  const file = path.join(inside, 'a/b/c/f.txt');
  for (const root of [inside, outside]) {
    mkdirSync(path.join(root, root === inside ? 'a/b/c' : 'b/c'), { recursive: true });
    writeFileSync(path.join(root, root === inside ? 'a/b/c/f.txt' : 'b/c/f.txt'), 'as it was');
  }
  rmSync(path.join(inside, 'a'), { recursive: true });
  symlinkSync(outside, path.join(inside, 'a'));
  for (const touch of [openReal, removeReal, (one: string) => writeReal(one, 'x'), (one: string) => overwriteReal(one, 'x')])
    await assert.rejects(touch(file), /elsewhere/);
  await assert.rejects(writeReal(path.join(inside, 'a/b/c/new/f.txt'), 'x'), /elsewhere/);
  assert.equal(readFileSync(path.join(outside, 'b/c/f.txt'), 'utf8'), 'as it was');
  assert.ok(!existsSync(path.join(outside, 'b/c/new')));
});

test('no folder stays open after a move that was refused', async (t) => {
  const { inside, outside } = folders(t);
  const file = path.join(inside, 'd/f.txt');
  mkdirSync(path.join(inside, 'd'));
  writeFileSync(file, 'x');
  symlinkSync(outside, path.join(inside, 'link'));
  // Only Linux tells which files are open.
  const listed = '/proc/self/fd';
  const opened = () => (existsSync(listed) ? readdirSync(listed) : []).filter((fd) => opensBelow(path.join(listed, fd), inside));
  for (const [from, to] of [
    [file, path.join(inside, 'link/f.txt')],
    [path.join(inside, 'link/f.txt'), path.join(inside, 'd/g.txt')],
    [path.join(inside, 'd/none'), path.join(inside, 'd/g.txt')],
  ] as const)
    await assert.rejects(moveReal(from, to));
  assert.deepEqual(opened(), []);
  await moveReal(file, path.join(inside, 'e/f.txt'));
  assert.equal(readFileSync(path.join(inside, 'e/f.txt'), 'utf8'), 'x');
  assert.deepEqual(opened(), []);
});

function opensBelow(descriptor: string, folder: string): boolean {
  try {
    return readlinkSync(descriptor).startsWith(folder);
  } catch {
    // The one that listed them.
    return false;
  }
}

test('no write lands outside, whenever the folder is swapped while it is under way', async (t) => {
  const { inside, outside } = folders(t);
  const folder = path.join(inside, 'd');
  mkdirSync(folder);
  let landed = 0;
  for (const write of [writeReal, overwriteReal]) {
    for (let time = 0; time < 150; time++) {
      const writing = write(`${folder}/sub/f`, 'x').catch(() => {});
      for (let step = 0; step < time % 10; step++) await new Promise(setImmediate);
      renameSync(folder, `${folder}2`);
      symlinkSync(outside, folder);
      await writing;
      rmSync(folder);
      renameSync(`${folder}2`, folder);
      if (existsSync(path.join(outside, 'sub'))) landed += 1;
      rmSync(path.join(folder, 'sub'), { recursive: true, force: true });
    }
  }
  assert.equal(landed, 0);
});

test('no write of an agent lands outside when its folder is swapped between the decision and the write', async (t) => {
  const { inside, outside } = folders(t);
  const folder = path.join(inside, 'd');
  mkdirSync(folder);
  const file = path.join(folder, 'f.txt');
  let [landed, written] = [0, 0];
  for (let time = 0; time < 50; time += 1) {
    const real = realPathNow(file);
    const steps = time % 12;
    // Before the write begins, while it is under way, or never.
    const swap = () => {
      renameSync(folder, `${folder}2`);
      symlinkSync(outside, folder);
    };
    if (steps === 0) swap();
    const writing = diskFilesIn(inside)
      .write(file, `text ${time}`, undefined, real)
      .then(
        () => true,
        () => false,
      );
    if (steps > 0 && steps < 11) {
      for (let step = 1; step < steps; step += 1) await new Promise(setImmediate);
      swap();
    }
    if (await writing) written += 1;
    if (steps < 11) {
      rmSync(folder);
      renameSync(`${folder}2`, folder);
    }
    if (existsSync(path.join(outside, 'f.txt'))) landed += 1;
    rmSync(file, { force: true });
  }
  assert.equal(landed, 0);
  assert.ok(written > 0, 'writes that nobody disturbs come through');
});

test('a write keeps the mode of a file, and what hangs on it where it is written in place', async (t) => {
  const { inside } = folders(t);
  const file = path.join(inside, 'run.sh');
  writeFileSync(file, 'a long text that is there before', { mode: 0o755 });
  const before = statSync(file);
  await overwriteReal(file, 'in place');
  assert.equal(statSync(file).ino, before.ino);
  assert.equal(readFileSync(file, 'utf8'), 'in place');
  await writeReal(file, 'anew');
  assert.equal(statSync(file).mode, before.mode);
  assert.equal(readFileSync(file, 'utf8'), 'anew');
});

test('a file that was written since its text was read is left as it is, and so is one that is gone', async (t) => {
  const file = path.join(folders(t).inside, 'log.txt');
  for (const now of ['one\ntwo\n', 'on\n', 'One\n', '']) {
    writeFileSync(file, now);
    await assert.rejects(overwriteReal(file, 'changed\n', 'one\n'), ContentChanged);
    assert.equal(readFileSync(file, 'utf8'), now);
  }
  for (const changed of ['longer than one\n', 'o\n', '']) {
    writeFileSync(file, 'one\n');
    await overwriteReal(file, changed, 'one\n');
    assert.equal(readFileSync(file, 'utf8'), changed);
  }
  rmSync(file);
  await assert.rejects(overwriteReal(file, 'changed\n', 'one\n'), /ENOENT/);
  assert.ok(!existsSync(file));
});

test('a disk that is full while a file is written in place leaves the file as it was', async (t) => {
  const file = path.join(folders(t).inside, 'notes.txt');
  const full = (): never => {
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  };
  for (const before of ['kept', '']) {
    writeFileSync(file, before);
    const handle = await open(file);
    const prototype = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    const mocks = [t.mock.method(prototype, 'write', full), t.mock.method(prototype, 'writeFile', full)];
    await assert.rejects(overwriteReal(file, 'a longer text than before'), /ENOSPC/);
    for (const mock of mocks) mock.mock.restore();
    assert.equal(readFileSync(file, 'utf8'), before);
  }
  await overwriteReal(file, 'a longer text than before');
  await overwriteReal(file, 'short 中');
  assert.equal(readFileSync(file, 'utf8'), 'short 中');
});

test('a pipe, a folder and a link are neither read nor written over', async (t) => {
  const { inside } = folders(t);
  const at = (name: string) => path.join(inside, name);
  execFileSync('mkfifo', [at('pipe')]);
  mkdirSync(at('folder'));
  writeFileSync(at('file'), 'x');
  symlinkSync('file', at('link'));
  for (const name of ['pipe', 'folder', 'link']) {
    assert.equal(readRealNow(at(name), 10), undefined, name);
    await assert.rejects(overwriteReal(at(name), 'y'), name);
  }
  await assert.rejects(openReal(at('link')), /elsewhere/);
  await assert.rejects(writeReal(at('link'), 'y'), /elsewhere/);
  assert.equal(readFileSync(at('file'), 'utf8'), 'x');
});

const effects = { readText: async () => null, writeText: async () => {}, hasUnsaved: () => false, folders: () => [] };

test('a review that somebody else wrote down writes and removes nothing outside the folder', async (t) => {
  const { inside, outside } = folders(t);
  const kept = path.join(path.dirname(inside), 'kept');
  const store = new ContentStore(path.join(kept, 'contents'));
  const [evil, mine] = [await store.put(Buffer.from('evil')), await store.put(Buffer.from('mine'))];
  symlinkSync(outside, path.join(inside, 'link'));
  const names = [
    '../other/secret',
    'link/secret',
    'a/../../other/secret',
    path.join(outside, 'secret'),
    '../other/new',
    'link/new',
    '..',
    '',
    '.',
  ];
  for (const [at, before] of [null, evil, 'unkept x'].entries()) {
    writeFileSync(path.join(outside, 'secret'), 'mine');
    const file = path.join(kept, `${at}.json`);
    const change = { before, after: mine, review: 'open' };
    const checkpoint = { turnId: 't', files: '', changes: names.map((name) => ({ name, ...change })), burst: names, folders: ['..'] };
    const undo = names.map((name) => ({ name, present: before, before: mine }));
    const tracked = names.map((name) => [name, { before, after: mine }]);
    writeFileSync(file, JSON.stringify({ version: 2, tracked, checkpoints: [checkpoint], undo }));
    const set = new ChangeSet(inside, file, { store, effects, log: silentLog });
    await set.load();
    assert.ok(set.files.length > 0, 'the list is read');
    const all = () => set.settleAll('undo');
    const each = () => Promise.all(names.flatMap((name) => [set.settle(path.join(inside, name), 'undo'), set.settle(name, 'undo')]));
    for (const attempt of [all, each, () => set.settleTurn('t', 'undo'), () => set.restore('t'), () => set.undoRestore()]) {
      await Promise.allSettled([attempt()]);
      assert.equal(existsSync(path.join(outside, 'secret')) && readFileSync(path.join(outside, 'secret'), 'utf8'), 'mine');
      assert.equal(existsSync(path.join(outside, 'new')), false);
    }
    assert.ok(existsSync(inside));
  }
});

test('a content of the review that is not what its name says is not written', async (t) => {
  const { inside } = folders(t);
  const contents = path.join(inside, 'contents');
  const store = new ContentStore(contents);
  const name = await store.put(Buffer.from('before'));
  const other = await store.put(Buffer.from('other'));
  const fileOf = (hash: string) => path.join(contents, hash.slice(0, 2), hash.slice(2));
  for (const bytes of [readFileSync(fileOf(other)), Buffer.from('torn'), deflateRawSync(Buffer.alloc(100 * 1024 * 1024))]) {
    writeFileSync(fileOf(name), bytes);
    assert.equal(await store.get(name), undefined);
  }
});

test('a .gitignore of a gigabyte is not read', async (t) => {
  const { inside } = folders(t);
  const store = new ContentStore(path.join(path.dirname(inside), 'contents'));
  writeFileSync(path.join(inside, 'a.txt'), 'x');
  writeFileSync(path.join(inside, '.gitignore'), 'a.txt\n');
  truncateSync(path.join(inside, '.gitignore'), 2 ** 30);
  const before = process.resourceUsage().maxRSS;
  const scan = await scanFolders({ root: inside, others: [] }, store, emptyScan({ root: inside, others: [] }), usualLimits);
  assert.ok(process.resourceUsage().maxRSS - before < 300 * 1024, 'all of it was read');
  assert.ok(scan.files.has('a.txt'));
});
