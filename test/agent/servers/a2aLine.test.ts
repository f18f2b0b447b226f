import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ModelPiece } from '../../../src/agent/models/model.ts';
import { serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { callsOf } from '../../../src/session/select.ts';
import { option, talk, textOf } from '../../protocols/a2a/talk.ts';
import { type Line, scriptedModel } from '../scripted.ts';

// The line to the agent breaks, or dies without a word, while the agent works on.

/** An agent behind a line that can be cut, or frozen: then nothing comes through any more, and nobody is told. */
async function behindLine(t: TestContext, lines: readonly Line[]) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-line-'));
  const frontend = await serveA2a({ model: scriptedModel(lines), workspace: { cwd, roots: [cwd] }, port: 0 });
  const pairs = new Set<readonly [Socket, Socket]>();
  const asked: string[] = [];
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(frontend.url).port), '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on('data', (data) => {
      for (const [, method] of data.toString('utf8').matchAll(/"method":"([^"]+)"/g)) asked.push(method ?? '');
      far.write(data);
    });
    far.on('data', (data) => near.write(data));
    for (const [one, other] of [pair, [far, near] as const]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(async () => {
    server.close();
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
    await frontend.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  return {
    cwd,
    asked,
    frontend: frontend.url,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const [near] of pairs) near.destroy();
    },
    freeze: () => {
      for (const [near, far] of pairs) {
        near.removeAllListeners('data').pause();
        far.removeAllListeners('data').resume();
      }
    },
  };
}

/** What the model says piece by piece; the second waits until it may. */
function inTwo(first: string, second: string) {
  let goOn = () => {};
  const may = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const line = async function* (): AsyncIterable<ModelPiece> {
    yield { type: 'text', text: first };
    await may;
    yield { type: 'text', text: second };
  };
  return { line, goOn: () => goOn() };
}

const sayingOne = (wanted: string, turns: readonly Parameters<typeof textOf>[0][]) => turns.some((turn) => textOf(turn).endsWith(wanted));

for (const how of ['cut', 'freeze'] as const)
  test(`a second turn whose line is ${how === 'cut' ? 'cut' : 'frozen'}: the agent works on, and its own words are there once`, async (t) => {
    const { line, goOn } = inTwo('Two. ', 'Three.');
    const agent = await behindLine(t, ['One.', line]);
    const session = talk(t, agent.url, { options: { workspace: agent.cwd } });
    await session.opened();
    await session.prompt('hi');
    const turnId = session.begin('more');
    await session.until('the first half', ({ turns }) => sayingOne('Two. ', turns));
    agent[how]();
    if (how === 'cut') while (!agent.asked.includes('SubscribeToTask')) await new Promise((resolve) => setTimeout(resolve, 5));
    goOn();
    const turn = await session.ended(turnId);
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'Two. Three.']);
    assert.equal(agent.asked.filter((method) => method === 'SendStreamingMessage').length, 2, 'nothing was sent twice');
  });

test('a window that goes while a call waits finds the call again, and what is allowed then runs once', async (t) => {
  const agent = await behindLine(t, ['One.', { text: 'Well. ', calls: [['WriteFile', { path: 'a.txt', content: 'x\n' }]] }, 'One.']);
  const session = talk(t, agent.url, { options: { workspace: agent.cwd } });
  await session.opened();
  await session.prompt('hi');
  session.begin('write');
  const before = await session.approval();
  await session.reopen();
  const ask = await session.approval();
  assert.notEqual(ask.id, before.id);
  session.answer(ask, option(ask, 'allow_once'));
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  const turn = now.turns[1];
  assert.ok(turn);
  assert.deepEqual([now.turns.length, textOf(turn), callsOf(turn).map((call) => call.status)], [2, 'Well. One.', ['done']]);
});

test('it tells every event to the place it was given, with the token, and none once the place is taken back', async (t) => {
  const { line, goOn } = inTwo('Two. ', 'Three.');
  const agent = await behindLine(t, [line, 'Four.']);
  const told: { token: unknown; state: unknown; id: unknown }[] = [];
  let heard = () => {};
  const place = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      const { id, status } = JSON.parse(body) as { id: string; status: { state: string } };
      told.push({ token: request.headers['x-a2a-notification-token'], state: status.state, id });
      response.end();
      heard();
    });
  });
  place.listen(0, '127.0.0.1');
  await new Promise((resolve) => place.once('listening', resolve));
  t.after(() => {
    place.close();
    place.closeAllConnections();
  });
  const extension = 'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md';
  const ask = async (method: string, params: object) => {
    const headers = { 'content-type': 'application/json', 'x-a2a-extensions': extension };
    const answer = await fetch(agent.frontend, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return answer.text();
  };
  const message = (words: string, more: object = {}) => ({
    message: { kind: 'message', role: 'user', messageId: words, parts: [{ kind: 'text', text: words }], ...more },
  });
  const url = `http://127.0.0.1:${(place.address() as AddressInfo).port}/x`;
  const whole = ask('message/stream', { ...message('go'), configuration: { pushNotificationConfig: { id: 'p1', url, token: 'TOK' } } });
  goOn();
  const records = await whole;
  const taskId = /"taskId":"([^"]+)"/.exec(records)?.[1];
  while (told.at(-1)?.state !== 'completed')
    await new Promise<void>((resolve) => {
      heard = resolve;
    });
  assert.ok(told.length >= 4, 'submitted, working, words, completed');
  assert.deepEqual([...new Set(told.map((one) => `${one.token} ${one.id}`))], [`TOK ${taskId}`]);
  await ask('tasks/pushNotificationConfig/delete', { id: taskId, pushNotificationConfigId: 'p1' });
  const before = told.length;
  assert.match(await ask('message/stream', message('again', { taskId })), /Four\./);
  assert.equal(told.length, before);
});
