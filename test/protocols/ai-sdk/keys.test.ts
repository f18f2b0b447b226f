import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, type Route, said, start, step } from '../../fakes/aiSdk.ts';
import { talk, textOf } from './talk.ts';

// The key goes from the editor's store into a header.

const guarded: Route = (reply, { headers }) =>
  headers.authorization === 'Bearer good'
    ? reply.all(start('m'), step, ...said('Hello.'), finish('stop'))
    : reply.json(401, { error: 'Who are you?' });
const entered = (key: string) => ({ kind: 'fields', values: { key: [key] } }) as const;

test('a server that wants a key: it is asked for as a secret, kept by the editor, and sent from then on', async (t) => {
  const secrets = new Map<string, string>();
  const { server, say, until, answer, ended, prompt, events, live } = await talk(t, { secrets, routes: { '/api/chat': guarded } });
  const id = say('go');
  const [wrong] = (await until((session) => session.asks.length > 0)).asks;
  assert.ok(wrong?.kind === 'question');
  assert.deepEqual([wrong.fields[0]?.kind, /Who are you/.test(wrong.fields[0]?.body ?? '')], ['secret', true]);
  answer(wrong, entered('bad'));
  const [right] = (await until((session) => session.asks.some((ask) => ask.id !== wrong.id))).asks;
  answer(right!, entered(' good '));
  assert.equal(textOf(await ended(id)), 'Hello.');
  assert.equal((await prompt('more')).status, 'done');
  assert.deepEqual(
    server.asked.map((one) => one.headers.authorization),
    [undefined, 'Bearer bad', 'Bearer good', 'Bearer good'],
  );
  assert.deepEqual([...secrets], [[`ai-sdk:${server.url}`, 'good']]);
  assert.equal(JSON.stringify([events, live.store.now]).includes('good'), false, 'neither the session nor its journal knows it');
});
