import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, output, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { call, talk, textOf } from './talk.ts';

const asking = (id: string, more: object = {}): readonly WireChunk[] => [
  called(id, 'delete_file', { path: `${id}.txt` }),
  { type: 'tool-approval-request', approvalId: `a-${id}`, toolCallId: id, ...more },
];
const end = [stepEnd, finish('tool-calls')];

test('allow: the answer is posted in the part and the output belongs to the earlier step', async (t) => {
  const { server, say, asked, answer, ended, turn } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, ...asking('c', { reason: 'It is not in version control.' }), ...end)
          : reply.all(start('m'), output('c', 'deleted'), step, ...said('Gone.'), stepEnd, finish('stop')),
    },
  });
  const id = say('go');
  const ask = await asked();
  assert.ok(ask.kind === 'approval' && ask.detail.type === 'text');
  assert.deepEqual(
    [ask.title, ask.callId, ask.options.map((option) => option.effect)],
    ['delete_file', 'c', ['allow_once', 'allow_always', 'reject_once']],
  );
  assert.match(ask.detail.text, /not in version control[\s\S]*c\.txt/);
  assert.equal(call(turn(id), 'c').status, 'waiting');
  answer(ask, 'allow');
  const done = await ended(id);
  assert.deepEqual([done.status, textOf(done), call(done, 'c').status], ['done', 'Gone.', 'done']);
  const body = server.bodies('/api/chat')[1]!;
  assert.deepEqual(body.messages.at(-1)?.parts.at(-1), {
    type: 'tool-delete_file',
    toolCallId: 'c',
    state: 'approval-responded',
    input: { path: 'c.txt' },
    approval: { id: 'a-c', requestReason: 'It is not in version control.', approved: true },
  });
  assert.deepEqual([body.trigger, body.messageId], ['submit-message', 'm']);
});
