import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);
const of = (taskId: string, record: Json): Json => ({ ...record, ...('id' in record ? { id: taskId } : { taskId }), contextId: 'cX' });

const foreign: readonly (readonly [string, Json])[] = [
  ['a failed task, whole', task('failed')],
  ['a running task, whole', task('working')],
];
for (const [how, record] of foreign)
  test(`a task that comes in the middle of ours is not taken for ours: ${how}`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (_, reply, at) => {
          reply.record(task('working'));
          if (at === 0) {
            reply.record(of('tX', record));
            reply.record(says('Ours.'));
          }
          reply.record(over());
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    const turn = await session.prompt('hi');
    assert.deepEqual([turn.status, turn.error, textOf(turn)], ['done', undefined, 'Ours.']);
    await session.prompt('and on');
    const message = agent.requests('message/stream').at(-1)?.params.message as Json | undefined;
    assert.deepEqual([message?.taskId, message?.contextId], ['t1', 'c1'], 'the conversation goes on where it was');
  });

test('the end of another task at the head of a decision’s stream leaves the decided call its own end', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) for (const one of [task('submitted'), call('PENDING', asks), over('input-required')]) reply.record(one);
        else for (const one of [of('tX', over('failed')), call('SUCCEEDED'), says('Ours.'), over()]) reply.record(one);
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('hi');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Ours.']);
});
