import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, output, type Reply, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { echoTool, talk, textOf } from './talk.ts';

const delta = (text: string): WireChunk => ({ type: 'text-delta', id: 't', delta: text });
const open: WireChunk = { type: 'text-start', id: 't' };

test('a replay shows nothing twice, and goes on where it was', async (t) => {
  const { server, prompt, events } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.open().send(start('m'), step, open, delta('one '), delta('two ')).cut(),
      '/api/chat/*': (reply) =>
        reply.all(start('m'), step, open, delta('one two '), delta('three'), { type: 'text-end', id: 't' }, stepEnd, finish('stop')),
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'one two three']);
  assert.equal(events.flatMap((event) => (event.type === 'text.grew' ? [event.text] : [])).join(''), 'one two three');
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
      '/api/chat': (reply) => reply.open().send(start('m'), step, open, delta('one ')).cut(),
      '/api/chat/*': (reply) => reply.all(start('m'), step, open, delta('another'), finish('stop')),
    },
  });
  assert.equal(textOf(await prompt()), 'another');
});

test('the tail only: deltas of blocks that were open go on', async (t) => {
  for (const options of [{ replay: 'false' }, {}]) {
    const { prompt } = await talk(t, {
      options: options as Record<string, string>,
      routes: {
        '/api/chat': (reply) => reply.open().send(start('m'), step, open, delta('one ')).cut(),
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
        if (n === 2) return reply.open().send(start('m'), step, open, delta('Then ')).cut();
        return reply.all(...said('bye'), finish());
      },
      '/api/chat/*': (reply) => reply.all(start('m'), step, open, delta('Then '), delta('that.'), stepEnd, finish('stop')),
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
      '/api/chat': (reply) => reply.open().send(start('m'), open, delta('0')).cut(),
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
      '/api/chat': (reply) => reply.open({ 'x-resumable-stream-id': 'r/1' }).send(start('m'), open, delta('x')).cut(),
      '/resume': (reply) => reply.all(start('m'), open, delta('xy'), finish()),
    },
  });
  assert.equal(textOf(await named.prompt()), 'xy');
});

test('a workflow run is asked for the chunks after those that came', async (t) => {
  const urls: (string | undefined)[] = [];
  const { prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.open({ 'x-workflow-run-id': 'run7' }).send(start('m'), open, delta('x')).cut(),
      '/api/chat/run7/stream': (reply) => {
        urls.push(reply.response.req.url);
        reply.all(delta('y'), finish());
      },
    },
  });
  assert.equal(textOf(await prompt()), 'xy');
  assert.deepEqual(urls, ['/api/chat/run7/stream?startIndex=3']);
});
