import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { finish, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { echoTool, open, person, talk, textOf } from './talk.ts';

const text = (words: string) => [{ type: 'text', text: words }] as const;
const answers = {
  '/api/chat': (reply: import('../../fakes/aiSdk.ts').Reply, _: unknown, n: number) =>
    reply.all(start(`m${n}`), step, ...said(`answer ${n}`), stepEnd, finish('stop')),
};

test('regenerate: the last answer is dropped and asked for anew', async (t) => {
  const { server, live, prompt, now, ended } = await talk(t, { routes: answers });
  const first = await prompt('hi');
  live.send({ type: 'prompt', turnId: 'again', content: first.prompt, replaces: first.id });
  assert.equal(textOf(await ended('again')), 'answer 2');
  const body = server.bodies('/api/chat')[1]!;
  assert.deepEqual([body.trigger, body.messageId, body.messages.length], ['regenerate-message', 'm1', 1]);
  assert.deepEqual(
    now().turns.map((turn) => turn.id),
    ['again'],
  );
});

test('edit an earlier message: the history is cut behind it and its id stays', async (t) => {
  const { server, live, prompt, now, ended } = await talk(t, { routes: answers });
  const first = await prompt('one');
  await prompt('two');
  live.send({ type: 'prompt', turnId: 'edited', content: text('uno'), replaces: first.id });
  assert.equal(textOf(await ended('edited')), 'answer 3');
  const bodies = server.bodies('/api/chat');
  const id = bodies[0]?.messages[0]?.id;
  assert.deepEqual([bodies[2]?.trigger, bodies[2]?.messageId], ['submit-message', id]);
  assert.deepEqual(bodies[2]?.messages, [{ id, role: 'user', parts: [{ type: 'text', text: 'uno' }] }]);
  assert.deepEqual(
    now().turns.map((turn) => turn.id),
    ['edited'],
  );
  await prompt('and on');
  assert.deepEqual(
    server.bodies('/api/chat')[3]?.messages.map((message) => message.role),
    ['user', 'assistant', 'user'],
  );
});

test('an edit of a turn nobody knows is a new message', async (t) => {
  const { server, live, prompt, ended } = await talk(t, { routes: answers });
  await prompt('one');
  live.send({ type: 'prompt', turnId: 'new', content: text('two'), replaces: 'never' });
  assert.equal((await ended('new')).status, 'done');
  assert.equal(server.bodies('/api/chat')[1]?.messages.length, 3);
});

test('a restored conversation can be edited too', async (t) => {
  const first = await talk(t, { tools: [echoTool('look')], routes: answers });
  const turn = await first.prompt('one');
  await first.prompt('two');
  const live = open(`${first.server.url}/api/chat`, {}, first.now());
  await live.start({ key: first.now().resumeKey ?? randomUUID(), history: false });
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  live.send({ type: 'prompt', turnId: 'edited', content: text('uno'), replaces: turn.id });
  await person(live).ended('edited');
  assert.deepEqual(
    first.server.bodies('/api/chat')[2]?.messages.map((message) => message.parts[0]?.text),
    ['uno'],
  );
});
