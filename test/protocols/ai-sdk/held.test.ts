import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolAnswer } from '../../../src/protocols/ports.ts';
import { called, finish, output, type Reply, type Route, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk, textOf } from './talk.ts';

const tool = echoTool('look');
const look = (id: string, more: object = {}) => called(id, 'look', { path: id }, more);
const RESULT = '/api/chat/tool-result';

/** A server that keeps its response open until these calls are answered, and takes answers at `path` from the `after`th request on. */
function holding(
  ids: readonly string[],
  options: { readonly path?: string; readonly after?: number; readonly more?: object } = {},
): Record<string, Route> {
  const results = new Map<string, unknown>();
  let held: Reply | undefined;
  const path = options.path ?? RESULT;
  return {
    '/api/chat': (reply) => {
      held = reply.open().send(start('m'), step, ...ids.map((id) => look(id, options.more)));
    },
    [path]: (reply, { body }, n) => {
      if (n < (options.after ?? 0)) return reply.json(404, { error: 'not waiting' });
      const { tool_call_id: id = '', result, is_error: isError } = body;
      results.set(id, result);
      reply.json(200, { ok: true });
      held?.send(isError ? { type: 'tool-output-error', toolCallId: id, errorText: 'An error occurred.' } : output(id, result));
      if (results.size === ids.length) held?.send(stepEnd, step, ...said('Thank you.'), stepEnd, finish('stop')).done();
      return undefined;
    },
  };
}

/** A server that opens its response with these chunks and takes the result; when that is answered, `then` ends the response. A second request gets `next`. */
function taking(opening: readonly WireChunk[], then: (held: Reply) => unknown, ...next: readonly WireChunk[]): Record<string, Route> {
  let held: Reply | undefined;
  return {
    '/api/chat': (reply, _, n) => {
      if (n === 2) return reply.all(...next);
      held = reply.open().send(...opening);
      return undefined;
    },
    [RESULT]: (reply) => {
      reply.response.once('close', () => held && then(held));
      reply.json(200, { ok: true });
    },
  };
}

test('an immediate result that is answered 404 three times, then taken', async (t) => {
  const { server, prompt } = await talk(t, { tools: [tool], options: { toolFlow: 'held' }, routes: holding(['c'], { after: 4 }) });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c').status], ['done', 'Thank you.', 'done']);
  const posts = server.bodies(RESULT);
  assert.equal(posts.length, 4);
  assert.deepEqual(posts[3], {
    session_id: server.bodies('/api/chat')[0]?.id,
    tool_call_id: 'c',
    result: { got: { path: 'c' } },
    is_error: false,
  });
  assert.equal(server.bodies('/api/chat').length, 1);
});

test('parallel calls answered in reverse order', async (t) => {
  const waiting = new Map<string, (answer: ToolAnswer) => void>();
  const slow = echoTool(
    'look',
    (input) =>
      new Promise((resolve) => {
        waiting.set((input as { path: string }).path, resolve);
        if (waiting.size === 2) waiting.get('b')?.({ ok: true, text: 'B' });
      }),
  );
  const routes = holding(['a', 'b']);
  const result = routes[RESULT]!;
  routes[RESULT] = async (reply, asked, n) => {
    await result(reply, asked, n);
    waiting.get('a')?.({ ok: true, text: 'A' });
  };
  const { server, prompt } = await talk(t, { tools: [slow], options: { toolFlow: 'held' }, routes });
  assert.equal((await prompt()).status, 'done');
  assert.deepEqual(
    server.bodies(RESULT).map((body) => [body.tool_call_id, body.result]),
    [
      ['b', 'B'],
      ['a', 'A'],
    ],
  );
});

test('an error goes as words with is_error, and stays readable on the card', async (t) => {
  const broken = echoTool('look', () => Promise.reject(new Error('File not found: a.ts')));
  const { server, prompt } = await talk(t, { tools: [broken], options: { toolFlow: 'held' }, routes: holding(['c']) });
  const turn = await prompt();
  assert.deepEqual([server.bodies(RESULT)[0]?.result, server.bodies(RESULT)[0]?.is_error], ['File not found: a.ts', true]);
  assert.equal(call(turn, 'c').error?.message, 'File not found: a.ts');
});

test('the server gives up first: the question closes, the turn goes on', async (t) => {
  const { server, say, asked, ended, now } = await talk(t, {
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': async (reply) => {
        reply.open().send(start('m'), step, called('c', 'ask_person', { question: 'Well?' }));
        await open;
        reply
          .send({ type: 'tool-output-error', toolCallId: 'c', errorText: 'timeout' }, stepEnd, step, ...said('Never mind.'), finish('stop'))
          .done();
      },
    },
  });
  let close: () => void = () => {};
  const open = new Promise<void>((resolve) => {
    close = resolve;
  });
  const turnId = say('go');
  await asked();
  close();
  const turn = await ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), now().asks.length, call(turn, 'c').error?.message], ['done', 'Never mind.', 0, 'timeout']);
  assert.equal(server.bodies(RESULT).length, 0);
});

test('401 at the endpoint stops trying and says so', async (t) => {
  const { server, say, until, stop, ended } = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (reply) => void reply.open().send(start('m'), step, look('c')),
      [RESULT]: (reply) => reply.json(401, { error: 'who are you' }),
    },
  });
  const turnId = say('go');
  const session = await until((one) => one.notices.length > 0);
  assert.match(session.notices[0]?.text ?? '', /who are you/);
  stop();
  assert.equal((await ended(turnId)).status, 'cancelled');
  assert.equal(server.bodies(RESULT).length, 1);
});

const refusing: Readonly<Record<string, Route>> = {
  'wants a key': (reply) => reply.json(401, { error: 'who are you' }),
  'refuses the request': (reply) => reply.json(422, { error: 'what is that' }),
  'sends to a login': (reply) => reply.json(302, {}, { location: '/login' }),
  'answers everything with a page': (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/html' });
    reply.response.end('<!doctype html><title>App</title>');
  },
};
for (const [what, other] of Object.entries(refusing)) {
  test(`the right address says "not yet", the other one ${what}: the result is not lost`, async (t) => {
    const { server, prompt } = await talk(t, {
      tools: [tool],
      options: { toolFlow: 'held' },
      routes: { ...holding(['c'], { after: 4 }), '/chat/tool-result': other },
    });
    const turn = await prompt();
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'Thank you.']);
    assert.deepEqual([server.bodies(RESULT).length, server.bodies('/chat/tool-result').length], [4, 1]);
  });
}

test('an address that never takes it beside one that refuses: the refusal is told once, and the tries go on', async (t) => {
  const { server, say, until, stop, ended, now } = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (reply) => void reply.open().send(start('m'), step, look('c')),
      '/chat/tool-result': (reply) => reply.json(403, { error: 'not you' }),
    },
  });
  const id = say('go');
  const session = await until((one) => one.notices.length > 0);
  assert.match(session.notices[0]?.text ?? '', /not you/);
  const tries = server.bodies(RESULT).length;
  while (server.bodies(RESULT).length < tries + 2) await new Promise((resolve) => setImmediate(resolve));
  stop();
  await ended(id);
  assert.equal(now().notices.length, 1);
});

test('a key is asked for where results go, and the result is handed in with it', async (t) => {
  const routes = holding(['c']);
  const take = routes[RESULT]!;
  const { server, say, asked, answer, ended } = await talk(t, {
    tools: [tool],
    secrets: new Map(),
    options: { toolFlow: 'held', toolResultUrl: '/api/chat/tool-result' },
    routes: {
      ...routes,
      [RESULT]: (reply, one, n) =>
        one.headers.authorization === 'Bearer k' ? take(reply, one, n) : reply.json(401, { error: 'who are you' }),
    },
  });
  const id = say('go');
  const ask = await asked();
  assert.ok(ask.kind === 'question' && ask.fields[0]?.kind === 'secret');
  assert.doesNotMatch(ask.fields[0].body ?? '', /headers of the agent/);
  answer(ask, { kind: 'fields', values: { key: ['k'] } });
  assert.equal((await ended(id)).status, 'done');
  assert.equal(server.bodies(RESULT).length, 2);
});

test('a wrong first candidate: the second address is found and kept', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'held' },
    routes: holding(['a', 'b'], { path: '/chat/tool-result' }),
  });
  assert.equal((await prompt()).status, 'done');
  assert.equal(server.bodies('/chat/tool-result').length, 2);
  assert.ok(server.asked.filter((one) => one.path === RESULT).length >= 1);
});

test('an address of the profile is the only one tried; the query of the chat address stays at the end of derived ones', async (t) => {
  const own = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'held', toolResultUrl: '/mine' },
    routes: holding(['c'], { path: '/mine' }),
  });
  assert.equal((await own.prompt()).status, 'done');
  assert.equal(own.server.asked.length, 2);
  const derived = await talk(t, { tools: [tool], options: { toolFlow: 'held' }, path: '/api/chat?tenant=7', routes: holding(['c']) });
  assert.equal((await derived.prompt()).status, 'done');
});

test('a long silence ends nothing', async (t) => {
  const { prompt } = await talk(t, {
    tools: [
      echoTool('look', async () => {
        await new Promise((resolve) => setTimeout(resolve, 400));
        return { ok: true, text: 'at last' };
      }),
    ],
    options: { toolFlow: 'held' },
    routes: holding(['c']),
  });
  assert.equal((await prompt()).status, 'done');
});

test('drop without resume: the result goes with a new request', async (t) => {
  const waiting: Reply[] = [];
  const { server, prompt } = await talk(t, {
    tools: [
      echoTool('look', async () => {
        waiting[0]?.cut();
        await waiting[0]?.closed;
        return { ok: true, text: 'kept' };
      }),
    ],
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 2) return reply.all(start('m'), step, ...said('Welcome back.'), stepEnd, finish('stop'));
        waiting.push(reply);
        return void reply.open().send(start('m'), step, look('c'));
      },
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Welcome back.']);
  assert.equal(server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1)?.output, 'kept');
});

test('drop and re-attach: the result is handed in once, the call runs once', async (t) => {
  let ran = 0;
  let first: Reply | undefined;
  let second: Reply | undefined;
  const beginning = [start('m'), step, ...said('One moment.'), look('c')];
  const { server, prompt } = await talk(t, {
    tools: [
      echoTool('look', async () => {
        ran += 1;
        first?.cut();
        await first?.closed;
        return { ok: true, text: 'R' };
      }),
    ],
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (reply) => {
        first = reply.open().send(...beginning);
      },
      [RESULT]: (reply, { body }) => {
        if (!second) return reply.json(404, {});
        reply.json(200, { ok: true });
        return second.send(output('c', body.result), stepEnd, step, ...said('There.', 'u'), finish('stop')).done();
      },
      '/api/chat/*': (reply) => {
        second = reply.open().send(...beginning);
      },
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn), ran], ['done', 'One moment.|There.', 1]);
  assert.equal(server.bodies('/api/chat').length, 1);
});

test('drop after acceptance: nothing is sent again by itself', async (t) => {
  const routes = taking([start('m'), step, look('c')], (held) => held.cut());
  const { server, prompt } = await talk(t, { tools: [tool], options: { toolFlow: 'held' }, routes });
  const turn = await prompt();
  assert.equal(turn.status, 'failed');
  assert.ok(turn.error?.next?.includes('retry'));
  assert.equal(server.bodies('/api/chat').length, 1);
});

test('accepted, then a clean end without a word: one request more', async (t) => {
  const routes = taking([start('m'), step, look('c')], (held) => held.done(), start('m'), step, ...said('ok'), finish('stop'));
  const { server, prompt } = await talk(t, { tools: [tool], options: { toolFlow: 'held' }, routes });
  assert.equal(textOf(await prompt()), 'ok');
  assert.equal(server.bodies('/api/chat').length, 2);
});

test('accepted and gone on without an echo: nothing more is sent, and the history holds the result', async (t) => {
  const routes = taking(
    [start('m'), look('c')],
    (held) => setTimeout(() => held.send(...said('Went on.'), finish('stop')).done(), 20),
    ...said('bye'),
    finish(),
  );
  const { server, prompt } = await talk(t, { tools: [tool], options: { toolFlow: 'held' }, routes });
  assert.equal(textOf(await prompt()), 'Went on.');
  assert.equal(server.bodies('/api/chat').length, 1);
  await prompt('next');
  assert.equal(server.bodies('/api/chat')[1]?.messages[1]?.parts[0]?.state, 'output-available');
});

test('stop while held: the socket closes and no result follows', async (t) => {
  let held: Reply | undefined;
  const { server, say, until, stop, ended } = await talk(t, {
    tools: [
      echoTool(
        'look',
        (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: true, text: 'late' }))),
      ),
    ],
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (reply) => {
        held = reply.open().send(start('m'), step, look('c'));
      },
      [RESULT]: (reply) => reply.json(200, {}),
    },
  });
  const turnId = say('go');
  await until((session) => session.turns[0]?.parts.some((part) => part.kind === 'call' && part.call.status === 'running') === true);
  stop();
  assert.equal((await ended(turnId)).status, 'cancelled');
  await held?.closed;
  assert.equal(server.bodies(RESULT).length, 0);
});

test('a server that says it awaits a tool we do not have is told at once', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [],
    routes: holding(['c'], { more: { state: 'requires-action' } }),
  });
  assert.equal((await prompt()).status, 'done');
  assert.deepEqual(
    [server.bodies(RESULT)[0]?.result, server.bodies(RESULT)[0]?.is_error],
    ['Tool "look" is not available in this editor.', true],
  );
});

test('the window closes while a call is held: the server is told', async (t) => {
  const { server, live, say, until } = await talk(t, {
    tools: [
      echoTool('look', async (input, signal) => {
        if ((input as { path: string }).path === 'a') return { ok: true, text: 'A' };
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: false, text: '' })));
      }),
    ],
    options: { toolFlow: 'held' },
    routes: holding(['a', 'b']),
  });
  say('go');
  await until((session) => session.turns[0]?.parts.some((part) => part.kind === 'call' && part.call.status === 'done') === true);
  await live.stop();
  assert.deepEqual(server.bodies(RESULT).at(-1)?.result, 'The editor was closed.');
});
