import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { asks, call, fakeAgent, over, type Script, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

/** Short only where nothing comes: what does come has the time that a busy machine needs. */
const SOON = { answer: 150, cancelWithin: 150 };
const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);
const commands = { 'commands/get': (_: unknown, reply: { json(result: unknown): void }) => reply.json({ commands: [] }) };

test('a second stop, before the agent’s time is over, ends the turn and begins the connection anew', async (t) => {
  const agent = await fakeAgent(t, {
    on: { ...commands, 'message/stream': (_, reply) => reply.record(says('Busy.')), 'tasks/cancel': () => {} },
  });
  const session = talk(t, agent.url, { timing: { cancelWithin: 60_000, answer: 60_000 } });
  const turnId = session.begin('go');
  await session.until('words', (now) => now.turns[0]?.parts.length === 1);
  session.live.send({ type: 'cancel' });
  await agent.until('tasks/cancel');
  // Once the turn is over, another one would stop the new start.
  const again = setInterval(() => {
    if (session.now().turns[0]?.status === 'running') session.live.send({ type: 'cancel' });
  }, 100);
  t.after(() => clearInterval(again));
  assert.equal((await session.ended(turnId)).status, 'cancelled');
  await session.until('the link', (now) => now.link.state === 'ready');
});

const silent: readonly (readonly [string, Script, RegExp | undefined])[] = [
  ['commands/get', { on: { 'commands/get': () => {} } }, undefined],
  ['commands/get, after its headers', { on: { 'commands/get': (_, reply) => reply.raw(': here\n\n') } }, undefined],
  ['/listCommands', { before: ({ url }) => url === '/listCommands', card: { capabilities: { streaming: true } } }, undefined],
  [
    'tasks/pushNotificationConfig/set',
    {
      card: { capabilities: { streaming: true, pushNotifications: true, extensions: [] } },
      on: { 'tasks/pushNotificationConfig/set': () => {} },
    },
    undefined,
  ],
  ['tasks/get', { on: { ...commands, 'tasks/get': () => {} } }, /did not answer within/],
];
for (const [what, script, told] of silent)
  test(`an agent that never answers ${what}: the link is ready all the same`, async (t) => {
    const agent = await fakeAgent(t, {
      ...script,
      on: {
        ...script.on,
        'message/stream': (_, reply) => {
          reply.record(says('Here.'));
          reply.record(over());
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url, {
      timing: SOON,
      resume: { key: told ? JSON.stringify({ taskId: 't1', contextId: 'c1' }) : '', history: false },
    });
    assert.equal((await session.opened()).link.state, 'ready');
    assert.match(session.logged.join(), told ?? /^/);
    const turn = await session.prompt('go');
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'Here.']);
    const sent = agent.requests('message/stream')[0]?.params.message as { readonly taskId?: string };
    assert.equal(sent.taskId, told ? 't1' : undefined, 'a task that could not be looked at is gone on with');
  });

test('a card that never comes is told', async (t) => {
  const agent = await fakeAgent(t, { before: () => true });
  const { link } = await talk(t, agent.url, { timing: { card: 150 } }).opened();
  assert.match(link.state === 'closed' ? link.reason : '', /did not answer within/);
});

test('a subscription that is taken and never answered is given up: the user is asked in the end, and may stop waiting', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      ...commands,
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('One. '));
        setTimeout(() => reply.cut(), 20);
      },
      'tasks/resubscribe': () => {},
    },
  });
  const session = talk(t, agent.url, { timing: { ...SOON, retries: Array.from({ length: 1000 }, () => 0), giveUp: 1500 } });
  const turnId = session.begin('go');
  const ask = await session.approval();
  assert.deepEqual([ask.title, ask.ours, ask.wordless], ['The connection was lost.', true, true]);
  assert.ok(agent.requests('tasks/resubscribe').length > 1);
  session.answer(ask, option(ask, 'reject_once'));
  assert.equal((await session.ended(turnId)).status, 'failed');
});

test('the limit is on what answers at once: a stream that is silent for longer goes on, and so does an approval', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      ...commands,
      'message/stream': (_, reply, at) => {
        const rest = at === 0 ? [call('PENDING', asks), over('input-required')] : [call('SUCCEEDED'), over()];
        setTimeout(() => {
          reply.raw(': here\n\n');
          setTimeout(() => {
            for (const one of rest) reply.record(one);
            reply.end();
          }, 300);
        }, 300);
      },
    },
  });
  const session = talk(t, agent.url, { timing: { ...SOON, verify: 60_000 } });
  const turnId = session.begin('go');
  const ask = await session.approval();
  await new Promise((resolve) => setTimeout(resolve, 300));
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, callsOf(turn)[0]?.status], ['done', 'done']);
  assert.equal(agent.requests('message/stream').length, 2);
});
