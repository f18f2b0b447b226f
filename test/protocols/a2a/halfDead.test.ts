import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { type Asked, asks, call, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const pushing = { capabilities: { streaming: true, pushNotifications: true, extensions: [] } };
const user = (words: string): Json => ({ role: 'user', messageId: 'u', parts: [text(words)] });
const said = (id: string, words: string): Json => ({ role: 'agent', messageId: id, parts: [text(words)] });
const says = (id: string, words: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId: id });
const later = (state: string): Json => task(state, { status: { state, timestamp: new Date(Date.now() + 1000).toISOString() } });

function placeIn({ params }: Asked) {
  const { configuration } = params as { configuration: { pushNotificationConfig: { url: string; token: string } } };
  const { url, token } = configuration.pushNotificationConfig;
  return (body: Json, given = token) =>
    fetch(url, { method: 'POST', headers: { 'x-a2a-notification-token': given }, body: JSON.stringify(body) }).then(({ status }) => status);
}

test('a stream that stays open and says nothing while notifications come is let go of: the task tells the rest, and the turn ends', async (t) => {
  const history: Json[] = [user('go'), said('a', 'Before. ')];
  let state = 'working';
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('a', 'Before. '));
      },
      'tasks/get': (_, reply) => reply.json({ ...later(state), history }),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  await session.until('words', (now) => now.turns[0]?.parts.length === 1);
  const notify = placeIn(agent.requests('message/stream')[0] as Asked);
  assert.equal(await notify(later('completed'), 'wrong'), 401);
  state = 'completed';
  history.push(said('b', 'Done meanwhile.'));
  assert.equal(await notify(later('completed')), 200);
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Before. Done meanwhile.']);
  assert.equal(agent.requests('tasks/get').length, 1, 'the wrong token had no effect');
});

test('a task that still works behind a dead stream is subscribed to again, and asks there', async (t) => {
  const history: Json[] = [user('go'), said('a', 'Before. ')];
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) return void [task('working'), says('a', 'Before. ')].forEach((one) => reply.record(one));
        reply.record(call('SUCCEEDED'));
        reply.record(over());
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json({ ...later('working'), history }),
      'tasks/resubscribe': (_, reply) => {
        reply.record({ ...later('working'), history });
        reply.record(says('c', 'Live. '));
        reply.record(call('PENDING', asks));
        reply.record(over('input-required'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  await session.until('words', (now) => now.turns[0]?.parts.length === 1);
  history.push(said('b', 'Behind. '));
  await placeIn(agent.requests('message/stream')[0] as Asked)(later('working'));
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), callsOf(turn).length], ['done', 'Before. Behind. Live. ', 1]);
});

test('a notification of what the stream has told, or a task that holds nothing more, leaves the stream alone', async (t) => {
  let goOn = () => {};
  const stamp = new Date(Date.now() - 5000).toISOString();
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('a', 'One. '));
        goOn = () => {
          reply.record(says('b', 'Two.'));
          reply.record(over());
          reply.end();
        };
      },
      'tasks/get': (_, reply) => reply.json({ ...later('working'), history: [user('go'), said('a', 'One. ')] }),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  await session.until('words', (now) => now.turns[0]?.parts.length === 1);
  const notify = placeIn(agent.requests('message/stream')[0] as Asked);
  await notify(task('working', { status: { state: 'working', timestamp: stamp } }));
  await notify(later('working'));
  await agent.until('tasks/get');
  goOn();
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'One. Two.']);
  assert.equal(agent.requests('tasks/resubscribe').length, 0);
  assert.equal(agent.requests('tasks/get').length, 1);
});
