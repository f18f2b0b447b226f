import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { called, finish, output, type Reply, type Route, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { echoTool, open, person, talk, textOf } from './talk.ts';

const delta = (text: string): WireChunk => ({ type: 'text-delta', id: 't', delta: text });
const opening: WireChunk = { type: 'text-start', id: 't' };

test('a replay shows nothing twice, and goes on where it was', async (t) => {
  const { server, prompt, events } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.open().send(start('m'), step, opening, delta('one '), delta('two ')).cut(),
      '/api/chat/*': (reply) =>
        reply.all(start('m'), step, opening, delta('one two '), delta('three'), { type: 'text-end', id: 't' }, stepEnd, finish('stop')),
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'one two three']);
  assert.equal(events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])).join(''), 'one two three');
  assert.equal(server.asked[1]?.method, 'GET');
  assert.equal(server.asked[1]?.path, `/api/chat/${server.bodies('/api/chat')[0]?.id}/stream`);
  await prompt('next');
  assert.deepEqual(server.bodies('/api/chat')[1]?.messages[1]?.parts, [
    { type: 'step-start' },
    { type: 'text', text: 'one two three', state: 'done' },
  ]);
});

test('a replay that differs takes the place of what was shown', async (t) => {
  const { prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.open().send(start('m'), step, opening, delta('one ')).cut(),
      '/api/chat/*': (reply) => reply.all(start('m'), step, opening, delta('another'), finish('stop')),
    },
  });
  assert.equal(textOf(await prompt()), 'another');
});

test('the tail only: deltas of blocks that were open go on', async (t) => {
  for (const options of [{ replay: 'false' }, {}]) {
    const { prompt } = await talk(t, {
      options: options as Record<string, string>,
      routes: {
        '/api/chat': (reply) => reply.open().send(start('m'), step, opening, delta('one ')).cut(),
        '/api/chat/*': (reply) => reply.all(delta('two'), { type: 'text-end', id: 't' }, finish('stop')),
      },
    });
    assert.equal(textOf(await prompt()), 'one two');
  }
});

test('another message id: another message, the cut one stays', async (t) => {
  const { server, prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply
              .open()
              .send(start('m'), ...said('first'))
              .cut()
          : reply.all(...said('ok'), finish()),
      '/api/chat/*': (reply) => reply.all(start('other'), ...said('second'), finish('stop')),
    },
  });
  assert.equal(textOf(await prompt()), 'first|second');
  await prompt();
  assert.deepEqual(
    server
      .bodies('/api/chat')[1]
      ?.messages.map((message) => message.id)
      .slice(1, 3),
    ['m', 'other'],
  );
});

test('a continuation replays only itself: the parts before it stay', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [echoTool('look')],
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 1)
          return reply.all(start('m'), step, ...said('First.'), called('c', 'look', { path: 'x' }), stepEnd, finish('tool-calls'));
        if (n === 2) return reply.open().send(start('m'), step, opening, delta('Then ')).cut();
        return reply.all(...said('bye'), finish());
      },
      '/api/chat/*': (reply) => reply.all(start('m'), step, opening, delta('Then '), delta('that.'), stepEnd, finish('stop')),
    },
  });
  assert.equal(textOf(await prompt()), 'First.|Then that.');
  await prompt();
  assert.deepEqual(
    server.bodies('/api/chat')[2]?.messages[1]?.parts.map((part) => part.type),
    ['step-start', 'text', 'tool-look', 'step-start', 'text'],
  );
});

test('cut again and again: it goes on as long as something new comes', async (t) => {
  const { prompt } = await talk(t, {
    options: { replay: 'false' },
    routes: {
      '/api/chat': (reply) => reply.open().send(start('m'), opening, delta('0')).cut(),
      '/api/chat/*': (reply, _, n) =>
        n < 8
          ? reply
              .open()
              .send(delta(String(n)))
              .cut()
          : reply.open().send(delta('!'), finish('stop')).done(),
    },
  });
  assert.equal(textOf(await prompt()), '01234567!');
});

test('our call in a replay: it does not run again, and its result is posted', async (t) => {
  let ran = 0;
  let first: Reply | undefined;
  const chunks = [start('m'), step, called('c', 'look', { path: 'x' })];
  const { server, prompt } = await talk(t, {
    tools: [
      echoTool('look', async () => {
        ran += 1;
        first?.cut();
        return { ok: true, text: 'R' };
      }),
    ],
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n > 1) return reply.all(start('m'), step, ...said('ok'), finish('stop'));
        first = reply.open().send(...chunks);
        return undefined;
      },
      '/api/chat/*': (reply) => reply.all(...chunks, stepEnd, finish('tool-calls')),
    },
  });
  assert.equal(textOf(await prompt()), 'ok');
  assert.deepEqual([ran, server.bodies('/api/chat').length], [1, 2]);
});

test('a call of ours that the replay shows as answered is not answered again', async (t) => {
  let first: Reply | undefined;
  const chunks = [start('m'), step, called('c', 'look', { path: 'x' })];
  const { server, prompt } = await talk(t, {
    tools: [
      echoTool('look', (_, signal) => {
        first?.cut();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: true, text: 'late' })));
      }),
    ],
    routes: {
      '/api/chat': (reply) => {
        first = reply.open().send(...chunks);
      },
      '/api/chat/*': (reply) => reply.all(...chunks, output('c', 'theirs'), stepEnd, step, ...said('ok'), finish('stop')),
    },
  });
  assert.equal((await prompt()).status, 'done');
  assert.equal(server.bodies('/api/chat').length, 1);
});

test('switched off, and by an address that the response names', async (t) => {
  const off = await talk(t, {
    options: { resumeUrl: 'none' },
    routes: {
      '/api/chat': (reply) =>
        reply
          .open()
          .send(start('m'), ...said('x'))
          .cut(),
    },
  });
  assert.equal((await off.prompt()).status, 'failed');
  assert.equal(off.server.asked.length, 1);
  const named = await talk(t, {
    options: { resumeUrl: '/resume?id={resumableId}' },
    routes: {
      '/api/chat': (reply) => reply.open({ 'x-resumable-stream-id': 'r/1' }).send(start('m'), opening, delta('x')).cut(),
      '/resume': (reply) => reply.all(start('m'), opening, delta('xy'), finish()),
    },
  });
  assert.equal(textOf(await named.prompt()), 'xy');
});

test('a workflow run is asked for the chunks after those that came', async (t) => {
  const urls: (string | undefined)[] = [];
  const { prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.open({ 'x-workflow-run-id': 'run7' }).send(start('m'), opening, delta('x')).cut(),
      '/api/chat/run7/stream': (reply) => {
        urls.push(reply.response.req.url);
        reply.all(delta('y'), finish());
      },
    },
  });
  assert.equal(textOf(await prompt()), 'xy');
  assert.deepEqual(urls, ['/api/chat/run7/stream?startIndex=3']);
});

/** Closes the window in the middle of a response and opens it again. */
async function reopened(t: TestContext, routes: Record<string, Route>, beginning: readonly WireChunk[]) {
  const first = await talk(t, { routes: { '/api/chat': (reply) => void reply.open().send(...beginning), ...routes } });
  first.say('go');
  await first.until((session) => session.turns[0]?.parts.length === 1);
  await first.live.stop();
  const restored = open(`${first.server.url}/api/chat`, {}, first.now());
  await restored.start({ key: first.now().resumeKey ?? assert.fail(), history: false });
  t.after(async () => {
    await restored.stop();
    restored.dispose();
  });
  return { server: first.server, ...person(restored) };
}

test('a window that was closed in the middle picks the response up where it still runs', async (t) => {
  const { now, until } = await reopened(
    t,
    { '/api/chat/*': (reply) => reply.all(start('m'), step, opening, delta('one '), delta('two'), stepEnd, finish('stop')) },
    [start('m'), step, opening, delta('one ')],
  );
  await until((session) => session.turns.length === 1 && session.turns[0]?.status === 'done');
  const [turn] = now().turns;
  assert.deepEqual([turn && textOf(turn), turn?.prompt], ['one two', [{ type: 'text', text: 'go' }]]);
});

test('a window that was closed in the middle, where nothing runs any more: the turn stays as it was', async (t) => {
  const { server, now, until, live, ended } = await reopened(t, {}, [start('m'), step, opening, delta('one ')]);
  await until((session) => session.link.state === 'ready');
  while (server.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
  live.send({ type: 'prompt', turnId: 'next', content: [{ type: 'text', text: 'next' }] });
  live.send({ type: 'cancel' });
  await ended('next');
  assert.deepEqual(now().turns.map((turn) => [turn.status, textOf(turn)])[0], ['failed', 'one ']);
});
