import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { type ChildTerminal, childTerminals } from '../../src/live/childTerminals.ts';

/** A program that got away with the pipes: it goes on until its file is there or it is ended. */
const DAEMON = `const DETACHED = process.argv[1] !== 'same';
const { spawn } = require('node:child_process');
const left = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { detached: DETACHED, stdio: ['ignore', 'inherit', 'inherit'] });
process.stdout.write(left.pid + ' started\\n');`;

async function started(script: string, ...args: readonly string[]): Promise<{ terminal: ChildTerminal; ended: () => boolean }> {
  const terminals = childTerminals({ cwd: tmpdir(), onCreate: (one) => made.push(one) });
  const made: ChildTerminal[] = [];
  await terminals.create({ command: process.execPath, args: ['-e', script, ...args] });
  const [terminal] = made;
  assert.ok(terminal);
  let ended = false;
  terminal.onOutput((text) => {
    ended ||= text === undefined;
  });
  return { terminal, ended: () => ended };
}

function endLeft(terminal: ChildTerminal): void {
  const pid = Number.parseInt(terminal.output().text, 10);
  assert.ok(pid > 0);
  process.kill(pid, 'SIGKILL');
}

test('a command has ended when it has exited, though something it left behind holds its pipes', async () => {
  const { terminal, ended } = await started(`${DAEMON}\nleft.unref();`);
  try {
    assert.deepEqual(await terminal.exited(), { code: 0, signal: null });
    assert.match(terminal.output().text, /started\n$/);
    assert.deepEqual(terminal.output().exit, { code: 0, signal: null });
    assert.equal(ended(), true);
  } finally {
    endLeft(terminal);
  }
});

test('a killed command has ended, though something it left behind holds its pipes', async () => {
  const { terminal } = await started(`${DAEMON}\nsetTimeout(() => {}, 600_000);`);
  await new Promise<void>((resolve) => {
    const look = () => terminal.output().text.includes('started') && resolve();
    terminal.onOutput(look);
    look();
  });
  terminal.kill();
  try {
    assert.deepEqual(await terminal.exited(), { code: null, signal: 'SIGTERM' });
    assert.deepEqual(terminal.output().exit, { code: null, signal: 'SIGTERM' });
  } finally {
    endLeft(terminal);
  }
});

test('all that a command printed before it ended is there, however much', async () => {
  const { terminal } = await started("process.stdout.write('x'.repeat(3_000_000) + 'end')");
  await terminal.exited();
  assert.match(terminal.output().text, /xend$/);
});

test('a command line of the shell of the system prints every letter, whatever the code page of the country', async () => {
  const made: ChildTerminal[] = [];
  const terminals = childTerminals({ cwd: tmpdir(), onCreate: (one) => made.push(one) });
  await terminals.create({ command: 'echo üß中文é' });
  assert.deepEqual(await made[0]?.exited(), { code: 0, signal: null });
  assert.equal(made[0]?.output().text.trimEnd(), 'üß中文é');
  await terminals.create({ command: 'exit 3' });
  assert.deepEqual(await made[1]?.exited(), { code: 3, signal: null });
});

test('what a command left in its group ends when its terminal is given back', { skip: process.platform === 'win32' }, async () => {
  const { terminal } = await started(`${DAEMON}\nleft.unref();`, 'same');
  await terminal.exited();
  const pid = Number.parseInt(terminal.output().text, 10);
  assert.ok(process.kill(pid, 0));
  terminal.release();
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});
