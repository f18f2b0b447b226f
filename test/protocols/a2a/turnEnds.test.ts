import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Turn } from '../../../src/session/model.ts';
import { callsOf } from '../../../src/session/select.ts';
import { asks, call, data, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);
const told = (turn: Turn) => turn.parts.flatMap((part) => (part.kind === 'notice' ? part.notice.text : [])).join('\n');

const ends: readonly (readonly [string, Json, Turn['status'], RegExp])[] = [
  ['failed', status('failed', 'STATE_CHANGE', [text('Gave up')], { final: true }), 'failed', /Gave up/],
  ['rejected', status('rejected', 'STATE_CHANGE', [text('Not today')], { final: true }), 'failed', /Not today/],
  ['canceled', over('canceled'), 'cancelled', /The agent stopped/],
  ['completed', over('completed'), 'done', /without waiting for your answer/],
];
for (const [state, last, becomes, words] of ends)
  test(`a task that ends ${state} while it waits for a confirmation: the question is taken back, the call is cancelled, the turn ends`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (_, reply) => {
          reply.record(task('submitted'));
          reply.record(call('PENDING', asks));
          reply.record(last);
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    const turn = await session.prompt('go');
    assert.deepEqual([turn.status, callsOf(turn).map((one) => one.status), session.now().asks], [becomes, ['cancelled'], []]);
    assert.match([turn.error?.message, turn.stop, told(turn)].join('\n'), words);
    assert.equal(agent.requests('message/stream').length, 1, 'nothing was answered');
  });

test('records of another task on our stream, its end among them, say nothing about ours', async (t) => {
  const other = (record: Json): Json => ({ ...record, taskId: 'other' });
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('submitted'));
        reply.record(says('Mine, '));
        reply.record(other(says('not mine, ')));
        reply.record(other(status('working', 'TOOL_CALL_UPDATE', [data({ tool_call_id: 'x', status: 'EXECUTING', tool_name: 'x' })])));
        reply.record(other(status('failed', 'STATE_CHANGE', [text('Other failed')], { final: true })));
        reply.record(says('all of it.'));
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turn = await session.prompt('go');
  assert.deepEqual([turn.status, textOf(turn), callsOf(turn).length], ['done', 'Mine, all of it.', 0]);
});

test('an agent that refuses to stop: the user is told, and the next prompt begins another task', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => reply.record(says('Busy.')),
      'tasks/cancel': (_, reply) => reply.error(-32603, 'No brakes.'),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  await session.until('words', (now) => now.turns[0]?.parts.length === 1);
  session.live.send({ type: 'cancel' });
  const turn = await session.ended(turnId);
  assert.equal(turn.status, 'cancelled');
  assert.match(told(turn), /may still be at work.*No brakes/);
  session.begin('next');
  await agent.until('message/stream', 2);
  const sent = agent.requests('message/stream')[1]?.params.message as { readonly taskId?: string; readonly parts: readonly Json[] };
  assert.equal(sent.taskId, undefined);
  assert.match(String(sent.parts[0]?.text), /User: go/);
});
