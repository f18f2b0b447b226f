import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Route } from '../../fakes/aiSdk.ts';
import { talk } from './talk.ts';

// What HTTP says, status, headers and redirects, becomes words for the user.

async function one(t: TestContext, route: Route, more: Record<string, Route> = {}) {
  const { server, prompt, now } = await talk(t, { routes: { '/api/chat': route, ...more } });
  return { server, turn: await prompt(), now };
}

test('401 offers the settings; 429 says how long to wait; neither is sent again', async (t) => {
  const locked = await one(t, (reply) => reply.json(401, { error: { message: 'no key' } }));
  assert.match(locked.turn.error?.message ?? '', /401: no key/);
  assert.ok(locked.turn.error?.next?.includes('openSettings'));
  const busy = await one(t, (reply) => reply.json(429, { detail: 'slow down' }, { 'retry-after': '30' }));
  assert.match(busy.turn.error?.message ?? '', /slow down.*30 s/);
  assert.deepEqual([locked.server.asked.length, busy.server.asked.length], [1, 1]);
});

test('500 and a page for a browser are told in a line', async (t) => {
  const { turn } = await one(t, (reply) => {
    reply.response.writeHead(502, { 'content-type': 'text/html' });
    reply.response.end(`<html><head><title>Bad gateway</title></head>${'<p>x</p>'.repeat(100_000)}`);
  });
  assert.match(turn.error?.message ?? '', /status 502: Bad gateway$/);
});

test('200 without a stream is an error', async (t) => {
  const json = await one(t, (reply) => reply.json(200, { ok: true }));
  assert.match(json.turn.error?.message ?? '', /cannot read: .*no stream.*application\/json/);
  const html = await one(t, (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/html' });
    reply.response.end('<html>login</html>');
  });
  assert.equal(html.turn.status, 'failed');
  const empty = await one(t, (reply) => {
    reply.response.writeHead(204);
    reply.response.end();
  });
  assert.equal(empty.turn.status, 'failed');
});

test('200 in an older protocol is named', async (t) => {
  const marked = await one(t, (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/plain', 'x-vercel-ai-data-stream': 'v1' });
    reply.response.end('0:"hello"\n');
  });
  assert.match(marked.turn.error?.message ?? '', /AI SDK 4/);
  const bare = await one(t, (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/plain' });
    reply.response.end('0:"hello"\n');
  });
  assert.match(bare.turn.error?.message ?? '', /AI SDK 4/);
  const transport = await one(t, (reply) => reply.all({ type: 'part-start', part: { type: 'text' } }));
  assert.match(transport.turn.error?.message ?? '', /AI SDK 4/);
});

test('a redirect to another origin is not followed, and names where it leads', async (t) => {
  const { turn } = await one(t, (reply) => {
    reply.response.writeHead(307, { location: 'http://127.0.0.1:1/api/chat' });
    reply.response.end();
  });
  assert.match(turn.error?.message ?? '', /http:\/\/127\.0\.0\.1:1\/api\/chat/);
});

test('nobody there', async (t) => {
  const { server, prompt } = await talk(t, { routes: {} });
  await server.stop();
  server.stop = async () => {};
  const turn = await prompt();
  assert.match(turn.error?.message ?? '', /could not be reached/);
});

test('an older protocol is named by its header, before the body ends', async (t) => {
  const { turn } = await one(t, (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-data-stream': 'v1' });
    reply.response.write('0:"hello"\n');
  });
  assert.match(turn.error?.message ?? '', /AI SDK 4/);
});
