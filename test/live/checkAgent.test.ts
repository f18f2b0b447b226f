import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { noPorts } from '../../src/live/asideRequest.ts';
import { checkAgent } from '../../src/live/checkAgent.ts';
import { scriptedProtocol } from './scriptedProtocol.ts';

/** A check of a scripted agent that has been started. */
async function checked() {
  const { protocol, last } = scriptedProtocol();
  const launch = async () => ({ kind: 'process', command: 'x', args: [], env: {}, cwd: '/w' }) as const;
  let ids = 0;
  let losePatience = (): void => {};
  const patience = () =>
    new Promise<void>((resolve) => {
      losePatience = resolve;
    });
  const warnings: string[] = [];
  const check = checkAgent({ id: 'x', name: 'X', protocol: 'scripted', args: [], env: {}, headers: {} }, '/w', {
    protocol,
    launch,
    ports: noPorts,
    client: { name: 'test', version: '1' },
    log: { ...silentLog, warn: (message) => void warnings.push(message) },
    patience,
    now: () => 1,
    newId: () => `id${++ids}`,
  });
  await new Promise((resolve) => setImmediate(resolve));
  return { check, agent: last(), warnings, losePatience: () => losePatience() };
}

test('an agent that shakes hands and answers is fine, and is ended with the check', async () => {
  const { check, agent } = await checked();
  agent.ready();
  assert.equal((await check.connection).ok, true);
  const [prompt] = agent.prompts();
  agent.say({ type: 'text.delta', turnId: prompt?.turnId ?? '', kind: 'text', partId: 'p', text: 'OK' });
  agent.say({ type: 'turn.ended', turnId: prompt?.turnId ?? '', at: 2, status: 'done' });
  assert.equal((await check.model).ok, true);
  check.end();
  assert.equal(agent.disposed, 1);
});

test('an agent that ends before it is ready says why, of its connection and of its model', async () => {
  const { check, agent, warnings } = await checked();
  agent.say({ type: 'link.closed', reason: 'no such option', detail: 'exit 41\n\nusage: x\nPlease log in\n', next: ['showLog'], at: 1 });
  const expected = { ok: false, reason: 'no such option', lastLine: 'Please log in', next: ['showLog'] };
  assert.deepEqual([await check.connection, await check.model], [expected, expected]);
  assert.deepEqual(warnings, ['X: no such option\nexit 41\n\nusage: x\nPlease log in\n']);
  check.end();
});

test('words of the program about a missing sign-in are no answer of its model', async () => {
  const { check, agent } = await checked();
  agent.ready();
  await check.connection;
  const turnId = agent.prompts()[0]?.turnId ?? '';
  agent.say({ type: 'text.delta', turnId, kind: 'text', partId: 'p', text: 'Not logged in' });
  agent.say({ type: 'turn.ended', turnId, at: 2, status: 'failed', error: { message: 'Not logged in', next: ['signIn'] } });
  assert.deepEqual(await check.model, { ok: false, reason: 'Not logged in', next: ['signIn'] });
  check.end();
});

test('a model that says nothing in its time does not answer', async () => {
  const { check, agent, losePatience } = await checked();
  agent.ready();
  await check.connection;
  losePatience();
  assert.deepEqual(await check.model, { ok: false, reason: 'The agent does not answer.', next: ['showLog'] });
  check.end();
});

test('a model that fails has its own reason and remedy', async () => {
  const { check, agent } = await checked();
  agent.ready();
  await check.connection;
  const [prompt] = agent.prompts();
  const error = { message: 'Not logged in', next: ['signIn'] } as const;
  agent.say({ type: 'turn.ended', turnId: prompt?.turnId ?? '', at: 2, status: 'failed', error });
  assert.deepEqual(await check.model, { ok: false, reason: 'Not logged in', next: ['signIn'] });
  check.end();
});
