import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import { FileLock, isHeld } from '../../src/live/journal/lock.ts';
import type { Profile } from '../../src/live/profiles.ts';
import { ContentStore } from '../../src/live/review/contentStore.ts';
import { writeReal } from '../../src/transport/realFiles.ts';
import { holdFiles } from '../fakes/heldFiles.ts';
import { fresh, head, record, turnEvents, wholeTurns } from './journalTurns.ts';
import { windowOn } from './scriptedWindow.ts';

/** Another program has these files open, as a virus scanner of Windows has: they can be written, not removed or replaced. */
function hold(t: TestContext, isHeldFile: (file: string) => boolean): { free(): void; tries: number } {
  const { renameSync, rmSync } = fs;
  const { rm, rename } = promises;
  return holdFiles(t, isHeldFile, (refuse) => [
    t.mock.method(fs, 'rmSync', (file: fs.PathLike, options?: fs.RmOptions) => {
      refuse(file);
      rmSync(file, options);
    }),
    t.mock.method(fs, 'renameSync', (from: fs.PathLike, to: fs.PathLike) => {
      refuse(from);
      refuse(to);
      renameSync(from, to);
    }),
    t.mock.method(promises, 'rm', async (file: fs.PathLike, options?: fs.RmOptions) => {
      refuse(file);
      await rm(file, options);
    }),
    t.mock.method(promises, 'rename', async (from: fs.PathLike, to: fs.PathLike) => {
      refuse(from);
      refuse(to);
      await rename(from, to);
    }),
  ]);
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'held-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('a scanner that holds the new file of a compaction costs only the compaction', async (t) => {
  const folder = folderOf(t);
  const journal = new Journal(folder, silentLog);
  const writer = journal.create(head('s'));
  const session = record(writer, fresh('s'), turnEvents(1));
  const held = hold(t, (file) => file.endsWith('.journal.new'));
  await writer.compact(true);
  assert.ok(held.tries > 0);
  held.free();
  record(writer, session, turnEvents(2));
  await writer.compact(true);
  writer.dispose();
  assert.deepEqual(wholeTurns((await journal.read('s'))?.session), ['t1', 't2']);
  assert.deepEqual(readdirSync(folder), ['s.journal']);
});

test('a lock is taken by one only where the file system has no links, too', (t) => {
  const refuses = t.mock.method(fs, 'linkSync', () => {
    throw Object.assign(new Error('no links'), { code: 'EPERM' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    refuses.mock.restore();
    syncBuiltinESMExports();
  });
  const folder = folderOf(t);
  const file = path.join(folder, 's.lock');
  const first = FileLock.take(file);
  assert.ok(first instanceof FileLock);
  assert.ok(!(FileLock.take(file) instanceof FileLock));
  assert.deepEqual(readdirSync(folder), ['s.lock']);
  first.dispose();
  assert.deepEqual(readdirSync(folder), []);
});

test('a lock that cannot be removed is free for this process, and its file goes once it can', async (t) => {
  const file = path.join(folderOf(t), 's.lock');
  const first = FileLock.take(file);
  assert.ok(first instanceof FileLock);
  const held = hold(t, (one) => one === file);
  first.dispose();
  assert.equal(isHeld(file), false);
  const second = FileLock.take(file);
  assert.ok(second instanceof FileLock, 'taken again while it is held');
  assert.ok(isHeld(file));
  assert.ok(!(FileLock.take(file) instanceof FileLock), 'only once');
  second.dispose();
  held.free();
  await until(() => !existsSync(file));
});

test('a lock that nobody may read for a moment is not lost', (t) => {
  const file = path.join(folderOf(t), 's.lock');
  const lock = FileLock.take(file);
  assert.ok(lock instanceof FileLock);
  const { readFileSync } = fs;
  const read = t.mock.method(fs, 'readFileSync', (...args: Parameters<typeof readFileSync>) => {
    if (args[0] === file) throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
    return readFileSync(...args);
  });
  syncBuiltinESMExports();
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 20_000 });
  const isStillHeld = lock.held;
  read.mock.restore();
  syncBuiltinESMExports();
  assert.ok(isStillHeld);
  assert.ok(lock.held);
  lock.dispose();
  assert.ok(!existsSync(file));
});

const profile: Profile = { id: 'fake', name: 'Fake', protocol: 'scripted', command: 'fake', args: [], env: {}, headers: {} };

async function threeSessions(folder: string) {
  const { script, sessions } = windowOn(folder, () => profile);
  const ids = [1, 2, 3].map(() => sessions.open(profile, folder));
  await new Promise((resolve) => setImmediate(resolve));
  for (const one of script.conversations) one.ready();
  for (const id of ids) sessions.get(id)?.send({ type: 'prompt', turnId: `t-${id}`, content: [{ type: 'text', text: 'hi' }] });
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.lock')).length, 3);
  return { script, sessions, ids };
}

test('agents end though the locks of their conversations are held', async (t) => {
  const { script, sessions, ids } = await threeSessions(folderOf(t));
  const held = hold(t, (file) => file.endsWith('.lock'));
  await sessions.close(ids[0] ?? '');
  sessions.dispose();
  await sessions.agentsEnded();
  assert.ok(held.tries >= 3);
  assert.deepEqual(
    script.conversations.map((one) => one.disposed),
    [1, 1, 1],
  );
});

test('a session that fails to end keeps no other one from ending', async (t) => {
  const { script, sessions, ids } = await threeSessions(folderOf(t));
  for (const id of ids.slice(0, 2)) {
    const session = sessions.get(id);
    const dispose = session?.dispose.bind(session);
    if (session)
      t.mock.method(session, 'dispose', () => {
        dispose?.();
        throw new Error('EIO');
      });
  }
  await sessions.close(ids[0] ?? '');
  sessions.dispose();
  assert.deepEqual(
    script.conversations.map((one) => one.disposed),
    [1, 1, 1],
  );
});

/** A journal that holds a conversation of one turn, `s`. */
function oneTurnIn(folder: string): Journal {
  const journal = new Journal(folder, silentLog);
  const writer = journal.create(head('s'));
  record(writer, fresh('s'), turnEvents(1));
  writer.dispose();
  return journal;
}

test('deleting a held conversation says why it cannot, and waits for the holder on Windows', async (t) => {
  const folder = folderOf(t);
  const journal = oneTurnIn(folder);
  const file = path.join(folder, 's.journal');
  let left = Number.POSITIVE_INFINITY;
  hold(t, (one) => one === file && left-- > 0);
  await assert.rejects(journal.remove('s'), {
    message: `${file} is open in another program, or protected (EBUSY). Close it there or allow writing, then try again.`,
  });
  const { platform } = process;
  t.after(() => Object.defineProperty(process, 'platform', { value: platform }));
  Object.defineProperty(process, 'platform', { value: 'win32' });
  left = 2;
  await journal.remove('s');
  assert.deepEqual(readdirSync(folder), []);
});

test('a conversation of which the old file is held is not replaced by that one when it is deleted', async (t) => {
  const folder = folderOf(t);
  const journal = oneTurnIn(folder);
  writeFileSync(path.join(folder, 's.jsonl'), 'old\n');
  hold(t, (one) => one.endsWith('s.jsonl'));
  await assert.rejects(journal.remove('s'), /is open in another program/);
  assert.deepEqual(wholeTurns((await journal.read('s'))?.session), ['t1']);
});

test('old conversations that are held stay, and the others are pruned all the same', async (t) => {
  const folder = folderOf(t);
  const journal = new Journal(folder, silentLog);
  for (const id of ['a', 'b', 'c']) {
    const writer = journal.create(head(id));
    record(writer, fresh(id), turnEvents(1));
    writer.dispose();
  }
  hold(t, (file) => file.endsWith('a.journal'));
  await journal.prune({ sessions: 0, bytes: 0 }, new Set(), Date.now() + 1e9);
  assert.deepEqual(readdirSync(folder), ['a.journal']);
});

test('the list of open sessions is stored once its file is free, and leaves nothing beside it', async (t) => {
  const folder = folderOf(t);
  const journal = new Journal(folder, silentLog);
  journal.writeOpen('w', { ids: ['a'] });
  const waits = t.mock.method(Atomics, 'wait');
  const held = hold(t, (file) => file.endsWith('.open.json'));
  journal.writeOpen('w', { ids: ['a', 'b'] });
  journal.writeOpen('w', { ids: ['a', 'c'] });
  assert.equal(waits.mock.callCount(), 0, 'nobody waits for it');
  assert.deepEqual(readdirSync(folder), ['w.open.json']);
  held.free();
  await until(() => journal.readOpen('w').ids.includes('c'));
  assert.deepEqual(journal.readOpen('w').ids, ['a', 'c']);
  assert.deepEqual(readdirSync(folder), ['w.open.json']);
});

test('contents that are held stay and are counted', async (t) => {
  const store = new ContentStore(folderOf(t));
  const [one, other] = [await store.put(Buffer.from('one')), await store.put(Buffer.from('other'))];
  hold(t, (file) => file.endsWith(one.slice(2)));
  assert.ok((await store.collect(new Set(), Date.now() + 1e9)) > 0);
  assert.deepEqual([(await store.get(one))?.toString(), await store.get(other)], ['one', undefined]);
});

test('a write whose temporary file is held, too, says what file could not be written', async (t) => {
  const file = path.join(folderOf(t), 'a.txt');
  writeFileSync(file, 'old');
  hold(t, (one) => one.endsWith('.tmp') || one.endsWith('a.txt'));
  await assert.rejects(writeReal(file, 'new'), {
    message: /a\.txt is open in another program, or protected \(EBUSY\)\. Close it there or allow writing, then try again\.$/,
  });
});

/** Under Wine, tests may leave folders behind. */
test('the stand-in for Windows forgives a held file only where a test removes its own temporary folder', (t) => {
  const fault = path.join(folderOf(t), 'fault.cjs');
  writeFileSync(fault, `require('node:fs').rmSync = (file) => { throw Object.assign(new Error('EBUSY ' + file), { code: 'EBUSY' }); };`);
  const run = `
    const fs = require('node:fs'), path = require('node:path');
    const folder = fs.mkdtempSync(path.join(require('node:os').tmpdir(), 'held-'));
    fs.rmSync(folder, { recursive: true });
    for (const [file, options] of [[path.join(folder, 'x.lock'), { force: true }], [path.join(folder, 'sub'), { recursive: true }], [folder]])
      try { fs.rmSync(file, options); console.log('forgiven', file); } catch {}
    fs.rmdirSync(folder);
    console.log('done');`;
  const shim = path.resolve('test/windows/shim.cjs');
  assert.equal(spawnSync(process.execPath, ['--require', fault, '--require', shim, '-e', run], { encoding: 'utf8' }).stdout, 'done\n');
});
