import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, data, fakeAgent, type Json, over, type Reply, status, task, text } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const decided = (params: Json) =>
  (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts.some((part) => part.data);
const words = status('working', 'TEXT_CONTENT', [text('I will edit.')]);
const inTask = (id: string) =>
  task('input-required', {
    status: {
      state: 'input-required',
      message: {
        kind: 'message',
        role: 'agent',
        messageId: 'q',
        parts: [data({ tool_call_id: id, status: 'PENDING', tool_name: 'write_file', input_parameters: {}, ...asks })],
      },
    },
  });

for (const [what, said] of [
  ['nothing of a call', words],
  ['only a call that was done', call('SUCCEEDED')],
] as const)
  test(`the agent rests and has said ${what}: what its task waits for is asked`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': ({ params }, reply) => {
          for (const one of decided(params) ? [call('SUCCEEDED'), over()] : [task('submitted'), said, over('input-required')])
            reply.record(one);
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(inTask('k2')),
      },
    });
    const session = talk(t, agent.url);
    const turnId = session.begin('go');
    const ask = await session.approval();
    session.answer(ask, option(ask, 'allow_once'));
    assert.equal((await session.ended(turnId)).status, 'done');
    assert.equal(agent.requests('tasks/get').length, 1);
  });

test('a body that stays open: the task is looked at, and what comes on the body after that is asked', async (t) => {
  let open: Reply | undefined;
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': ({ params }, reply) => {
        if (!decided(params)) open = reply;
        for (const one of decided(params) ? [call('SUCCEEDED'), over()] : [task('submitted'), words, over('input-required')])
          reply.record(one);
        if (decided(params)) reply.end();
      },
      'tasks/get': (_, reply) => {
        reply.json(task('input-required'));
        open?.record(call('PENDING', asks));
        open?.end();
      },
    },
  });
  const session = talk(t, agent.url, { timing: { lastWords: 1000 } });
  const turnId = session.begin('go');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
});
