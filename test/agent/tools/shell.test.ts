import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BoundedOutput } from '../../../src/agent/tools/boundedOutput.ts';

import { shellTool } from '../../../src/agent/tools/shell.ts';
import { Rejected } from '../../../src/agent/tools/tool.ts';
import { endOwnedGroups } from '../../../src/transport/ownedGroups.ts';
import { temporaryFolder } from '../agentProcess.ts';
import { reject, sceneIn } from '../toolScene.ts';

/** Resolves when no process of that id is left. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const GRANDCHILD = "sh -c 'echo $$ > pid; exec sleep 600' & wait";

test('a command runs in the folder and its output and exit code come back', async (t) => {
  const cwd = temporaryFolder(t);
  const scene = sceneIn(cwd);
  const done = await shellTool.run({ command: 'pwd; echo 你好; echo err >&2' }, scene);
  assert.equal(done.isError, false);
  assert.deepEqual(done.text.split('\n').filter(Boolean).sort(), [scene.workspace.cwd, 'err', '你好'].sort());
  assert.equal(scene.printed.join(''), done.text);
  assert.deepEqual(scene.asked[0]?.shown, [{ type: 'command', command: 'pwd; echo 你好; echo err >&2' }]);
  const failed = await shellTool.run({ command: 'echo no; exit 3' }, scene);
  assert.deepEqual([failed.isError, failed.message, failed.text], [true, 'Exit code 3.', 'no\n']);
});

test('a rejected command does not run', async (t) => {
  const cwd = temporaryFolder(t);
  await assert.rejects(shellTool.run({ command: 'touch made' }, sceneIn(cwd, { answer: reject })), Rejected);
  assert.equal(existsSync(path.join(cwd, 'made')), false);
});

test('the key of the model service is not in the environment of commands', async (t) => {
  process.env.PARLEY_MODEL_API_KEY = 'secret';
  t.after(() => delete process.env.PARLEY_MODEL_API_KEY);
  const { text } = await shellTool.run({ command: 'env' }, sceneIn(temporaryFolder(t)));
  assert.equal(text.includes('secret'), false);
});

test('a long output keeps its beginning and its end', async (t) => {
  const { text, message } = await shellTool.run({ command: 'seq 1 100000' }, sceneIn(temporaryFolder(t)));
  assert.ok(text.length < 31_000);
  assert.ok(text.startsWith('1\n2\n'));
  assert.ok(text.endsWith('99999\n100000\n'));
  assert.match(message, /cut in the middle/);
});

test('the bound holds however the output is cut into pieces, and nothing is lost below it', () => {
  for (const size of [1, 7, 1000]) {
    const output = new BoundedOutput(10, 20);
    const whole = Array.from({ length: 100 }, (_, at) => String(at % 10)).join('');
    for (let at = 0; at < whole.length; at += size) output.push(whole.slice(at, at + size));
    assert.equal(output.text, `${whole.slice(0, 10)}\n... (70 characters left out) ...\n${whole.slice(-20)}`);
  }
  const short = new BoundedOutput(10, 20);
  short.push('x'.repeat(30));
  assert.equal(short.text, 'x'.repeat(30));
});

test('a time-out ends the command and everything it started', async (t) => {
  const cwd = temporaryFolder(t);
  const ended = await shellTool.run({ command: GRANDCHILD, timeout: 1 }, sceneIn(cwd));
  assert.match(ended.message, /Ended after 1 s/);
  await gone(Number(readFileSync(path.join(cwd, 'pid'), 'utf8')));
});

test('an abort ends the whole process group, also one that ignores SIGTERM', async (t) => {
  const cwd = temporaryFolder(t);
  const stop = new AbortController();
  const scene = { ...sceneIn(cwd, { signal: stop.signal }), output: () => stop.abort(new Error('stop')) };
  const command = `trap "" TERM; sh -c 'trap "" TERM; echo $$ > pid; echo ready; while :; do sleep 1; done' & wait`;
  await assert.rejects(shellTool.run({ command }, scene), /stop/);
  await gone(Number(readFileSync(path.join(cwd, 'pid'), 'utf8')));
});

test('what a command leaves running does not hold it up, and ends with the agent', async (t) => {
  const cwd = temporaryFolder(t);
  const done = await shellTool.run({ command: "sh -c 'echo $$ > pid; exec sleep 600' & echo started" }, sceneIn(cwd));
  assert.equal(done.isError, false);
  assert.equal(done.text, 'started\n');
  const pid = Number(readFileSync(path.join(cwd, 'pid'), 'utf8'));
  process.kill(pid, 0);
  endOwnedGroups();
  await gone(pid);
});
