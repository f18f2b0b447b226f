import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, output, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk, textOf } from './talk.ts';

const tool = echoTool('look');
const calls = (id: string) => called(id, 'look', { path: id });

test('two rounds: two calls after one another, one assistant message', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 3) return reply.all(start('m'), step, ...said('Done.'), stepEnd, finish('stop'));
        return reply.all(start('m'), step, calls(`c${n}`), stepEnd, finish('tool-calls'));
      },
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn), turn.parts.length], ['done', 'Done.', 3]);
  const last = server.bodies('/api/chat')[2]!;
  assert.deepEqual(
    last.messages.map((message) => message.role),
    ['user', 'assistant'],
  );
  assert.deepEqual(
    last.messages[1]?.parts.map((part) => [part.type, part.state]),
    [
      ['step-start', undefined],
      ['tool-look', 'output-available'],
      ['step-start', undefined],
      ['tool-look', 'output-available'],
    ],
  );
});

test('a server without step marks gets exactly one request more', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1 ? reply.all(start('m'), calls('c'), finish()) : reply.all(start('m'), ...said('ok'), finish()),
    },
  });
  assert.equal((await prompt()).status, 'done');
  assert.equal(server.asked.length, 2);
});

test('a server that repeats the call in its continuation gets no further request', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: { '/api/chat': (reply) => reply.all(start('m'), calls('c'), finish()) },
  });
  assert.equal((await prompt()).status, 'done');
  assert.equal(server.asked.length, 2);
});

test('a server that always calls again is asked about at the limit', async (t) => {
  const { server, say, asked, answer, ended } = await talk(t, {
    tools: [tool],
    options: { maxAutoPosts: '4' },
    routes: { '/api/chat': (reply, _, n) => reply.all(start('m'), step, calls(`c${n}`), stepEnd, finish('tool-calls')) },
  });
  const turnId = say('go');
  const first = await asked();
  assert.deepEqual([first.title, first.kind === 'approval' && first.wordless, first.ours], ['Continue?', true, true]);
  assert.equal(server.asked.length, 5);
  answer(first, 'allow');
  let second = await asked();
  while (second.id === first.id) {
    await new Promise((resolve) => setImmediate(resolve));
    second = await asked();
  }
  assert.equal(server.asked.length, 9);
  answer(second, 'reject');
  const turn = await ended(turnId);
  assert.deepEqual([turn.status, server.asked.length], ['done', 9]);
});

test('a re-post that does not arrive fails with Retry, and Retry sends it again without running the tool again', async (t) => {
  let ran = 0;
  const counting = echoTool('look', async () => ({ ok: true, text: String(++ran) }));
  const { server, prompt, retry, now } = await talk(t, {
    tools: [counting],
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 1) return reply.all(start('m'), step, calls('c'), stepEnd, finish('tool-calls'));
        if (n === 2) return void reply.response.destroy();
        return reply.all(start('m'), step, ...said('Got it.'), stepEnd, finish('stop'));
      },
    },
  });
  const failed = await prompt('hi');
  assert.equal(failed.status, 'failed');
  assert.ok(failed.error?.next?.includes('retry'));
  const again = await retry();
  assert.deepEqual([again.status, textOf(again), ran, call(again, 'c').status], ['done', 'Got it.', 1, 'done']);
  assert.equal(now().turns.length, 1, 'it takes the place of the turn that failed');
  const [, second, third] = server.bodies('/api/chat');
  assert.deepEqual(third, second);
});

test('a failed first request is sent again by Retry, with one user message', async (t) => {
  const { server, prompt, retry } = await talk(t, {
    routes: { '/api/chat': (reply, _, n) => (n === 1 ? reply.json(500, { error: 'no model' }) : reply.all(...said('ok'), finish())) },
  });
  const failed = await prompt('hi');
  assert.match(failed.error?.message ?? '', /no model/);
  assert.equal((await retry()).status, 'done');
  assert.deepEqual(server.bodies('/api/chat')[1]?.messages, server.bodies('/api/chat')[0]?.messages);
});

test('Retry after an error in the stream regenerates', async (t) => {
  const { server, prompt, retry } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, ...said('half'), { type: 'error', errorText: 'overloaded' })
          : reply.all(start('m2'), ...said('whole'), finish()),
    },
  });
  assert.equal((await prompt('hi')).status, 'failed');
  assert.equal(textOf(await retry()), 'whole');
  const body = server.bodies('/api/chat')[1]!;
  assert.deepEqual([body.trigger, body.messageId, body.messages.length], ['regenerate-message', 'm', 1]);
});

test('the same words after a failure are a new message, not Retry', async (t) => {
  const { server, prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1 ? reply.all(start('m'), step, ...said('half'), { type: 'error', errorText: 'x' }) : reply.all(...said('ok'), finish()),
    },
  });
  assert.equal((await prompt('hi')).status, 'failed');
  assert.equal((await prompt('hi')).status, 'done');
  assert.deepEqual(
    server.bodies('/api/chat')[1]?.messages.map((message) => message.role),
    ['user', 'assistant', 'user'],
  );
});

test('errors as outputs, for servers that lose errors', async (t) => {
  const broken = echoTool('look', () => Promise.reject(new Error('gone')));
  const { server, prompt } = await talk(t, {
    tools: [broken],
    options: { errorsAsOutput: 'true' },
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1 ? reply.all(start('m'), step, calls('c'), stepEnd, finish()) : reply.all(start('m'), step, ...said('ok'), finish()),
    },
  });
  assert.equal(call(await prompt(), 'c').status, 'failed');
  const part = server.bodies('/api/chat')[1]?.messages.at(-1)?.parts[1];
  assert.deepEqual([part?.state, part?.output, part?.errorText], ['output-available', { error: 'gone' }, undefined]);
});

test('history: last sends the newest message only, the continued one included', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    options: { history: 'last', system: 'Be short.', body: '{"model":"m1"}' },
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1 ? reply.all(start('m'), step, calls('c'), stepEnd, finish()) : reply.all(start('m'), step, ...said('ok'), finish()),
    },
  });
  await prompt();
  const [first, second] = server.bodies('/api/chat');
  assert.deepEqual([first?.message?.role, first && 'messages' in first, first?.system, first?.model], ['user', false, 'Be short.', 'm1']);
  assert.deepEqual([second?.message?.role, second?.message?.parts.length], ['assistant', 2]);
});

test('result in a new user message', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'user-message' },
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), calls('c'), { type: 'error', errorText: 'cancelled: __FRONTEND_TOOL__' })
          : reply.all(start('m2'), ...said('Seen.'), finish()),
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Seen.']);
  const body = server.bodies('/api/chat')[1]!;
  assert.deepEqual([body.messageId, body.messages.map((message) => message.role)], [undefined, ['user', 'assistant', 'user']]);
  const done = { type: 'tool-look', toolCallId: 'c', state: 'output-available', input: { path: 'c' }, output: { got: { path: 'c' } } };
  assert.deepEqual([body.messages[1]?.parts, body.messages[2]?.parts], [[done], [done]]);
});

test("our result stays on the card though the server's echo masks it", async (t) => {
  const broken = echoTool('look', () => Promise.reject(new Error('File not found: a.ts')));
  const { prompt } = await talk(t, {
    tools: [broken],
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, calls('c'), stepEnd, finish())
          : reply.all(
              start('m'),
              { type: 'tool-output-error', toolCallId: 'c', errorText: 'An error occurred.' },
              step,
              ...said('ok'),
              finish(),
            ),
    },
  });
  assert.equal(call(await prompt(), 'c').error?.message, 'File not found: a.ts');
});

test('a continuation with the same id, a new id or none: still one assistant message', async (t) => {
  for (const id of ['m', 'other', undefined]) {
    const { server, prompt } = await talk(t, {
      tools: [tool],
      routes: {
        '/api/chat': (reply, _, n) =>
          n === 1
            ? reply.all(start('m'), step, calls('c'), stepEnd, finish())
            : reply.all(...(id === undefined ? [] : [start(id)]), step, ...said('ok'), stepEnd, finish()),
      },
    });
    await prompt('one');
    await prompt('two');
    const roles = server.bodies('/api/chat')[2]?.messages.map((message) => message.role);
    assert.deepEqual(roles, ['user', 'assistant', 'user']);
    assert.equal(server.bodies('/api/chat')[2]?.messages[1]?.id, id ?? 'm');
  }
});

test('a slow server tool beside ours: nothing is posted before it has answered', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'repost' },
    routes: {
      '/api/chat': async (reply, _, n) => {
        if (n === 2) return reply.all(start('m'), step, ...said('Both.'), stepEnd, finish('stop'));
        reply.open().send(start('m'), step, calls('c'), called('s', 'weather'));
        await new Promise((resolve) => setTimeout(resolve, 40));
        assert.equal(server.asked.length, 1);
        return reply.send(output('s', 'sun'), stepEnd, finish('tool-calls')).done();
      },
    },
  });
  assert.equal(textOf(await prompt()), 'Both.');
  assert.equal(server.asked.length, 2);
});
