import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, over, status, task, text } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);

test('a prompt whose line breaks before the agent said anything is not taken for answered by the task as it stood before', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at > 0) return reply.cut();
        for (const one of [task('working'), says('One.'), over('input-required')]) reply.record(one);
        reply.end();
      },
      'tasks/resubscribe': (_, reply) => {
        reply.record(task('input-required'));
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('input-required')),
    },
  });
  const session = talk(t, agent.url);
  await session.prompt('one');
  const turn = await session.prompt('two');
  assert.deepEqual([turn.status, turn.error?.next], ['failed', ['retry']]);
  assert.equal(agent.requests('message/stream').length, 2, 'it was not sent twice');
});
