import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, said, start, type WireChunk } from '../../fakes/aiSdk.ts';
import { talk, textOf } from './talk.ts';

// The addresses of a resumed response are made from headers and options.

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
