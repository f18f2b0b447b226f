import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openWebhook } from '../../../src/protocols/a2a/webhook.ts';
import type { Approval } from '../../../src/session/model.ts';
import { asks, call, data, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const pushing = { capabilities: { streaming: true, pushNotifications: true, extensions: [] }, name: 'Pusher' };

test('the webhook accepts its token only, for its tasks only, and in either body', async (t) => {
  let news = 0;
  const webhook = await openWebhook(
    (id) => id === 't1',
    () => {
      news += 1;
    },
  );
  t.after(() => webhook.dispose());
  const { pushNotificationConfig } = webhook.inMessage('0.3');
  const { token, authentication } = pushNotificationConfig as { token: string; authentication: { credentials: string } };
  const post = async (headers: Record<string, string>, body: unknown, url = webhook.url) =>
    (await fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })).status;
  const right = { 'x-a2a-notification-token': token };
  assert.equal(await post({}, task('working')), 401);
  assert.equal(await post({ 'x-a2a-notification-token': `${token.slice(0, -1)}!` }, task('working')), 401);
  assert.equal(await post({ authorization: `Bearer ${token}` }, task('working')), 401);
  assert.equal(await post(right, task('working'), webhook.url.slice(0, -3)), 404);
  assert.equal((await fetch(webhook.url, { headers: right })).status, 405);
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

test('a notification is a hint: what the task holds is shown, once, and an approval is asked of the user', async (t) => {
  const history: Json[] = [
    { role: 'user', messageId: 'u', parts: [text('go')] },
    { role: 'agent', messageId: 'a', parts: [text('Begun.')] },
  ];
  let state = 'completed';
  const agent = await fakeAgent(t, {
    card: pushing,
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

test('a task that is taken up learns the new place, and when the session closes nobody is left waiting at it', async (t) => {
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'tasks/get': (_, reply) => reply.json(task('completed', { history: [] })),
      'tasks/pushNotificationConfig/set': (asked, reply) => reply.json(asked.params),
      'tasks/pushNotificationConfig/delete': (_, reply) => reply.json(null),
    },
  });
  const session = talk(t, agent.url, { resume: { key: JSON.stringify({ taskId: 't1', contextId: 'c1' }), history: false } });
  await session.opened();
  await agent.until('tasks/pushNotificationConfig/set');
  const [{ taskId, pushNotificationConfig }] = agent.requests('tasks/pushNotificationConfig/set').map((one) => one.params) as [
    { taskId: string; pushNotificationConfig: { id: string; url: string } },
  ];
  assert.equal(taskId, 't1');
  session.live.dispose();
  await session.live.ended;
  assert.deepEqual(
    agent.requests('tasks/pushNotificationConfig/delete').map((one) => one.params),
    [{ id: 't1', pushNotificationConfigId: pushNotificationConfig.id }],
  );
  await assert.rejects(fetch(pushNotificationConfig.url, { method: 'POST' }), 'the webhook is closed');
});

test('the place that the first message named is not registered again, and is forgotten at the end', async (t) => {
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (_, reply) => {
        reply.record(over());
        reply.end();
      },
      'tasks/pushNotificationConfig/delete': (_, reply) => reply.json(null),
    },
  });
  const session = talk(t, agent.url);
  await session.prompt('go');
  await session.prompt('on');
  session.live.dispose();
  await session.live.ended;
  assert.equal(agent.requests('tasks/pushNotificationConfig/set').length, 0);
  assert.equal(agent.requests('tasks/pushNotificationConfig/delete').length, 1);
});

test('an agent that takes no notifications is asked once, and nobody is bothered', async (t) => {
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'tasks/get': (_, reply) => reply.json(task('completed')),
      'tasks/pushNotificationConfig/set': (_, reply) => reply.error(-32003, 'Not here.'),
      'message/stream': (_, reply) => {
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url, { resume: { key: JSON.stringify({ taskId: 't1' }), history: false } });
  await session.prompt('go');
  assert.equal((await session.prompt('on')).status, 'done');
  assert.equal(agent.requests('tasks/pushNotificationConfig/set').length, 1);
  assert.ok(
    session.now().notices.every((notice) => notice.level === 'info'),
    JSON.stringify(session.now().notices),
  );
});

/** An agent whose line breaks and that cannot be subscribed to, until it is `back`; and a way to push what it has. */
async function unreachable(t: Parameters<typeof fakeAgent>[0], timing: { retries: readonly number[] }) {
  let place: { url: string; token: string } | undefined;
  let back = false;
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (asked, reply) => {
        place = (asked.params.configuration as { pushNotificationConfig: { url: string; token: string } }).pushNotificationConfig;
        reply.record(task('working'));
        setTimeout(() => reply.cut(), 20);
      },
      'tasks/resubscribe': (_, reply) => {
        if (!back) return reply.cut();
        reply.record(task('working'));
        reply.record(status('working', 'TEXT_CONTENT', [text('Back.')]));
        reply.record(over());
        reply.end();
      },
      'tasks/get': (_, reply) => (back ? reply.json(task('working')) : reply.cut()),
    },
  });
  const session = talk(t, agent.url, { timing });
  const turnId = session.begin('go');
  const notify = async (token = place?.token ?? '') =>
    (
      await fetch(place?.url ?? '', {
        method: 'POST',
        headers: { 'x-a2a-notification-token': token },
        body: JSON.stringify(task('working')),
      })
    ).status;
  const comeBack = () => {
    back = true;
  };
  const failed = async (tries: number) => {
    const until = Date.now() + 10_000;
    while (session.logged.filter((line) => /Subscribing again failed/.test(line)).length < tries) {
      assert.ok(Date.now() < until, `fewer than ${tries} tries`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return { agent, session, turnId, notify, comeBack, failed };
}

test('a notification ends the wait for the next try, once for each; one with a wrong token does not', async (t) => {
  const { agent, session, turnId, notify, comeBack, failed } = await unreachable(t, { retries: [0, 600_000, 600_000] });
  const tries = () => agent.requests('tasks/resubscribe').length;
  await failed(1);
  assert.equal(await notify('wrong'), 401);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(tries(), 1);
  comeBack();
  assert.equal(await notify(), 200);
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), tries()], ['done', 'Back.', 2]);
});

test('an agent that says again and again that it is there, and is not, is not tried without end', async (t) => {
  const { agent, session, turnId, notify, failed } = await unreachable(t, { retries: [0, 600_000] });
  await failed(1);
  await notify();
  await failed(2);
  await notify();
  await notify();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(agent.requests('tasks/resubscribe').length, 2);
  session.live.send({ type: 'cancel' });
  assert.equal((await session.ended(turnId)).status, 'cancelled');
});

test('the question whether to go on trying is taken back by a notification, which answers it', async (t) => {
  const { session, turnId, notify, comeBack } = await unreachable(t, { retries: [0, 0] });
  assert.equal((await session.approval()).title, 'The connection was lost.');
  comeBack();
  await notify();
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), session.now().asks], ['done', 'Back.', []]);
});

test('a window that slept: the stream broke, notifications came, and every word is there once', async (t) => {
  const history: Json[] = [
    { role: 'user', messageId: 'u', parts: [text('go')] },
    { role: 'agent', messageId: 'a', parts: [text('Before. ')] },
  ];
  let place: { url: string; token: string } | undefined;
  let asleep = true;
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (asked, reply) => {
        place = (asked.params.configuration as { pushNotificationConfig: { url: string; token: string } }).pushNotificationConfig;
        reply.record(task('working'));
        reply.record(status('working', 'TEXT_CONTENT', [text('Before. ')], { messageId: 'a' }));
        setTimeout(() => reply.cut(), 20);
      },
      'tasks/resubscribe': (_, reply) => {
        if (asleep) return reply.cut();
        reply.record(task('completed', { history }));
        reply.end();
      },
      'tasks/get': (_, reply) => (asleep ? reply.cut() : reply.json(task('completed', { history }))),
    },
  });
  const session = talk(t, agent.url, { timing: { retries: [0, 20, 100, 100, 100] } });
  const turnId = session.begin('go');
  await session.until('the break', (now) => now.turns[0]?.activity !== undefined);
  history.push({ role: 'agent', messageId: 'b', parts: [text('While asleep.')] });
  const notify = () =>
    fetch(place?.url ?? '', {
      method: 'POST',
      headers: { 'x-a2a-notification-token': place?.token ?? '' },
      body: JSON.stringify(task('completed')),
    });
  // Every event is told, some twice, before and after waking.
  await notify();
  await notify();
  asleep = false;
  await notify();
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Before. While asleep.']);
  // Looked at twice more: the first look has been dealt with when the second begins.
  const looked = agent.requests('tasks/get').length;
  await notify();
  await agent.until('tasks/get', looked + 1);
  await notify();
  await agent.until('tasks/get', looked + 2);
  assert.equal(session.now().turns.length, 1, 'no turn was made of what was shown already');
});

for (const [what, more, held] of [
  ['that the task is done', 'Done.', undefined],
  ['that it waits for the user', 'Well?', asks],
] as const)
  test(`an agent that cannot be subscribed to is asked at once how the task stands when it says so: ${what}`, async (t) => {
    let place: { url: string; token: string } | undefined;
    let later: Json | undefined;
    const agent = await fakeAgent(t, {
      card: pushing,
      on: {
        'message/stream': (asked, reply, at) => {
          if (at > 0) {
            reply.record(call('SUCCEEDED'));
            reply.record(over());
            return reply.end();
          }
          place = (asked.params.configuration as { pushNotificationConfig: { url: string; token: string } }).pushNotificationConfig;
          reply.record(task('working'));
          void session.until('the task', ({ resumeKey }) => resumeKey?.includes('t1') === true).then(() => reply.cut());
        },
        'tasks/resubscribe': (_, reply) => reply.error(-32004, 'There is no such thing here'),
        'tasks/get': (_, reply) => reply.json(later ?? task('working')),
      },
    });
    const session = talk(t, agent.url, { timing: { retries: [0, 0] } });
    const turnId = session.begin('go');
    assert.equal((await session.approval()).title, 'The connection was lost.');
    const parts = [text(more), ...(held ? [data({ tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', ...held })] : [])];
    later = task(held ? 'input-required' : 'completed', { history: [{ role: 'agent', messageId: 'b', parts }] });
    const headers = { 'x-a2a-notification-token': place?.token ?? '' };
    await fetch(place?.url ?? '', { method: 'POST', headers, body: JSON.stringify(later) });
    if (held) {
      const { asks: open } = await session.until('its question', ({ asks: [ask] }) => ask?.kind === 'approval' && ask.callId !== undefined);
      session.answer(open[0] as Approval, option(open[0] as Approval, 'allow_once'));
    }
    const turn = await session.ended(turnId);
    assert.deepEqual([turn.status, textOf(turn), session.now().asks], ['done', more, []]);
  });

for (const tries of [[0, 600_000], [0]])
  test(`a notification that comes while the agent is being tried counts when that try fails${tries.length === 1 ? ', also the last one' : ''}`, async (t) => {
    let place: { url: string; token: string } | undefined;
    const agent = await fakeAgent(t, {
      card: pushing,
      on: {
        'message/stream': (asked, reply) => {
          place = (asked.params.configuration as { pushNotificationConfig: { url: string; token: string } }).pushNotificationConfig;
          reply.record(task('working'));
          void session.until('the task', ({ resumeKey }) => resumeKey?.includes('t1') === true).then(() => reply.cut());
        },
        'tasks/resubscribe': (_, reply, at) => {
          if (at > 0) {
            reply.record(over());
            return reply.end();
          }
          const headers = { 'x-a2a-notification-token': place?.token ?? '' };
          void fetch(place?.url ?? '', { method: 'POST', headers, body: JSON.stringify(task('working')) }).then(() => reply.cut());
        },
        'tasks/get': (_, reply) => reply.cut(),
      },
    });
    const session = talk(t, agent.url, { timing: { retries: tries } });
    const asked: string[] = [];
    session.live.store.onChange(() => asked.push(...session.now().asks.map(({ title }) => title)));
    assert.deepEqual([(await session.prompt('go')).status, asked], ['done', []]);
  });
