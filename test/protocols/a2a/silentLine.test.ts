import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, data, fakeAgent, type Json, over, type Reply, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const waits = task('input-required', {
  status: {
    state: 'input-required',
    message: {
      kind: 'message',
      role: 'agent',
      messageId: 'q',
      parts: [data({ tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', input_parameters: { keptAs_is: 1 }, ...asks })],
    },
  },
});
const says = (words: string, messageId: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId });

/** Its first stream breaks after some words; a decision ends the task. */
const breaks = ({ params }: { readonly params: Json }, reply: Reply) => {
  const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
  if (part?.data) {
    reply.record(call('SUCCEEDED'));
    reply.record(over());
    return reply.end();
  }
  reply.record(task('submitted'));
  reply.record(says('I will edit.', 'm-a'));
  setTimeout(() => reply.cut(), 20);
};

for (const [name, subscribed] of [
  ['a subscription that stands and says nothing', (reply: Reply) => reply.raw(': ok\n\n')],
  ['a subscription that ends without a word', (reply: Reply) => reply.end()],
  ['a subscription that is answered with nothing', (reply: Reply) => void reply.response.writeHead(200).end()],
] as const)
  test(`${name}: what began to wait in the cut is asked`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': breaks,
        'tasks/get': (_, reply) => reply.json(waits),
        'tasks/resubscribe': (_, reply) => subscribed(reply),
      },
    });
    const session = talk(t, agent.url);
    await session.opened();
    const turnId = session.begin('go');
    const ask = await session.approval();
    session.answer(ask, option(ask, 'allow_once'));
    const turn = await session.ended(turnId);
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'I will edit.']);
    assert.equal(agent.requests('tasks/resubscribe').length, 1);
  });

test('the task ended in the cut, and the subscription stands without a word: the turn ends with what was said', async (t) => {
  const message = { kind: 'message', role: 'agent', messageId: 'm-b', parts: [text(' It is done.')] };
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': breaks,
      'tasks/get': (_, reply) => reply.json(task('completed', { status: { state: 'completed', message } })),
      'tasks/resubscribe': (_, reply) => reply.raw(': ok\n\n'),
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'I will edit. It is done.']);
});

test('what comes while the task is read stands once, and after what was missed', async (t) => {
  const missed = { kind: 'message', role: 'agent', messageId: 'm-b', parts: [text(' Missed.')] };
  let answer: (() => void) | undefined;
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': breaks,
      'tasks/get': (_, reply) => {
        answer = () => reply.json(task('working', { history: [missed] }));
      },
      'tasks/resubscribe': async (_, reply) => {
        reply.raw(': ok\n\n');
        await agent.until('tasks/get');
        reply.record(says(' Missed.', 'm-b'));
        reply.record(says(' New.', 'm-c'));
        answer?.();
        reply.record(over());
        reply.end();
      },
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'I will edit. Missed. New.']);
  assert.equal(agent.requests('tasks/get').length, 1);
});

test('the agent stands for a subscription to a task it does not know: the turn ends', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': breaks,
      'tasks/get': (_, reply) => reply.error(-32001, 'Task not found'),
      'tasks/resubscribe': (_, reply) => reply.end(),
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, /begins a new task/.test(turn.error?.message ?? '')], ['failed', true]);
  assert.equal(agent.requests('tasks/resubscribe').length, 1);
});
