import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { call, data, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

const user = (id: string, words: string): Json => ({ role: 'user', messageId: id, parts: [text(words)] });
const said = (id: string, words: string): Json => ({ role: 'agent', messageId: id, parts: [text(words)] });
const says = (id: string, words: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId: id });

for (const [how, id] of [
  ['under the same name', 'a'],
  ['under a new name', 'z'],
] as const)
  test(`a message that was cut in the middle gives its rest, ${how}`, async (t) => {
    const now = task('completed', { history: [user('u', 'go'), said(id, 'Hello wonderful world.')] });
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (_, reply) => {
          reply.record(task('working'));
          reply.record(says('a', 'Hel'));
          reply.record(says('a', 'lo '));
          setTimeout(() => reply.cut(), 20);
        },
        'tasks/resubscribe': (_, reply) => {
          reply.record(now);
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(now),
      },
    });
    const turn = await talk(t, agent.url).prompt('go');
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'Hello wonderful world.']);
  });

for (const renamed of [false, true])
  test(`a later turn that was cut shows what is its own only${renamed ? ', though every message has a new name' : ''}`, async (t) => {
    const name = (id: string) => (renamed ? `${id}${Math.random()}` : id);
    const ran = (id: string) => data({ tool_call_id: id, status: 'SUCCEEDED', tool_name: 'ls', output: { text: 'ok' } });
    const history: Json[] = [];
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (asked, reply, at) => {
          const { messageId } = asked.params.message as { messageId: string };
          if (at === 0) {
            history.push(
              user(name(messageId), 'go'),
              { role: 'agent', messageId: name('r'), parts: [ran('k0')] },
              said(name('a'), 'Done.'),
            );
            for (const one of [task('working'), call('SUCCEEDED', { tool_call_id: 'k0' }), says('a', 'Done.'), over('input-required')])
              reply.record(one);
            return reply.end();
          }
          history.push(user(name(messageId), 'and more'), said(name('b'), 'One. '), {
            role: 'agent',
            messageId: name('s'),
            parts: [ran('k1')],
          });
          history.push(said(name('c'), 'Done.'));
          reply.record(says('b', 'One. '));
          setTimeout(() => reply.cut(), 20);
        },
        'tasks/resubscribe': (_, reply) => {
          reply.record(task('input-required', { history }));
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(task('input-required', { history })),
      },
    });
    const session = talk(t, agent.url);
    await session.prompt('go');
    const turn = await session.prompt('and more');
    assert.deepEqual([turn.status, textOf(turn), callsOf(turn).length], ['done', 'One. Done.', 1]);
  });

test('what comes on the new stream while the task is read is shown once', async (t) => {
  const history: Json[] = [user('u', 'go'), said('a', 'One. '), said('b', 'Two. ')];
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('a', 'One. '));
        setTimeout(() => reply.cut(), 20);
      },
      'tasks/resubscribe': (_, reply) => {
        reply.record(task('working'));
        reply.record(says('b', 'Two. '));
        setTimeout(() => {
          reply.record(says('c', 'Three.'));
          reply.record(over());
          reply.end();
        }, 60);
      },
      'tasks/get': (_, reply) => setTimeout(() => reply.json(task('working', { history })), 20),
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'One. Two. Three.']);
});

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
  await session.live.restart();
  const now = await session.until('what was missed', ({ turns }) => turns.at(-1)?.status === 'done');
  assert.equal(now.turns.map(textOf).join('|'), 'Slow. Done meanwhile.');
  assert.equal(agent.requests('message/stream').length, 1);
});

for (const [how, history, last] of [
  ['the last of them in the state', ['Alpha ', 'beta ', 'beta, ', 'gamma. '], 'Delta.'],
  ['the last of them in both', ['Alpha ', 'beta ', 'beta, ', 'gamma. ', 'Delta.'], 'Delta.'],
  ['each with all that was said', ['Alpha ', 'Alpha beta ', 'Alpha beta beta, gamma. '], 'Alpha beta beta, gamma. Delta.'],
] as const)
  for (let heard = 0; heard <= 5; heard += 1)
    test(`pieces of one message stand as entries of their own, ${how}, and ${heard} of them were heard: the others are shown`, async (t) => {
      const message = said('same', last);
      const now = task('completed', {
        history: [user('u', 'go'), ...history.map((one) => said('same', one))],
        status: { state: 'completed', message },
      });
      const agent = await fakeAgent(t, {
        on: {
          'message/stream': (_, reply) => {
            reply.record(task('working'));
            for (const one of ['Alpha ', 'beta ', 'beta, ', 'gamma. ', 'Delta.'].slice(0, heard)) reply.record(says('same', one));
            setTimeout(() => reply.cut(), 10);
          },
          'tasks/resubscribe': (_, reply) => reply.end(),
          'tasks/get': (_, reply) => reply.json(now),
        },
      });
      const turn = await talk(t, agent.url).prompt('go');
      assert.deepEqual([turn.status, textOf(turn)], ['done', 'Alpha beta beta, gamma. Delta.']);
    });
