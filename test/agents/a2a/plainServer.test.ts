import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { a2a } from '../../../src/protocols/a2a/index.ts';
import { type Drive, drive, textOf } from '../drive.ts';
import { modernNode, peerFolder } from '../lab.ts';

const program = path.resolve('test/agents/a2a/plainServer.mjs');

async function serve(peer: string, port = 0): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(modernNode(), [program, peerFolder(peer), String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Listening on (\S+)/.exec(said)?.[1];
      if (found) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}`)));
  });
  return { child, url };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

for (const peer of ['a2a-sdk', 'a2a-sdk-1']) {
  describe(`the A2A project's own server library: ${peer}`, () => {
    let served: Awaited<ReturnType<typeof serve>>;
    let agent: Drive;
    before(async () => {
      served = await serve(peer);
      agent = drive({ protocol: a2a, launch: { kind: 'http', url: served.url, headers: {}, cwd: process.cwd() } });
      await agent.ready();
    });
    after(async () => {
      await agent.stop();
      await kill(served.child);
    });

    test('the user is told what it lacks, and can chat with it', async () => {
      assert.match(JSON.stringify(agent.now().notices), /plain A2A agent/);
      const turn = await agent.prompt('hello');
      assert.equal(turn.status, 'done', JSON.stringify(turn.error));
      assert.equal(textOf(turn), 'Heard "hello": plain words.');
    });

    test('a second prompt after a completed task is answered, too', async () => {
      assert.equal(textOf(await agent.prompt('again')), 'Heard "again": plain words.');
    });

    test('a question of the agent ends the turn, and its answer goes to the same task', async () => {
      const asked = await agent.prompt('ask me');
      assert.deepEqual([asked.status, textOf(asked)], ['done', 'Which colour?']);
      const task = agent.now().resumeKey;
      assert.equal(textOf(await agent.prompt('blue')), 'Heard "blue": plain words.');
      assert.equal(agent.now().resumeKey, task);
    });

    test('stop ends a running task', async () => {
      const turnId = agent.begin('slow');
      await agent.until('its words', (now) => now.turns.some((turn) => turn.id === turnId && textOf(turn) !== ''));
      agent.live.send({ type: 'cancel' });
      assert.equal((await agent.ended(turnId)).status, 'cancelled');
      assert.equal(textOf(await agent.prompt('hello')).endsWith('plain words.'), true);
    });

    test('a server that is killed in the middle of a task and comes back: the turn fails with words, the next prompt is answered', async () => {
      const turnId = agent.begin('slow');
      await agent.until('its words', (now) => now.turns.some((turn) => turn.id === turnId && textOf(turn) !== ''));
      const { port } = new URL(served.url);
      await kill(served.child);
      await agent.until('the news', (now) => now.turns.some((turn) => turn.id === turnId && turn.activity !== undefined));
      served = await serve(peer, Number(port));
      const turn = await agent.ended(turnId);
      assert.equal(turn.status, 'failed');
      assert.match(turn.error?.message ?? '', /new task/);
      assert.equal(textOf(await agent.prompt('hello again')).endsWith('plain words.'), true);
      assert.ok(agent.frames.some(({ way, message }) => way === 'out' && JSON.stringify(message).includes('begun with an earlier task')));
    });
  });
}
