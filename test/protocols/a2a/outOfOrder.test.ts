import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, data, fakeAgent, type Json, over, type Reply, status, task, text } from '../../fakes/a2a.ts';
import { option, type Talk, talk, textOf } from './talk.ts';

const asking = data({ tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', input_parameters: { keptAs_is: 1 }, ...asks });
const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);
/** What a prompt is answered with; a decision runs the call and ends the task. */
const answered =
  (prompted: (reply: Reply) => void) =>
  ({ params }: { readonly params: Json }, reply: Reply): void => {
    const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
    if (!part?.data) return prompted(reply);
    for (const one of [call('SUCCEEDED'), says('Done.'), over()]) reply.record(one);
    reply.end();
  };
async function allowed(session: Talk) {
  await session.opened();
  const turnId = session.begin('go');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  return session.ended(turnId);
}

test('the agent says that it waits before it says for what: it is asked', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': answered((reply) => {
        for (const one of [task('submitted'), says('I will. '), over('input-required'), call('PENDING', asks)]) reply.record(one);
        reply.end();
      }),
    },
  });
  const turn = await allowed(talk(t, agent.url));
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'I will. Done.']);
  assert.equal(agent.requests('message/stream').length, 2);
});

test('the question about a call is lost on the way: the task is looked at once', async (t) => {
  const message = { kind: 'message', role: 'agent', messageId: 'q', parts: [asking] };
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': answered((reply) => {
        for (const one of [task('submitted'), call('PENDING'), over('input-required')]) reply.record(one);
        reply.end();
      }),
      'tasks/get': (_, reply) => reply.json(task('input-required', { status: { state: 'input-required', message } })),
    },
  });
  const turn = await allowed(talk(t, agent.url));
  assert.deepEqual([turn.status, agent.requests('tasks/get').length], ['done', 1]);
});

test('a call that stands still and of which the task says no more: the turn ends', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': answered((reply) => {
        for (const one of [task('submitted'), call('PENDING'), over('input-required')]) reply.record(one);
        reply.end();
      }),
      'tasks/get': (_, reply) => reply.error(-32603, 'No'),
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, agent.requests('tasks/get').length], ['done', 1]);
});

test('a body that stays open after the agent said that it waits does not hold up the end of the turn', async (t) => {
  const agent = await fakeAgent(t, {
    on: { 'message/stream': (_, reply) => [task('submitted'), says('Well?'), over('input-required')].forEach(reply.record) },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn), agent.requests('tasks/get').length], ['done', 'Well?', 2]);
});

test('the stream of a decision begins with the last word of the one before: what follows is heard', async (t) => {
  const rests = over('input-required');
  let prompts = 0;
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        prompts += 1;
        const first = [task('submitted'), call('PENDING', asks), rests];
        for (const one of prompts === 1 ? first : [rests, call('EXECUTING'), call('SUCCEEDED'), says('All done.'), over()])
          reply.record(one);
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('completed', { history: [] })),
    },
  });
  const turn = await allowed(talk(t, agent.url));
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'All done.']);
});
