import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, type Json, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

const user = (id: string, words: string): Json => ({ role: 'user', messageId: id, parts: [text(words)] });
const said = (id: string, words: string): Json => ({ role: 'agent', messageId: id, parts: [text(words)] });
const says = (id: string, words: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId: id });

test('a window that goes in its first turn knows the task: the next one catches up with it, and no prompt is sent twice', async (t) => {
  const history: Json[] = [user('u', 'go'), said('a', 'Slow. ')];
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('a', 'Slow. '));
      },
      'tasks/get': (_, reply) => reply.json(task('completed', { history })),
    },
  });
  const session = talk(t, agent.url);
  session.begin('go');
  const { resumeKey } = await session.until('its key and words', (now) => now.resumeKey !== undefined && now.turns[0]?.parts.length === 1);
  assert.deepEqual(JSON.parse(resumeKey ?? ''), { taskId: 't1', contextId: 'c1' });
  history.push(said('b', 'Done meanwhile.'));
  await session.reopen();
  const now = await session.until('what was missed', ({ turns }) => turns.at(-1)?.status === 'done');
  assert.equal(now.turns.map(textOf).join('|'), 'Slow. Done meanwhile.');
  assert.equal(agent.requests('message/stream').length, 1);
});
