import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { announceHost, hostKey, otherHost, otherHosts, runningHost, startHost, stopHost } from '../../src/live/hostProcess.ts';
import { isAlive } from '../fakes/processes.ts';
import { folderOf, started } from '../serve/hostProcess.ts';

const SCRIPT = path.resolve('dist/parley.js');

/** A folder for hosts, which is the home of their user as well. */
function folder(t: TestContext): string {
  const at = folderOf(t);
  const home = { HOME: process.env.HOME, USERPROFILE: process.env.USERPROFILE };
  Object.assign(process.env, { HOME: at, USERPROFILE: at });
  t.after(() => {
    for (const [name, value] of Object.entries(home)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
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
  assert.match(readFileSync(path.join(data, 'host.log'), 'utf8'), /A connection was refused: .*token/);
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

test('a host that was started by hand is found by the programs of its user until it ends', async (t) => {
  const home = folder(t);
  const { child, address, token } = await started(t, home);
  const data = path.join(home, 'data');
  const found = { pid: child.pid, address, token, key: hostKey(data) };
  assert.deepEqual(otherHosts(path.join(home, 'own')), [found]);
  assert.deepEqual(otherHost(path.join(home, 'own'), found.key), found);
  assert.deepEqual(otherHosts(data), [], 'a host is no other host for its own window');
  const announced = path.join(home, '.parley', 'hosts');
  if (process.platform !== 'win32') {
    assert.equal(statSync(announced).mode & 0o077, 0);
    assert.equal(statSync(path.join(announced, `${found.key}.json`)).mode & 0o077, 0);
  }
  child.kill('SIGTERM');
  await once(child, 'exit');
  if (process.platform !== 'win32') assert.deepEqual(readdirSync(announced), []);
  assert.deepEqual(otherHosts(path.join(home, 'own')), []);
  assert.throws(() => otherHost(path.join(home, 'own'), found.key), /parley serve could not be reached/);
});

test('a host that listens for all is reached at the address of this computer', async (t) => {
  const home = folder(t);
  const wide = await started(t, home, '--host', '0.0.0.0');
  assert.match(wide.address, /^ws:\/\/0\.0\.0\.0:/);
  assert.match(otherHosts('own')[0]?.address ?? '', /^ws:\/\/127\.0\.0\.1:\d+$/);
});

test('what a killed host leaves is no host, and goes when the next one comes', (t) => {
  const home = folder(t);
  const hosts = path.join(home, '.parley', 'hosts');
  const gone = { pid: 999_999_999, address: 'ws://127.0.0.1:1', token: 'x' };
  const file = announceHost('killed', gone);
  const broken = path.join(hosts, `${'a'.repeat(16)}.json`);
  for (const text of ['', '{', '[]', '{"pid":1}', '{"pid":"1","address":"ws://127.0.0.1:1","token":"x"}']) {
    writeFileSync(broken, text);
    assert.deepEqual(otherHosts('own'), [], text);
  }
  mkdirSync(path.join(hosts, `${'b'.repeat(16)}.json`));
  const here = { ...gone, pid: process.pid };
  announceHost('running', here);
  assert.deepEqual(otherHosts('own'), [{ ...here, key: hostKey('running') }]);
  assert.ok(!existsSync(file));
  assert.ok(!existsSync(broken));
});

test('attack: an entry, or a folder of entries, that others may write to names no host', { skip: process.platform === 'win32' }, (t) => {
  const home = folder(t);
  const file = announceHost('running', { pid: process.pid, address: 'ws://127.0.0.1:1', token: 'x' });
  assert.equal(otherHosts('own').length, 1);
  chmodSync(file, 0o622);
  assert.deepEqual(otherHosts('own'), []);
  chmodSync(file, 0o600);
  chmodSync(path.join(home, '.parley', 'hosts'), 0o777);
  assert.deepEqual(otherHosts('own'), []);
  announceHost('other', { pid: process.pid, address: 'ws://127.0.0.1:1', token: 'x' });
  assert.equal(statSync(path.join(home, '.parley', 'hosts')).mode & 0o777, 0o700, 'the next host closes it again');
});
