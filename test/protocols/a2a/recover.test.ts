import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session } from '../../../src/session/model.ts';
import { fakeAgent, over, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

test('an agent that goes on with every subscription, however often it breaks, is subscribed to again', async (t) => {
  const words = ['One ', 'two ', 'three ', 'four ', 'five.'];
  const says = (at: number) => status('working', 'TEXT_CONTENT', [text(words[at] ?? '')], { messageId: `w${at}` });
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        // What is cut at once may never be read.
        void session.until('the task', ({ resumeKey }) => resumeKey?.includes('t1') === true).then(() => reply.cut());
      },
      'tasks/get': (_, reply) => reply.json(task('working')),
      'tasks/resubscribe': (_, reply, at) => {
        reply.record(task('working'));
        reply.record(says(at));
        const said = ({ turns: [turn] }: Session) => turn !== undefined && textOf(turn).includes(words[at] ?? '');
        if (at < words.length - 1) return void session.until('the words', said).then(() => reply.cut());
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url, { timing: { retries: [0, 0] } });
  const asked: string[] = [];
  session.live.store.onChange(() => asked.push(...session.now().asks.map(({ title }) => title)));
  const turn = await session.prompt('count');
  assert.deepEqual([turn.status, textOf(turn), asked], ['done', words.join(''), []]);
});
