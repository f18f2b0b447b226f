import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeftBehind, leftBehind, type RunningProcess, readList, StartedProcesses } from '../../src/transport/leftBehind.ts';

const entry = (pid: number, parent: number, began: number, kind: RunningProcess['kind'] = 'plain'): RunningProcess => ({
  pid,
  parent,
  began,
  kind,
});
/** The shell with the number 100 ran from 1000 to 2000. */
const shell = { pid: 100, from: 1000, to: 2000 };
const consoleOfShell = entry(101, 100, 1001, 'consoleHost');

test('what a command of Windows left running is found by the number of its shell and the time the shell lived in', () => {
  const found = (...running: RunningProcess[]) => leftBehind([shell], running);
  // A server in the shell's console, and what it has started since.
  assert.deepEqual(found(consoleOfShell, entry(7, 100, 1500), entry(8, 7, 9000), entry(9, 8, 9001)), [7, 8, 9]);
  // The number belonged to another process before and after.
  assert.deepEqual(found(consoleOfShell, entry(7, 100, 900), entry(8, 100, 2500)), []);
  assert.deepEqual(found(consoleOfShell, entry(7, 100, 1500), entry(8, 7, 1400)), [7]);
  // Other processes, and a chain that closes.
  assert.deepEqual(found(consoleOfShell, entry(7, 1, 1500), entry(8, 7, 1600)), []);
  assert.deepEqual(found(consoleOfShell, entry(7, 100, 1500), entry(100, 7, 2500), entry(8, 100, 2600)), [7, 100, 8]);
  assert.deepEqual(leftBehind([], [consoleOfShell, entry(7, 100, 1500)]), []);
  assert.deepEqual(found(consoleOfShell, entry(process.pid, 100, 1500)), []);
});

test('what detached itself stays, as from a process group, and so does what the user sees', () => {
  const found = (...running: RunningProcess[]) => leftBehind([shell], running);
  // In no console: a daemon.
  assert.deepEqual(found(entry(7, 100, 1500), entry(8, 7, 1600)), []);
  // In a console of its own that nobody sees.
  assert.deepEqual(found(entry(7, 100, 1500), entry(70, 7, 1501, 'consoleHost')), [7]);
  // A browser and its processes.
  assert.deepEqual(found(consoleOfShell, entry(7, 100, 1500, 'window'), entry(8, 7, 1600)), []);
  // The console of another process that had the number.
  assert.deepEqual(found(entry(101, 100, 2500, 'consoleHost'), entry(7, 100, 1500)), []);
});

test('the list of processes is read line by line, and anything else in it is passed over', () => {
  const text =
    '4 0 1000 p\r\n7 100 1767225600123 w\r\n8 7 1767225600124 c\nGet-CimInstance : Access denied\n9 8 x p\n-1 2 3 p\n1 2 3 p p\n';
  assert.deepEqual(readList(text), [
    entry(4, 0, 1000),
    entry(7, 100, 1_767_225_600_123, 'window'),
    entry(8, 7, 1_767_225_600_124, 'consoleHost'),
  ]);
  assert.deepEqual(readList(''), []);
});

test('a process that exited is known by the time it lived in, until it is asked about', () => {
  const lives = new StartedProcesses();
  lives.started(100, 1020);
  lives.started(200, 1020);
  lives.exited(100, 2000);
  lives.exited(300, 2000);
  assert.deepEqual(lives.take(new Set([200, 300])), []);
  assert.deepEqual(lives.take(), [shell]);
  assert.deepEqual(lives.take(), []);
  for (let pid = 1; pid <= 2000; pid += 1) {
    lives.started(pid);
    lives.exited(pid);
  }
  assert.equal(lives.take().length, 500);
});

test('only what the named process left is ended, with one list for those that are named meanwhile', async () => {
  const ended: number[] = [];
  let lists = 0;
  const running = [100, 200, 300].flatMap((pid) => [entry(pid + 1, pid, 1500, 'consoleHost'), entry(pid + 2, pid, 1500)]);
  const list = () => {
    lists += 1;
    return running;
  };
  const end = (pid: number) => {
    ended.push(pid);
    if (pid === 102) throw new Error('ESRCH');
  };
  const left = new LeftBehind({ list: async () => list(), listNow: list, end });
  for (const pid of [100, 200, 300]) {
    left.lives.started(pid, 1020);
    left.lives.exited(pid, 2000);
  }
  left.end(100);
  await left.end(200);
  assert.deepEqual([ended, lists], [[102, 202], 1]);
  await left.end(999);
  assert.equal(lists, 1);
  left.endNow();
  assert.deepEqual([ended, lists], [[102, 202, 302], 2]);
  left.endNow();
  assert.equal(lists, 2);
});
