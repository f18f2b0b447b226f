import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { callsOf } from '../../../src/session/select.ts';
import { isAlive } from '../../fakes/processes.ts';
import { option, type TalkOptions, talk } from '../../protocols/a2a/talk.ts';

/** parley-agent as the extension starts it: a process of its own that serves A2A, with the offline guide as its model. */
function started(t: TestContext, more: TalkOptions = {}) {
  const args = ['--enable-source-maps', path.resolve('dist/parley-agent.js'), '--protocol', 'a2a'];
  return talk(t, '', { start: { command: process.execPath, args }, ...more });
}

test('an agent that is started here finds the editor’s tools by MCP, and calls open_in_ide', async (t) => {
  const opened: unknown[] = [];
  const openInIde: Tool = {
    name: 'open_in_ide',
    description: 'Open a file',
    parameters: { type: 'object', properties: { path: { type: 'string' }, line: { type: 'integer' } }, required: ['path'] },
    run: async (input) => {
      opened.push(input);
      return { ok: true, text: 'Opened.' };
    },
  };
  const session = started(t, { tools: [openInIde] });
  writeFileSync(path.join(session.cwd, 'a.txt'), 'one\ntwo\nthree\n');
  assert.equal((await session.opened()).link.state, 'ready');
  const turn = await session.prompt('open a.txt at line 2');
  assert.equal(turn.status, 'done', JSON.stringify(turn));
  assert.deepEqual(opened, [{ path: 'a.txt', line: 2 }]);
  assert.deepEqual(
    callsOf(turn)
      .map((call) => [call.name, call.status])
      .at(-1),
    ['open_in_ide', 'done'],
  );
});

test('a tool of the editor that asks first waits for the user, who may say no', async (t) => {
  let ran = 0;
  const careful: Tool = {
    name: 'open_in_ide',
    description: 'Open a file',
    parameters: { type: 'object', properties: { path: { type: 'string' }, line: { type: 'integer' } }, required: ['path'] },
    confirm: () => ({ title: 'Open a file', kind: 'other', detail: { type: 'text', text: 'a.txt' } }),
    run: async () => {
      ran += 1;
      return { ok: true, text: 'Opened.' };
    },
  };
  const session = started(t, { tools: [careful] });
  writeFileSync(path.join(session.cwd, 'a.txt'), 'one\ntwo\n');
  const turnId = session.begin('open a.txt at line 2');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'reject_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, ran], ['done', 0]);
});

test('leaving the session ends the agent’s process and what it started', async (t) => {
  const session = started(t);
  await session.opened();
  const turnId = session.begin('run: sleep 300 & echo $$ $! > pids; wait');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const pids = await new Promise<readonly number[]>((resolve) => {
    const look = setInterval(() => {
      try {
        const found = readFileSync(path.join(session.cwd, 'pids'), 'utf8').match(/\d+/g)?.map(Number) ?? [];
        if (found.length < 2) return;
        clearInterval(look);
        resolve(found);
      } catch {
        // Not yet.
      }
    }, 20);
    t.after(() => clearInterval(look));
  });
  assert.equal(session.now().turns.find((turn) => turn.id === turnId)?.status, 'running');
  session.live.dispose();
  await session.live.ended;
  // Fails by the limit of the runner when one stays.
  for (const pid of pids) while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('an agent whose editor is killed ends itself', { skip: process.platform === 'win32' }, async (t) => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-orphan-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const tells = `data:text/javascript,import fs from 'node:fs';fs.writeFileSync(${JSON.stringify(path.join(cwd, 'pid'))},String(process.pid))`;
  const agent = ['--import', tells, path.resolve('dist/parley-agent.js'), '--protocol', 'a2a'].flatMap((arg) => ['--arg', arg]);
  const host = spawn(
    process.execPath,
    [
      path.resolve('dist/headless.js'),
      '--protocol',
      'a2a',
      '--cwd',
      cwd,
      '--command',
      process.execPath,
      ...agent,
      '--prompt',
      'run sleep 300',
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  t.after(() => host.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    let said = '';
    host.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('link.ready')) resolve();
    });
    host.once('exit', () => reject(new Error(`It ended: ${said}`)));
  });
  const pid = Number(readFileSync(path.join(cwd, 'pid'), 'utf8'));
  assert.equal(isAlive(pid), true);
  host.kill('SIGKILL');
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
});
