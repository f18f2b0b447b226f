import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { checkAgent, noPorts } from '../../src/live/checkAgent.ts';
import { scriptedProtocol } from './scriptedProtocol.ts';

/** A check of a scripted agent that has been started. */
async function checked() {
  const { protocol, last } = scriptedProtocol();
  const launch = async () => ({ kind: 'process', command: 'x', args: [], env: {}, cwd: '/w' }) as const;
  let ids = 0;
  const check = checkAgent({ id: 'x', name: 'X', protocol: 'scripted', args: [], env: {}, headers: {} }, '/w', {
    protocol,
    launch,
    ports: noPorts,
    client: { name: 'test', version: '1' },
    log: silentLog,
    now: () => 1,
    newId: () => `id${++ids}`,
  });
  await new Promise((resolve) => setImmediate(resolve));
  return { check, agent: last() };
}

test('an agent that shakes hands and answers is fine, and is ended with the check', async () => {
  const { check, agent } = await checked();
  agent.ready();
  assert.equal((await check.connection).ok, true);
  const [prompt] = agent.prompts();
  agent.say({ type: 'text.delta', turnId: prompt?.turnId ?? '', kind: 'text', partId: 'p', text: 'OK' });
  assert.equal((await check.model).ok, true);
  check.end();
  assert.equal(agent.disposed, 1);
});

test('an agent that ends before it is ready says why, of its connection and of its model', async () => {
  const { check, agent } = await checked();
  agent.say({ type: 'link.closed', reason: 'no such option', next: ['showLog'], at: 1 });
  const expected = { ok: false, reason: 'no such option', next: ['showLog'] };
  assert.deepEqual([await check.connection, await check.model], [expected, expected]);
  check.end();
});

test('a model that fails has its own reason and cure', async () => {
  const { check, agent } = await checked();
  agent.ready();
  await check.connection;
  const [prompt] = agent.prompts();
  const error = { message: 'Not logged in', next: ['signIn'] } as const;
  agent.say({ type: 'turn.ended', turnId: prompt?.turnId ?? '', at: 2, status: 'failed', error });
  assert.deepEqual(await check.model, { ok: false, reason: 'Not logged in', next: ['signIn'] });
  check.end();
});
