import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startServer, watched } from '../../../src/protocols/a2a/server.ts';
import { isAlive } from '../../fakes/processes.ts';

const posix = { skip: process.platform === 'win32' };
const quiet = { trace: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** A server that never reads its input, and the script around it that does not become it. */
const SERVER =
  "console.log('SERVER ' + process.pid); console.log('Agent Server started on http://localhost:1'); setInterval(() => {}, 1000);";
const WRAPPER = `#!/bin/sh
echo "WRAPPER $$"
'${process.execPath}' -e "$1"
`;

function wrapper(t: { after(run: () => void): void }): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-wrapper-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'agent');
  writeFileSync(file, WRAPPER, { mode: 0o755 });
  return file;
}
const pidsIn = (text: string) => [...text.matchAll(/(?:SERVER|WRAPPER) (\d+)/g)].map((one) => Number(one[1]));
async function gone(pids: readonly number[]): Promise<void> {
  const until = Date.now() + 15_000;
  while (pids.some(isAlive)) {
    assert.ok(Date.now() < until, `still there: ${pids.filter(isAlive)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a wrapped server does not outlive an editor that was killed', posix, async (t) => {
  const { command, args } = watched(wrapper(t), [SERVER]);
  // As the extension host starts it: pipes, and a group of its own.
  const editor = `const c = require('child_process').spawn(${JSON.stringify(command)}, ${JSON.stringify(args)}, { detached: true, stdio: 'pipe' });
    c.stdout.pipe(process.stdout); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['-e', editor], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  t.after(() => {
    for (const pid of pidsIn(said)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (/Agent Server started/.test(said)) break;
  }
  const pids = pidsIn(said);
  assert.equal(pids.length, 2);
  assert.ok(pids.every(isAlive));
  child.kill('SIGKILL');
  await gone(pids);
});

test(
  'a wrapped server is started with its arguments, ends with its conversation, and its own end is told with its code',
  posix,
  async (t) => {
    const file = wrapper(t);
    const launch = { kind: 'process', command: file, env: {}, cwd: path.dirname(file) } as const;
    const server = await startServer({ ...launch, args: [SERVER] }, quiet);
    assert.equal(await server.address, 'http://127.0.0.1:1');
    assert.equal(server.onLoopback, false);
    const pids = pidsIn(server.tail());
    assert.equal(pids.length, 2);
    server.dispose();
    await server.ended;
    await gone(pids);
    const ending = await startServer({ ...launch, args: ['process.exitCode = 7'] }, quiet);
    const { reason, code } = await ending.ended;
    assert.deepEqual([reason, code], [`"${file} process.exitCode = 7" stopped unexpectedly.`, 7]);
  },
);
