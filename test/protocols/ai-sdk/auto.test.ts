import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, output, type Reply, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { echoTool, talk, textOf } from './talk.ts';

const tool = echoTool('look');
const look = (id: string) => called(id, 'look', { path: id });
const RESULT = '/api/chat/tool-result';

test('learns re-post from a response that ends after the call', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) =>
        n % 2 === 1
          ? reply.all(start(`m${n}`), step, look(`c${n}`), stepEnd, finish('tool-calls'))
          : reply.all(step, ...said('ok'), finish('stop')),
    },
  });
  for (let n = 0; n < 2; n++) assert.equal((await prompt()).status, 'done');
  assert.deepEqual(
    server.asked.map((one) => one.path),
    Array(4).fill('/api/chat'),
  );
});

test('learns held from silence, and from then on waits for none', async (t) => {
  let held: Reply | undefined;
  let chatter: NodeJS.Timeout | undefined;
  t.after(() => clearInterval(chatter));
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) => {
        held = reply.open().send(start(`m${n}`), step, look(`c${n}`));
        // The second response is never silent: whoever waits for that waits for ever.
        if (n === 2) chatter = setInterval(() => reply.send({ type: 'data-tick', data: 1, transient: true }), 2);
      },
      [RESULT]: (reply, { body }) => {
        clearInterval(chatter);
        reply.json(200, { ok: true });
        held?.send(output(body.tool_call_id ?? '', body.result), stepEnd, step, ...said('ok'), finish('stop')).done();
      },
    },
  });
  for (let n = 0; n < 2; n++) assert.equal((await prompt()).status, 'done');
  assert.equal(server.bodies('/api/chat').length, 2);
});

test('the marker of the event form is believed at once', async (t) => {
  let held: Reply | undefined;
  const { prompt } = await talk(t, {
    tools: [tool],
    timing: { quiet: 60_000 },
    routes: {
      '/api/chat': (reply) => {
        held = reply
          .open()
          .send(start('m'), step, look('c'))
          .raw('event: tool-call\ndata: {"toolCallId":"c","state":"requires-action"}\n\n');
      },
      [RESULT]: (reply) => {
        reply.json(200, { ok: true });
        held?.send(output('c', 1), stepEnd, step, ...said('ok'), finish('stop')).done();
      },
    },
  });
  assert.equal(textOf(await prompt()), 'ok');
});

test('a slow server tool in the same step looks held for a while; the tries fail quietly', async (t) => {
  const { server, prompt, now } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': async (reply, _, n) => {
        if (n === 2) return reply.all(start('m'), step, ...said('Both.'), finish('stop'));
        reply.open().send(start('m'), step, look('c'), called('s', 'slow'));
        while (server.asked.length < 4) await new Promise((resolve) => setImmediate(resolve));
        return reply.send(output('s', 1), stepEnd, finish('tool-calls')).done();
      },
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn), now().notices.length], ['done', 'Both.', 0]);
  assert.ok(server.asked.length > 3, 'it tried to hand the result in');
});

test('a server that holds its response and refuses the result: after a silence the user hears of it', async (t) => {
  const { say, until, stop, ended } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply) => void reply.open().send(start('m'), step, look('c')),
      [RESULT]: (reply) => reply.json(400, { error: 'no such session' }),
      '/chat/tool-result': (reply) => reply.json(400, { error: 'no such session' }),
    },
  });
  const id = say('go');
  const session = await until((one) => one.notices.length > 0);
  assert.match(session.notices[0]?.text ?? '', /no such session/);
  stop();
  assert.equal((await ended(id)).status, 'cancelled');
});

test('a learned value that is wrong once: held, then a server that ends its response', async (t) => {
  let held: Reply | undefined;
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 1) {
          held = reply.open().send(start('m'), step, look('c1'));
          return undefined;
        }
        if (n === 2) return reply.all(start('m2'), step, look('c2'), stepEnd, finish('tool-calls'));
        return reply.all(start('m2'), step, ...said('ok'), finish('stop'));
      },
      [RESULT]: (reply, { body }) => {
        if (body.tool_call_id !== 'c1') return reply.json(404, {});
        reply.json(200, { ok: true });
        return held?.send(output('c1', 1), stepEnd, step, ...said('one'), finish('stop')).done();
      },
    },
  });
  assert.equal(textOf(await prompt()), 'one');
  assert.equal(textOf(await prompt()), 'ok');
  assert.equal(server.bodies('/api/chat').length, 3);
});

test('a learned value that is wrong once: re-post, then a server that holds', async (t) => {
  let held: Reply | undefined;
  const { prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 1) return reply.all(start('m'), step, look('c1'), stepEnd, finish('tool-calls'));
        if (n === 2) return reply.all(start('m'), step, ...said('one'), finish('stop'));
        held = reply.open().send(start('m3'), step, look('c3'));
        return undefined;
      },
      [RESULT]: (reply) => {
        reply.json(200, { ok: true });
        held?.send(output('c3', 1), stepEnd, step, ...said('two'), finish('stop')).done();
      },
    },
  });
  assert.equal(textOf(await prompt()), 'one');
  assert.equal(textOf(await prompt()), 'two');
});
