import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Session } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { called, finish, output, type Route, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { echoTool, open, person, type TalkOptions, talk } from './talk.ts';

/** The same conversation in the next window: everything it knows went through JSON. */
async function nextWindow(t: TestContext, url: string, session: Session, options: Omit<TalkOptions, 'routes'> = {}) {
  const live = open(`${url}/api/chat`, options, JSON.parse(JSON.stringify(session)) as Session);
  // As the journal does: what was under way is over.
  live.interrupt();
  await live.restart();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  const now = person(live);
  await now.until((one) => one.link.state === 'ready');
  return now;
}

/** A first answer, then the same for everything that follows. */
const then =
  (...chunks: readonly WireChunk[]): Route =>
  (reply, _, n) =>
    n === 1 ? reply.all(...chunks) : reply.all(start(`m${n}`), step, ...said('ok'), stepEnd, finish('stop'));

test('what is posted after a reload is what was posted before it: ids, thoughts, signatures, metadata, outputs', async (t) => {
  const signature = { anthropic: { signature: 'EqQBCkYIAxgC/+=', redactedData: null } };
  const { server, prompt, now } = await talk(t, {
    routes: {
      '/api/chat': then(
        start('m'),
        { type: 'message-metadata', messageMetadata: { model: 'x', cost: 0.5 } },
        step,
        { type: 'reasoning-start', id: 'r', providerMetadata: signature },
        { type: 'reasoning-delta', id: 'r', delta: 'Let me see.' },
        { type: 'reasoning-end', id: 'r', providerMetadata: signature },
        ...said('I look.'),
        called('c', 'look', { path: 'a' }, { providerMetadata: { google: { thoughtSignature: 'abc' } } }),
        output('c', { deep: [1, null, 'x'] }, { providerMetadata: { google: { n: 1 } } }),
        { type: 'source-url', sourceId: 's', url: 'https://example.test/', title: 'Source' },
        { type: 'data-plan', id: 'p', data: { items: [1] } },
        stepEnd,
        finish('stop'),
      ),
    },
  });
  await prompt('first');
  await prompt('second');
  const before = server.bodies('/api/chat')[1]?.messages.slice(0, 2);
  const after = await nextWindow(t, server.url, now());
  after.live.send({ type: 'prompt', turnId: 'third', content: [{ type: 'text', text: 'third' }] });
  await after.ended('third');
  const body = server.bodies('/api/chat')[2];
  assert.deepEqual(body?.messages.slice(0, 2), before);
  assert.equal(body?.messages[2]?.id, server.bodies('/api/chat')[1]?.messages[2]?.id, 'the ids of the user too');
  assert.equal(body?.id, server.bodies('/api/chat')[0]?.id);
  assert.match(JSON.stringify(before), /EqQBCkYIAxgC/);
});

test('the second conversation with a server begins with what the first has learned', async (t) => {
  const memory = new Map();
  let held: import('../../fakes/aiSdk.ts').Reply | undefined;
  const routes: Record<string, Route> = {
    '/api/chat': (reply, _, n) => {
      held = reply.open().send(start(`m${n}`), step, called(`c${n}`, 'look', { path: 'a' }));
    },
    '/chat/tool-result': (reply, { body }) => {
      reply.json(200, { ok: true });
      held?.send(output(body.tool_call_id ?? '', body.result), stepEnd, step, ...said('ok'), finish('stop')).done();
    },
  };
  const tools = [echoTool('look')];
  const first = await talk(t, { tools, routes, memory });
  assert.equal((await first.prompt()).status, 'done');
  // Silence is never waited for again: this would be for ever.
  const live = open(
    `${first.server.url}/api/chat`,
    { tools, memory, timing: { quiet: 2 ** 31 - 1 } },
    newSession(randomUUID(), { protocol: 'ai-sdk', name: 'x' }, '/w'),
  );
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  assert.equal((await person(live).prompt()).status, 'done');
  assert.deepEqual(
    first.server.asked.map((one) => one.path),
    ['/api/chat', '/api/chat/tool-result', '/chat/tool-result', '/api/chat', '/chat/tool-result'],
    'the address that was found is the only one tried',
  );
});

test('headers that were set since are sent with the next request, and an address that was mended is used', async (t) => {
  const { server, live, prompt, headers, moved } = await changing(t);
  const refused = await prompt('go');
  assert.deepEqual([refused.status, refused.error?.code], ['failed', '401']);
  headers({ authorization: 'Bearer good' });
  assert.equal((await prompt('go')).status, 'done');
  moved('/other/chat');
  assert.equal((await prompt('more')).status, 'done');
  assert.deepEqual(
    server.asked.map((one) => [one.path, one.headers.authorization]),
    [
      ['/api/chat', 'Bearer old'],
      ['/api/chat', 'Bearer good'],
      ['/other/chat', 'Bearer good'],
    ],
  );
  assert.equal(live.store.now.notices.length, 0);
});

async function changing(t: TestContext) {
  const answer: Route = (reply) => reply.all(start('m'), step, ...said('ok'), finish('stop'));
  const profile = { headers: { authorization: 'Bearer old' }, path: '/api/chat' };
  const talking = await talk(t, {
    routes: {
      '/api/chat': (reply, asked, n) =>
        asked.headers.authorization === 'Bearer good' ? answer(reply, asked, n) : reply.json(401, { error: 'no' }),
      '/other/chat': answer,
    },
    profile,
  });
  return {
    ...talking,
    headers: (headers: { authorization: string }) => {
      profile.headers = headers;
    },
    moved: (path: string) => {
      profile.path = path;
    },
  };
}
