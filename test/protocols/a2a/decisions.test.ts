import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, task } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

test('an agent that lets go of every subscription at once is not asked without end: the user decides', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        setTimeout(() => reply.cut(), 10);
      },
      'tasks/resubscribe': (_, reply) => {
        reply.record(task('working'));
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('working')),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  assert.equal(agent.requests('tasks/resubscribe').length, 4, 'as often as there are pauses');
  session.answer(ask, { kind: 'option', optionId: 'yes' });
  const again = await session.until('the next question', (now) => now.asks.some((one) => one.id !== ask.id));
  assert.equal(agent.requests('tasks/resubscribe').length, 8);
  session.answer(again.asks[0] ?? ask, { kind: 'option', optionId: 'no' });
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, turn.error?.next], ['failed', ['continue']]);
});
