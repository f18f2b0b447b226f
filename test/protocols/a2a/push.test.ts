import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPushDoor } from '../../../src/protocols/a2a/pushDoor.ts';
import { asks, call, data, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

test('the door opens to its token only, for its tasks only, and in either body', async (t) => {
  let news = 0;
  const door = await openPushDoor(
    (id) => id === 't1',
    () => {
      news += 1;
    },
  );
  t.after(() => door.dispose());
  const { token, authentication } = door.config('0.3') as { token: string; authentication: { credentials: string } };
  const post = async (headers: Record<string, string>, body: unknown, url = door.url) =>
    (await fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })).status;
  const right = { 'x-a2a-notification-token': token };
  assert.equal(await post({}, task('working')), 401);
  assert.equal(await post({ 'x-a2a-notification-token': `${token.slice(0, -1)}!` }, task('working')), 401);
  assert.equal(await post({ authorization: `Bearer ${token}` }, task('working')), 401);
  assert.equal(await post(right, task('working'), door.url.slice(0, -3)), 404);
  assert.equal((await fetch(door.url, { headers: right })).status, 405);
  assert.equal(await post(right, 'no json'), 400);
  assert.equal(await post(right, task('working', { id: 'other' })), 403);
  assert.equal(news, 0, 'nothing has happened so far');
  assert.equal(await post(right, task('working')), 200);
  assert.equal(
    await post(
      { authorization: `Bearer ${authentication.credentials}` },
      { statusUpdate: { taskId: 't1', status: { state: 'TASK_STATE_WORKING' } } },
    ),
    200,
  );
  assert.equal(news, 2);
});

test('a notification is a hint: what the task holds is shown, once, and an approval is asked of the person', async (t) => {
  const history: Json[] = [
    { role: 'user', messageId: 'u', parts: [text('go')] },
    { role: 'agent', messageId: 'a', parts: [text('Begun.')] },
  ];
  let state = 'completed';
  const agent = await fakeAgent(t, {
    card: { capabilities: { streaming: true, pushNotifications: true, extensions: [] }, name: 'Pusher' },
    on: {
      'message/stream': (_, reply, at) => {
        reply.record(at === 0 ? status('working', '', [text('Begun.')]) : call('SUCCEEDED'));
        reply.record(over());
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task(state, { history })),
    },
  });
  const session = talk(t, agent.url);
  await session.prompt('go');
  const { configuration } = agent.requests('message/stream')[0]?.params ?? {};
  const { pushNotificationConfig: config } = configuration as { pushNotificationConfig: { url: string; token: string } };
  const notify = () =>
    fetch(config.url, { method: 'POST', headers: { 'x-a2a-notification-token': config.token }, body: JSON.stringify(task(state)) });
  history.push({ role: 'agent', messageId: 'b', parts: [text('Meanwhile done.')] });
  await notify();
  const later = await session.until('a second turn', (now) => now.turns.length === 2 && now.turns[1]?.status === 'done');
  assert.equal(later.turns[1] && textOf(later.turns[1]), 'Meanwhile done.');
  await notify();
  state = 'input-required';
  const asked = { tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', ...asks };
  history.push({ role: 'agent', messageId: 'd', parts: [data(asked)] });
  await notify();
  const ask = await session.approval();
  assert.equal(session.now().turns.length, 3, 'the second notification brought nothing new');
  session.answer(ask, option(ask, 'allow_once'));
  await session.until('the end', (now) => now.turns[2]?.status === 'done');
  assert.equal(agent.requests('message/stream').length, 2, 'one decision was sent');
});

test('a window that was closed catches up with its task', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'tasks/get': (_, reply) =>
        reply.json(task('working', { history: [{ role: 'agent', messageId: 'a', parts: [text('While you were away. ')] }] })),
      'tasks/resubscribe': (_, reply) => {
        reply.record(task('working'));
        reply.record(status('working', 'TEXT_CONTENT', [text('And now.')]));
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url, { resume: { key: JSON.stringify({ taskId: 't1', contextId: 'c1' }), history: false } });
  const now = await session.until('the turn', ({ turns }) => turns[0]?.status === 'done');
  assert.equal(now.turns[0] && textOf(now.turns[0]), 'While you were away. And now.');
});
