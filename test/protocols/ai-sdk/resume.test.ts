import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { finish, type Route, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { open, person, talk, textOf } from './talk.ts';

const delta = (text: string): WireChunk => ({ type: 'text-delta', id: 't', delta: text });
const opening: WireChunk = { type: 'text-start', id: 't' };

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
