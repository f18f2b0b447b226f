import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Asked, fakeAgent, type Json, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

const pushing = { capabilities: { streaming: true, pushNotifications: true, extensions: [] } };
const user = (words: string): Json => ({ role: 'user', messageId: 'u', parts: [text(words)] });
const said = (id: string, words: string): Json => ({ role: 'agent', messageId: id, parts: [text(words)] });
const says = (id: string, words: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId: id });
const later = (state: string): Json => task(state, { status: { state, timestamp: new Date(Date.now() + 1000).toISOString() } });

function placeIn({ params }: Asked) {
  const { configuration } = params as { configuration: { pushNotificationConfig: { url: string; token: string } } };
  const { url, token } = configuration.pushNotificationConfig;
  return (body: Json, given = token) =>
    fetch(url, { method: 'POST', headers: { 'x-a2a-notification-token': given }, body: JSON.stringify(body) }).then(({ status }) => status);
}

test('a stream that stays open and says nothing while notifications come is let go of: the task tells the rest, and the turn ends', async (t) => {
  const history: Json[] = [user('go'), said('a', 'Before. ')];
  let state = 'working';
  const agent = await fakeAgent(t, {
    card: pushing,
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('a', 'Before. '));
      },
      'tasks/get': (_, reply) => reply.json({ ...later(state), history }),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  await session.until('words', (now) => now.turns[0]?.parts.length === 1);
  const notify = placeIn(agent.requests('message/stream')[0] as Asked);
  assert.equal(await notify(later('completed'), 'wrong'), 401);
  state = 'completed';
  history.push(said('b', 'Done meanwhile.'));
  assert.equal(await notify(later('completed')), 200);
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Before. Done meanwhile.']);
  assert.equal(agent.requests('tasks/get').length, 1, 'the wrong token had no effect');
});
