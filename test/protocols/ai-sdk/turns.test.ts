import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { talk, textOf } from './talk.ts';

// The request as it is on the wire.

test('a plain answer: request fields, text, end', async (t) => {
  const { server, prompt, now } = await talk(t, {
    routes: { '/api/chat': (reply) => reply.all(start('m1'), step, ...said('Hello you.'), stepEnd, finish('stop')) },
    headers: { authorization: 'Bearer k' },
  });
  const turn = await prompt('hi');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Hello you.']);
  const [asked] = server.asked;
  assert.equal(asked?.headers.authorization, 'Bearer k');
  assert.equal(asked?.headers.accept, 'text/event-stream');
  const { body } = asked!;
  assert.match(body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(body.sessionId, body.id);
  assert.equal(body.trigger, 'submit-message');
  assert.equal('messageId' in body, false);
  assert.deepEqual(
    body.messages.map((message) => [message.role, message.parts]),
    [['user', [{ type: 'text', text: 'hi' }]]],
  );
  await prompt('and then?');
  const second = server.bodies('/api/chat')[1]!;
  assert.equal(second.id, body.id);
  assert.deepEqual(
    second.messages.map((message) => [message.role, message.id === 'm1']),
    [
      ['user', false],
      ['assistant', true],
      ['user', false],
    ],
  );
  assert.equal(now().resumeKey, body.id);
});
