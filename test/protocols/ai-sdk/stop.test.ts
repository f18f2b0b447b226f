import assert from 'node:assert/strict';
import { test } from 'node:test';
import { said, start } from '../../fakes/aiSdk.ts';
import { talk } from './talk.ts';

// The order of a stop request and the end of the connection.

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
