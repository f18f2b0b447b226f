import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FileLock, LOCK_HOST } from '../../src/live/journal/lock.ts';
import { fresh, head, inFolder, record, turnEvents, wholeTurns } from '../live/journalTurns.ts';

/** The room of the journal: who may write a conversation, and who may remove it. */

const program = fileURLToPath(new URL('../fakes/journalWriter.mjs', import.meta.url));
const CALLS = ['existsSync', 'linkSync', 'openSync', 'readFileSync', 'renameSync', 'rmSync', 'statSync', 'writeFileSync'] as const;

/** Calls of the file system, each of which may be preceded by what another process does. */
function interrupted(before: (call: number) => void): { readonly calls: () => number; end(): void } {
  const originals = CALLS.map((name) => [name, fs[name]] as const);
  let calls = 0;
  let isOther = false;
  for (const [name, original] of originals) {
    Object.assign(fs, {
      [name]: (...args: readonly unknown[]) => {
        if (!isOther) {
          isOther = true;
          try {
            before(calls++);
          } finally {
            isOther = false;
          }
        }
        return Reflect.apply(original, fs, args);
      },
    });
  }
  syncBuiltinESMExports();
  return {
    calls: () => calls,
    end: () => {
      for (const [name, original] of originals) Object.assign(fs, { [name]: original });
      syncBuiltinESMExports();
    },
  };
}

/** One process takes the lock of a dead one; others do so before its calls of these numbers. Returns who got it, and how many calls it took. */
function takenBy(others: readonly number[]): { readonly locks: readonly FileLock[]; readonly calls: number } {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-lock-'));
  const file = path.join(folder, 's.lock');
  writeFileSync(file, JSON.stringify({ pid: process.pid, host: LOCK_HOST, token: 'dead' }));
  utimesSync(file, new Date(0), new Date(0));
  const locks: FileLock[] = [];
  const take = () => {
    const got = FileLock.take(file);
    if (got instanceof FileLock) locks.push(got);
  };
  const run = interrupted((call) => {
    for (const at of others) if (at === call) take();
  });
  try {
    take();
  } finally {
    run.end();
    for (const lock of locks) lock.dispose();
  }
  assert.deepEqual(readdirSync(folder), [], `left behind: ${others}`);
  rmSync(folder, { recursive: true });
  return { locks, calls: run.calls() };
}

test('of three processes that take over a lock, one does, however their steps interleave', () => {
  const { calls } = takenBy([]);
  assert.ok(calls > 5);
  for (let second = 0; second < 2 * calls; second += 1) {
    for (let third = second; third < 2 * calls; third += 1) {
      assert.equal(takenBy([second, third]).locks.length, 1, `before its calls ${second} and ${third}`);
    }
  }
});

test(
  'a process of another container on this computer, which cannot be seen, keeps its lock while it is heard of',
  inFolder(async (folder) => {
    const lock = path.join(folder, 's.journal.lock');
    const owner = { pid: 999_999_999, host: `${hostname()} pid:[1]`, token: 'of a container' };
    writeFileSync(lock, JSON.stringify(owner));
    const found = FileLock.take(lock);
    assert.ok(!(found instanceof FileLock));
    assert.equal(found.pid, owner.pid);
  }),
);

test(
  'a conversation that another process has open is not removed, and the user is told why',
  inFolder(async (folder, journal) => {
    const writer = journal.create(head('s'));
    record(writer, fresh('s'), turnEvents(1));
    writer.dispose();
    const other = spawn(process.execPath, [program, folder, 'once', 's'], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    await assert.rejects(journal.remove('s'), /open in another window/);
    assert.deepEqual(wholeTurns((await journal.read('s'))?.session), ['t1']);
    other.stdin.end();
    await once(other, 'close');
    await journal.remove('s');
    assert.deepEqual(readdirSync(folder), []);
  }),
);
