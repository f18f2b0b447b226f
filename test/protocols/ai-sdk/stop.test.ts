import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, type Reply, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, noticesOf, talk, textOf } from './talk.ts';

test('before headers', async (t) => {
  let asked: Reply | undefined;
  let arrived: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const { say, stop, ended, now } = await talk(t, {
    routes: {
      '/api/chat': (reply) => {
        asked = reply;
        arrived();
      },
    },
  });
  const id = say('go');
  await begun;
  stop();
  assert.equal((await ended(id)).status, 'cancelled');
  await asked?.closed;
  assert.equal(now().link.state, 'ready');
});

test('while the profile is read: nothing is sent, and nothing is said of what would have been', async (t) => {
  let stopNow: () => void = () => {};
  const secrets = new Map<string, string>();
  secrets.get = () => {
    stopNow();
    return undefined;
  };
  const { server, live, stop, ended } = await talk(t, { secrets, routes: {} });
  stopNow = stop;
  live.send({ type: 'prompt', turnId: 'large', content: [{ type: 'text', text: 'x'.repeat(5_300_000) }] });
  const turn = await ended('large');
  assert.deepEqual([turn.status, noticesOf(turn), server.asked.length], ['cancelled', [], 0]);
});

test('while the rest of a cut response is looked for: the turn was stopped, it did not fail', async (t) => {
  let stopNow: () => void = () => {};
  const { server, say, stop, ended } = await talk(t, {
    options: { stopUrl: '/stop' },
    routes: {
      '/api/chat': (reply) => reply.open().send(start('m'), step, { type: 'text-start', id: 't' }).cut(),
      '/api/chat/*': () => stopNow(),
      '/stop': (reply) => reply.json(200, {}),
    },
  });
  stopNow = stop;
  const turn = await ended(say('go'));
  assert.deepEqual([turn.status, turn.error, server.bodies('/stop').length], ['cancelled', undefined, 1]);
});

test('while streaming: what came stays and goes with the next message', async (t) => {
  let held: Reply | undefined;
  const { server, say, stop, until, ended, prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 2) return reply.all(...said('ok'), finish());
        held = reply.open().send(start('m'), step, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'so far' });
        return undefined;
      },
    },
  });
  const id = say('go');
  await until((session) => session.turns[0]?.parts.length === 1);
  stop();
  assert.deepEqual([(await ended(id)).status, textOf(await ended(id))], ['cancelled', 'so far']);
  await held?.closed;
  assert.equal((await prompt('next')).status, 'done');
  assert.deepEqual(server.bodies('/api/chat')[1]?.messages[1]?.parts[1], { type: 'text', text: 'so far', state: 'done' });
});

test('while a tool runs between responses: local only, the tool is told', async (t) => {
  let aborted = false;
  let begin: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const { server, say, stop, ended, prompt } = await talk(t, {
    tools: [
      echoTool(
        'slow',
        (_, signal) =>
          new Promise((resolve) => {
            begin();
            signal.addEventListener('abort', () => {
              aborted = true;
              resolve({ ok: true, text: 'late' });
            });
          }),
      ),
    ],
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, called('c', 'slow', { path: 'x' }), stepEnd, finish('tool-calls'))
          : reply.all(...said('ok'), finish()),
    },
  });
  const id = say('go');
  await begun;
  stop();
  const turn = await ended(id);
  assert.deepEqual([turn.status, call(turn, 'c').status, aborted, server.asked.length], ['cancelled', 'cancelled', true, 1]);
  await prompt('next');
  const part = server.bodies('/api/chat')[1]?.messages[1]?.parts[1];
  assert.deepEqual([part?.state, part?.errorText], ['output-error', 'Cancelled by the user.']);
});

test('while asking', async (t) => {
  const { server, say, asked, stop, ended, now } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.all(start('m'), step, called('c', 'ask_person', { question: 'Well?' }), stepEnd, finish('tool-calls')),
    },
  });
  const id = say('go');
  await asked();
  stop();
  assert.deepEqual([(await ended(id)).status, now().asks.length, server.asked.length], ['cancelled', 0, 1]);
});

test('with stopUrl the server is told before the socket closes', async (t) => {
  const order: string[] = [];
  const { say, stop, until, ended } = await talk(t, {
    options: { stopUrl: '/stop/{chatId}' },
    routes: {
      '/api/chat': (reply) => {
        void reply.closed.then(() => order.push('closed'));
        reply.open().send(start('m'), ...said('x'));
      },
      '/stop/*': (reply) => {
        order.push('told');
        reply.json(200, {});
      },
    },
  });
  const id = say('go');
  await until((session) => session.turns[0]?.parts.length === 1);
  stop();
  assert.equal((await ended(id)).status, 'cancelled');
  while (order.length < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['told', 'closed']);
});

test('an address for it that the response names is told too, on the same origin only', async (t) => {
  for (const [link, told] of [
    ['</next>; rel="next", </halt?x=1>; rel="stop"', 1],
    ['<https://elsewhere.example.test/halt>; rel="stop"', 0],
  ] as const) {
    const { server, say, stop, until, ended } = await talk(t, {
      routes: {
        '/api/chat': (reply) => void reply.open({ link }).send(start('m'), ...said('x')),
        '/halt': (reply) => reply.json(200, {}),
      },
    });
    const id = say('go');
    await until((session) => session.turns[0]?.parts.length === 1);
    stop();
    assert.equal((await ended(id)).status, 'cancelled');
    assert.equal(server.bodies('/halt').length, told);
  }
});

test('a stopUrl that does not answer holds nobody up for long', async (t) => {
  const { say, stop, until, ended } = await talk(t, {
    options: { stopUrl: '/stop' },
    timing: { farewell: 30 },
    routes: { '/api/chat': (reply) => void reply.open().send(start('m'), ...said('x')), '/stop': () => {} },
  });
  const id = say('go');
  await until((session) => session.turns[0]?.parts.length === 1);
  stop();
  assert.equal((await ended(id)).status, 'cancelled');
});

test('twice is the same as once, and after the end it does nothing', async (t) => {
  const { events, say, stop, until, ended, prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) => (n === 1 ? void reply.open().send(start('m'), ...said('x')) : reply.all(...said('ok'), finish())),
    },
  });
  const id = say('go');
  await until((session) => session.turns[0]?.parts.length === 1);
  stop();
  stop();
  await ended(id);
  stop();
  assert.equal((await prompt()).status, 'done');
  assert.equal(events.filter((event) => event.type === 'turn.ended').length, 2);
});
