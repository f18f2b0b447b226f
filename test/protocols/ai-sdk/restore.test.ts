import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { newSession } from '../../../src/session/reduce.ts';
import { called, finish, output, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { echoTool, open, person, talk } from './talk.ts';

// Memory that conversations of one server share, and settings that are read again: both lie beside the machine, and show in the requests.

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
