import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { runningHost, startHost, stopHost } from '../../src/live/hostProcess.ts';
import { isAlive } from '../fakes/processes.ts';

const SCRIPT = path.resolve('dist/parley.js');

function folder(t: TestContext): string {
  const at = mkdtempSync(path.join(tmpdir(), 'host-'));
  t.after(() => rmSync(at, { recursive: true, force: true, maxRetries: 5 }));
  return at;
}

test('a host is found by its folder until it ends, and keeps its address and token for the next', async (t) => {
  const data = folder(t);
  const agent = { id: 'a', name: 'A', protocol: 'kimi-wire', command: process.execPath, args: [], env: {}, headers: {} };
  const start = { data, script: SCRIPT, settings: { profiles: [agent], rules: [], guardedFiles: [] }, env: {} };
  assert.equal(runningHost(data), undefined);
  const host = await startHost(start);
  t.after(() => {
    const left = runningHost(data);
    if (left) process.kill(left.pid, 'SIGKILL');
  });
  assert.deepEqual(runningHost(data), host);
  stopHost(host);
  while (runningHost(data)) await new Promise((resolve) => setImmediate(resolve));
  const next = await startHost(start);
  assert.deepEqual([next.address, next.token], [host.address, host.token]);
  assert.notEqual(next.pid, host.pid);
  stopHost(next);
});

test('what a host says when it ends at once is the error', async (t) => {
  const data = folder(t);
  await assert.rejects(
    startHost({ data, script: SCRIPT, settings: { profiles: [], rules: [], guardedFiles: [] }, env: {} }),
    /names no agent/,
  );
});

test('a file that says nothing of use is no host', (t) => {
  const data = folder(t);
  for (const text of ['', '{', '{"pid":1}', '{"pid":999999999,"address":"ws://127.0.0.1:1","token":"x"}']) {
    writeFileSync(path.join(data, 'host.json'), text);
    assert.equal(runningHost(data), undefined, text);
  }
});

test('a host goes on, and says what it has to say, when the window that started it is gone', async (t) => {
  const data = folder(t);
  const agent = { id: 'a', name: 'A', protocol: 'kimi-wire', command: process.execPath, args: [], env: {}, headers: {} };
  const host = await startHost({ data, script: SCRIPT, settings: { profiles: [agent], rules: [], guardedFiles: [] }, env: {} });
  t.after(() => process.kill(host.pid, 'SIGKILL'));
  // Nobody reads from it any more.
  const socket = new WebSocket(`${host.address}/?tkn=wrong`);
  await once(socket, 'error');
  assert.match(readFileSync(path.join(data, 'host.log'), 'utf8'), /A connection was refused: the token/);
  const admitted = new WebSocket(`${host.address}/?tkn=${host.token}`);
  await once(admitted, 'open');
  admitted.close();
});

test('two windows that start a host at once have the same one', async (t) => {
  const data = folder(t);
  const agent = { id: 'a', name: 'A', protocol: 'kimi-wire', command: process.execPath, args: [], env: {}, headers: {} };
  const start = { data, script: SCRIPT, settings: { profiles: [agent], rules: [], guardedFiles: [] }, env: {} };
  const [one, other] = await Promise.all([startHost(start), startHost(start)]);
  t.after(() => process.kill(one.pid, 'SIGKILL'));
  assert.deepEqual(one, other);
});

test('a program that does not say where it listens does not stay', async (t) => {
  const data = folder(t);
  const script = path.join(data, 'other.js');
  const pid = path.join(data, 'pid');
  writeFileSync(
    script,
    `require('fs').writeFileSync(${JSON.stringify(pid)}, String(process.pid)); console.log('hello'); setInterval(() => {}, 1000);`,
  );
  await assert.rejects(startHost({ data, script, settings: { profiles: [], rules: [], guardedFiles: [] }, env: {} }));
  while (isAlive(Number(readFileSync(pid, 'utf8')))) await new Promise((resolve) => setImmediate(resolve));
});
