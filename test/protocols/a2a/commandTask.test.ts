import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, type Json, over, status, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

const words = (parts: readonly Json[]): Json => ({ kind: 'message', role: 'agent', messageId: 'e', parts });
const ofCommand = (state: string, more: Json = {}): Json => ({ kind: 'task', id: 'exec-1', contextId: 'c9', status: { state }, ...more });
const message = (params: Json): Json => params.message as Json;

test('a window that goes while a command runs: the next one goes on with the command, and then with the conversation', async (t) => {
  const history = [words([text('Half ')])];
  let state = 'working';
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [{ name: 'mem', description: 'd' }] }),
      'message/stream': (_, reply) => {
        reply.record(status('working', 'TEXT_CONTENT', [text('Hello.')], { messageId: 'a' }));
        reply.record(over('input-required'));
        reply.end();
      },
      'command/execute': (_, reply) => reply.json({ execution_id: 'exec-1', status: 'STARTED', message: '' }),
      'tasks/resubscribe': (_, reply) => reply.record(ofCommand(state, { history })),
      'tasks/get': (_, reply) => reply.json(ofCommand(state, { history })),
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  await session.prompt('hi');
  session.live.send({ type: 'command', turnId: 'cmd', path: ['mem'], args: '' });
  await session.until('its words', (now) => now.turns[1]?.parts.length === 1);
  state = 'completed';
  history.push({ ...words([text('and whole.')]), messageId: 'f' });
  await session.reopen();
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  assert.deepEqual(now.turns.map(textOf), ['Hello.', 'Half and whole.']);
  await session.prompt('next');
  assert.equal(message(agent.requests('message/stream')[1]?.params ?? {}).taskId, 't1');
  assert.equal(agent.requests('command/execute').length, 1);
});

test('a server that answers commands with JSON only, or with a stream only, finds what it can send among what is accepted', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [{ name: 'mem', description: 'd' }] }),
      'command/execute': (_, reply) => reply.json({ status: 1, message: 'Kept.' }),
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  session.live.send({ type: 'command', turnId: 'cmd', path: ['mem'], args: '' });
  await session.until('the end', ({ turns }) => turns[0]?.status === 'done');
  const accept = agent.requests('command/execute')[0]?.headers.accept ?? '';
  for (const type of ['application/json', 'text/event-stream']) assert.ok(accept.includes(type), accept);
});
