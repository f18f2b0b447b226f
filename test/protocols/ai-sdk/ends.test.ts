import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { finish, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { noticesOf, talk, textOf } from './talk.ts';

async function one(t: TestContext, route: Route, more: Record<string, Route> = {}) {
  const { server, prompt, now } = await talk(t, { routes: { '/api/chat': route, ...more } });
  return { server, turn: await prompt(), now };
}

test('an error in the middle of the stream: what came stays, reading goes on to the end', async (t) => {
  const { turn } = await one(t, (reply) =>
    reply.all(start('m'), step, ...said('half'), { type: 'error', errorText: 'quota' }, ...said(' more', 'u'), stepEnd, finish('error')),
  );
  assert.deepEqual([turn.status, textOf(turn), turn.error?.message, turn.error?.next], ['failed', 'half| more', 'quota', ['retry']]);
});

test('an error after finish', async (t) => {
  const { turn } = await one(t, (reply) => reply.all(start('m'), ...said('all'), finish('stop'), { type: 'error', errorText: 'late' }));
  assert.deepEqual([turn.status, turn.error?.message], ['failed', 'late']);
});

test('a masked error says that it is masked', async (t) => {
  const { turn } = await one(t, (reply) => reply.all({ type: 'error', errorText: 'An error occurred.' }));
  assert.match(turn.error?.message ?? '', /without details/);
});

test('an abort chunk: cancelled by the server, with its reason', async (t) => {
  const { turn } = await one(t, (reply) => reply.all(start('m'), ...said('so far'), { type: 'abort', reason: 'shutting down' }));
  assert.deepEqual([turn.status, noticesOf(turn), textOf(turn)], ['cancelled', ['shutting down'], 'so far']);
});

test('cut with nothing to resume (204, 404, 410, 422): failed with Retry, what came stays', async (t) => {
  for (const status of [204, 404, 410, 422]) {
    const { turn, server } = await one(
      t,
      (reply) =>
        reply
          .open()
          .send(start('m'), ...said('so far'))
          .cut(),
      {
        '/api/chat/*': (reply) => {
          reply.response.writeHead(status);
          reply.end();
        },
      },
    );
    assert.deepEqual([turn.status, textOf(turn), turn.error?.next], ['failed', 'so far', ['retry']]);
    assert.equal(server.asked.length, 2, 'asked once whether it can be resumed');
  }
});

test('cut, and the server fails while it is asked to resume: three tries, no more', async (t) => {
  const { turn, server } = await one(
    t,
    (reply) =>
      reply
        .open()
        .send(start('m'), ...said('so far'))
        .cut(),
    { '/api/chat/*': (reply) => reply.json(500, {}) },
  );
  assert.deepEqual([turn.status, server.asked.length], ['failed', 4]);
});

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
  assert.match(json.turn.error?.message ?? '', /did not answer with a stream.*application\/json/);
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
  assert.match(marked.turn.error?.message ?? '', /older/);
  const bare = await one(t, (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/plain' });
    reply.response.end('0:"hello"\n');
  });
  assert.match(bare.turn.error?.message ?? '', /older/);
  const transport = await one(t, (reply) => reply.all({ type: 'part-start', part: { type: 'text' } }));
  assert.match(transport.turn.error?.message ?? '', /older/);
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
  assert.match(turn.error?.message ?? '', /Nothing answers/);
});

test('length, content-filter and interrupted end with a banner', async (t) => {
  for (const [reason, words] of [
    ['length', /greatest length/],
    ['content-filter', /content filter/],
    ['interrupted', /interrupted/],
  ] as const) {
    const { turn } = await one(t, (reply) => reply.all(start('m'), ...said('part'), finish(reason)));
    assert.equal(turn.status, 'done');
    assert.match(noticesOf(turn).join(), words);
  }
});

test('unknown, missing and made-up finish reasons are a normal end', async (t) => {
  for (const reason of ['unknown', undefined, 'because', 'other']) {
    const { turn } = await one(t, (reply) => reply.all(start('m'), ...said('fine'), finish(reason)));
    assert.deepEqual([turn.status, noticesOf(turn)], ['done', []]);
  }
});

test('an empty answer says so and leaves no empty message behind', async (t) => {
  const { server, prompt } = await talk(t, { routes: { '/api/chat': (reply) => reply.all(start('m')) } });
  assert.match(noticesOf(await prompt()).join(), /empty answer/);
  await prompt('still there?');
  assert.deepEqual(
    server.bodies('/api/chat')[1]?.messages.map((message) => message.role),
    ['user', 'user'],
  );
});

test('a duplicate finish changes nothing', async (t) => {
  const { turn } = await one(t, (reply) => reply.all(start('m'), ...said('x'), finish('stop'), finish('stop')));
  assert.equal(turn.status, 'done');
});
