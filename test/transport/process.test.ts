import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../src/base/log.ts';
import type { Channel, Closed } from '../../src/transport/channel.ts';
import { type ProcessOptions, type ProcessSpec, processChannel } from '../../src/transport/process.ts';
import { isAlive } from '../fakes/processes.ts';

const posix = process.platform !== 'win32';

function node(code: string, spec: Partial<ProcessSpec> = {}, options: Partial<ProcessOptions> = {}): Channel {
  return processChannel(
    { command: process.execPath, args: ['-e', code], env: {}, cwd: process.cwd(), ...spec },
    { log: silentLog, patience: { end: 2_000, term: 500 }, ...options },
  );
}
function closedOf(channel: Channel): Promise<Closed> {
  return new Promise((resolve) => void channel.onClosed(resolve));
}
/** The next messages, as many as asked for. */
function next(channel: Channel, count: number): Promise<string[]> {
  const got: string[] = [];
  return new Promise((resolve) => {
    const listener = channel.onMessage((line) => {
      got.push(line);
      if (got.length < count) return;
      listener.dispose();
      resolve(got);
    });
  });
}
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}
const ECHO = `process.stdin.on('data', (chunk) => process.stdout.write(chunk))`;

test('lines go out and come back in order, also far more than a pipe holds', async () => {
  const channel = node(ECHO);
  const lines = Array.from({ length: 2_000 }, (_, at) => `${at} ${'ü'.repeat(500)}`);
  const got = next(channel, lines.length);
  await Promise.all(lines.map((line) => channel.send(line)));
  assert.deepEqual(await got, lines);
  const closed = closedOf(channel);
  channel.dispose();
  channel.dispose();
  assert.equal((await closed).code, 0);
});

test('a process that ends says what was started, and beside it the exit code and the end of its stderr', async () => {
  const closed = await closedOf(node(`console.error('x'.repeat(100000)); console.error('no such flag'); process.exitCode = 2`));
  assert.equal(closed.code, 2);
  assert.match(closed.reason, / stopped unexpectedly\.$/);
  assert.ok(closed.reason.includes(process.execPath));
  assert.ok(closed.stderr.endsWith('no such flag\n'));
  assert.equal(closed.stderr.length, 64 * 1024);
});

test('what was written before the end arrives before the end', async () => {
  const channel = node(`process.stdout.write('one\\ntwo\\nhalf a li')`);
  const got: string[] = [];
  channel.onMessage((line) => got.push(line));
  await closedOf(channel);
  assert.deepEqual(got, ['one', 'two', 'half a li']);
});

test('a command that is not there, a folder that is not there, an empty name: one clear reason each', async () => {
  const missing = await closedOf(node('', { command: 'no-such-agent-anywhere' }));
  assert.equal(missing.failure, 'missing');
  assert.match(missing.reason, /“no-such-agent-anywhere” was not found/);
  const folder = await closedOf(node('', { cwd: join(tmpdir(), 'no-such-folder-anywhere') }));
  assert.equal(folder.failure, 'noFolder');
  assert.match(folder.reason, /does not exist/);
  const empty = await closedOf(node('', { command: '' }));
  assert.equal(empty.failure, 'broken');
  await assert.rejects(node('', { command: '' }).send('x'));
});

test('a file that may not be executed is named as such', { skip: !posix }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  const file = join(folder, 'agent');
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, 0o644);
  const closed = await closedOf(node('', { command: file }));
  rmSync(folder, { recursive: true });
  assert.equal(closed.failure, 'forbidden');
  assert.match(closed.reason, /may not be executed/);
});

test('writing to a process that has gone rejects and breaks nothing', async () => {
  const channel = node(`process.stdin.destroy(); setTimeout(() => {}, 300)`);
  const closed = closedOf(channel);
  const sent = await Promise.allSettled(Array.from({ length: 50 }, () => channel.send('x'.repeat(100_000))));
  await closed;
  assert.ok(sent.some((one) => one.status === 'rejected'));
  await assert.rejects(channel.send('late'));
});

test('variables meant for the editor are not passed on unless the launch sets them', async () => {
  const before = { ...process.env };
  Object.assign(process.env, { DEBUG: 'editor', NODE_OPTIONS: '--no-warnings', PARLEY_A: 'kept', PARLEY_B: 'dropped' });
  try {
    const code = `const {DEBUG,NODE_OPTIONS,PARLEY_A,PARLEY_B}=process.env; console.log(JSON.stringify({DEBUG,NODE_OPTIONS,PARLEY_A,PARLEY_B}))`;
    const [plain] = await next(node(code, { env: { PARLEY_B: undefined } }), 1);
    assert.deepEqual(JSON.parse(plain ?? ''), { PARLEY_A: 'kept' });
    const [told] = await next(node(code, { env: { DEBUG: 'agent' } }), 1);
    assert.deepEqual(JSON.parse(told ?? ''), { DEBUG: 'agent', PARLEY_A: 'kept', PARLEY_B: 'dropped' });
  } finally {
    for (const name of ['DEBUG', 'NODE_OPTIONS', 'PARLEY_A', 'PARLEY_B']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
});

test('a line beyond the limit ends the process with a clear reason', async () => {
  const channel = node(`process.stdout.write('x'.repeat(3 * 1024 * 1024)); setInterval(() => {}, 1000)`, {}, { limit: 1024 * 1024 });
  const closed = await closedOf(channel);
  assert.equal(closed.failure, 'broken');
  assert.match(closed.reason, /a line longer than 1 MB/);
});

test('an agent that ignores the end of its input and SIGTERM is killed, with what it started', { skip: !posix }, async () => {
  const child = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`;
  const code = `
    process.on('SIGTERM', () => {});
    const { pid } = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'ignore' });
    console.log(pid);
    setInterval(() => {}, 1000);`;
  const channel = node(code, {}, { patience: { end: 50, term: 50 } });
  const [pid] = await next(channel, 1);
  const closed = closedOf(channel);
  channel.dispose();
  assert.equal((await closed).signal, 'SIGKILL');
  await gone(Number(pid));
});

test('what an agent leaves behind when it ends by itself ends too, even while it holds the pipe', { skip: !posix }, async () => {
  const code = `
    const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
    console.log(pid);
    setTimeout(() => process.exit(0), 50);`;
  const channel = node(code);
  const [pid] = await next(channel, 1);
  assert.equal((await closedOf(channel)).code, 0);
  await gone(Number(pid));
});

test('what an agent runs in sessions of its own ends when the owner of the agent is killed; what has detached itself lives on', {
  skip: !posix,
}, async (t) => {
  const forever = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`;
  // A shell that leaves something behind has detached it; the others are commands.
  const code = `
    const { spawn } = require('node:child_process');
    const quiet = { detached: true, stdio: 'ignore' };
    const command = spawn('/bin/sh', ['-c', 'sleep 600; true'], quiet);
    const stubborn = spawn(process.execPath, ['-e', ${JSON.stringify(forever)}], quiet);
    const shell = spawn('/bin/sh', ['-c', 'sleep 600 >/dev/null 2>&1 & echo $!'], { detached: true });
    shell.stdout.on('data', (pid) => shell.on('close', () => console.log(JSON.stringify([process.pid, command.pid, stubborn.pid, Number(pid)]))));
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, [fileURLToPath(new URL('../fakes/groupOwner.mjs', import.meta.url)), code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => owner.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  const [agent, command, stubborn, detached] = JSON.parse(line) as [number, number, number, number];
  t.after(() => process.kill(detached, 'SIGKILL'));
  for (const pid of [agent, command, stubborn, detached]) assert.ok(isAlive(pid));
  owner.kill('SIGKILL');
  for (const pid of [agent, command, stubborn]) await gone(pid);
  assert.ok(isAlive(detached));
});

test('an agent killed from outside says by which signal', { skip: !posix }, async () => {
  const channel = node(`console.log(process.pid); setInterval(() => {}, 1000)`);
  const closed = closedOf(channel);
  const [pid] = await next(channel, 1);
  process.kill(Number(pid), 'SIGKILL');
  const how = await closed;
  assert.equal(how.signal, 'SIGKILL');
  assert.match(how.reason, / stopped unexpectedly\.$/);
});
