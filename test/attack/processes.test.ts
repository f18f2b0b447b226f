import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../src/base/log.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { processChannel } from '../../src/transport/process.ts';
import { isAlive } from '../fakes/processes.ts';

/** The room of processes: what was started outlives the one who answers for it, or inherits what is not meant for it. */

/** Settles when the process has gone; the test's own limit ends the waiting. */
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await pause(20);
}

/** A host that has started a stubborn command, and the processes of that. */
async function ownerOf(t: TestContext, kind: string) {
  const file = fileURLToPath(new URL('../fakes/owner.mjs', import.meta.url));
  const owner = spawn(process.execPath, [file, kind], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const pids: number[] = [];
  t.after(() => {
    for (const pid of [owner.pid ?? 0, ...pids]) if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  for await (const line of createInterface({ input: owner.stdout })) {
    pids.push(Number(line));
    if (pids.length === 2) break;
  }
  assert.ok(pids.every((pid) => pid > 1 && isAlive(pid)));
  return { owner, pids };
}

const onWindows = process.platform === 'win32';

/** The shell that stands by for an owner, as soon as there is one. */
async function guardOf(owner: number): Promise<number> {
  for (;;) {
    const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
    const found = rows.map((row) => /^\s*(\d+)\s+(\d+)\s.*trap ''/.exec(row)).find((match) => Number(match?.[2]) === owner);
    if (found) return Number(found[1]);
    await pause(20);
  }
}

for (const kind of ['terminal', 'agent', 'command']) {
  test(`a host that is killed takes its ${kind} with it`, { timeout: 20_000 }, async (t) => {
    const { owner, pids } = await ownerOf(t, kind);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    for (const pid of pids) await gone(pid);
  });

  test(`a host whose whole group is killed takes its ${kind} with it`, { timeout: 20_000 }, async (t) => {
    const { owner, pids } = await ownerOf(t, kind);
    process.kill(-(owner.pid ?? 0), 'SIGHUP');
    await once(owner, 'exit');
    for (const pid of pids) await gone(pid);
  });
}

test('a command that ends the shell standing by for its host does not outlive the host', {
  timeout: 30_000,
  skip: onWindows,
}, async (t) => {
  const { owner, pids } = await ownerOf(t, 'terminal');
  for (let times = 0; times < 3; times += 1) {
    const guard = await guardOf(owner.pid ?? 0);
    process.kill(guard, 'SIGKILL');
    await gone(guard);
  }
  await guardOf(owner.pid ?? 0);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  for (const pid of pids) await gone(pid);
});

test("a command does not see Parley's own secrets", async () => {
  const secrets = {
    PARLEY_AGENT_TOKEN: 's1-secret',
    PARLEY_MCP_URL: 's2-secret',
    PARLEY_MODEL_API_KEY: 's3-secret',
    parley_agent_token: 's4-secret',
    PARLEY_HOST_TOKEN: 's5-secret',
    PARLEY_MCP_TOKEN: 's6-secret',
  };
  const before = { ...process.env };
  Object.assign(process.env, secrets);
  try {
    const terminal = await childTerminals({ cwd: '/' }).create({ command: 'env', args: [], env: { OWN: 'shown' } });
    await terminal.exited();
    const { text } = terminal.output();
    assert.match(text, /OWN=shown/);
    assert.doesNotMatch(text, /s\d-secret/);
  } finally {
    for (const name of Object.keys(secrets)) if (!(name in before)) delete process.env[name];
  }
});

test('an agent inherits neither the key to the agent host nor what changes its runtime', async () => {
  const given = { PARLEY_HOST_TOKEN: 's1-secret', NODE_OPTIONS: '--title=s3-secret', DEBUG: 's4-secret' };
  const before = { ...process.env };
  Object.assign(process.env, given);
  try {
    const spec = { command: process.execPath, args: ['-e', 'console.log(JSON.stringify(process.env))'], env: { OWN: 'shown' }, cwd: '/' };
    const agent = processChannel(spec, { log: silentLog });
    const line = await new Promise<string>((resolve) => void agent.onMessage(resolve));
    agent.dispose();
    assert.match(line, /"OWN":"shown"/);
    assert.doesNotMatch(line, /s\d-secret/);
  } finally {
    for (const name of Object.keys(given)) if (!(name in before)) delete process.env[name];
  }
});
