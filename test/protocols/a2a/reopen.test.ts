import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { asks, data, fakeAgent, type Json, over, type Reply, status, task, text } from '../../fakes/a2a.ts';
import { option, type Talk, talk, textOf } from './talk.ts';

// A window is closed and opened again: to the adapter that is a session that is started anew on what the journal holds.

const said = (id: string, words: string): Json => ({ role: 'agent', messageId: id, parts: [text(words)] });
const says = (id: string, words: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId: id });
const told = (id: string, call: Json): Json => ({ role: 'agent', messageId: id, parts: [data(call)] });
const calls = (id: string, call: Json) => status('working', 'TOOL_CALL_UPDATE', [data(call)], { messageId: id });
const list = (state: string, more: Json = {}): Json => ({ tool_call_id: 'k1', status: state, tool_name: 'ls', ...more });
const edit: Json = {
  tool_call_id: 'k2',
  status: 'SUCCEEDED',
  tool_name: 'write_file',
  output: { diff: { file_name: 'a.txt', file_path: '/w/a.txt', old_content: 'one', new_content: 'two' } },
};

/** An agent that remembers what it was told; `second` is what it says to the second prompt before the window goes. */
async function agentWith(
  t: Parameters<typeof fakeAgent>[0],
  second: (reply: Reply) => void,
  more: Parameters<typeof fakeAgent>[1]['on'] = {},
) {
  const kept = { history: [] as Json[], state: 'working' };
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': ({ params }, reply, at) => {
        const { messageId, parts } = params.message as { messageId: string; parts: Json[] };
        kept.history.push({ role: 'user', messageId, parts });
        if (at === 1) return second(reply);
        if (at > 1) {
          reply.record(calls('z', list('SUCCEEDED')));
          reply.record(over());
          return reply.end();
        }
        kept.history.push(said('a', 'Done.'));
        for (const one of [task('working'), says('a', 'Done.'), over('input-required')]) reply.record(one);
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task(kept.state, { history: kept.history })),
      ...more,
    },
  });
  return { agent, kept };
}

async function beginSecond(session: Talk, parts: number) {
  await session.prompt('go');
  session.begin('and on');
  await session.until('what is shown', (now) => now.turns[1]?.parts.length === parts);
}

test('finished while the window was closed: the same turn goes on with exactly what was missed, though it says what was said before', async (t) => {
  const { agent, kept } = await agentWith(t, (reply) => {
    reply.record(says('b', 'Looking'));
    kept.history.push(said('b', 'Looking around. '));
  });
  const session = talk(t, agent.url);
  await beginSecond(session, 1);
  kept.history.push(told('c', list('SUCCEEDED', { output: { text: 'ok' } })), said('d', 'Done.'));
  kept.state = 'input-required';
  await session.reopen();
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  assert.equal(now.turns.length, 2);
  const turn = now.turns[1];
  assert.ok(turn);
  assert.deepEqual(
    turn.parts.map((part) => (part.kind === 'text' ? part.text : part.kind)),
    ['Looking around. ', 'call', 'Done.'],
  );
  assert.deepEqual(turn.prompt, [{ type: 'text', text: 'and on' }]);
  assert.deepEqual([turn.error, agent.requests('message/stream').length], [undefined, 2]);
  await session.reopen();
  await session.opened();
  assert.deepEqual(session.now().turns.map(textOf), ['Done.', 'Looking around. Done.'], 'a third window shows nothing more');
});

test('work that ended in a change without a word is shown in the turn that was broken off, and a call that ran is the same call', async (t) => {
  const { agent, kept } = await agentWith(t, (reply) => {
    reply.record(calls('b', list('EXECUTING', { live_content: 'a' })));
  });
  const session = talk(t, agent.url);
  await beginSecond(session, 1);
  kept.history.push(told('b', list('SUCCEEDED', { output: { text: 'a\nb' } })), told('c', edit));
  kept.state = 'completed';
  await session.reopen();
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  const turn = now.turns[1];
  assert.ok(turn);
  assert.deepEqual(
    callsOf(turn).map((call) => [call.name, call.status, call.output.map((one) => one.kind).join()]),
    [
      ['ls', 'done', 'content'],
      ['write_file', 'done', 'diff'],
    ],
  );
});

test('an approval that waited when the window went is asked again in its turn, and the answer ends it', async (t) => {
  const { agent, kept } = await agentWith(t, (reply) => {
    reply.record(calls('b', { ...list('PENDING'), ...asks }));
    reply.record(over('input-required'));
    reply.end();
  });
  const session = talk(t, agent.url);
  await session.prompt('go');
  session.begin('and on');
  const before = await session.asked();
  kept.history.push(told('b', { ...list('PENDING'), ...asks }));
  kept.state = 'input-required';
  await session.reopen();
  const ask = await session.approval();
  assert.notEqual(ask.id, before.id);
  assert.equal(callsOf(session.now().turns[1] as never).length, 1);
  session.answer(ask, option(ask, 'allow_once'));
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  assert.equal(now.turns.length, 2);
  const answers = agent.requests('message/stream').map(({ params }) => JSON.stringify(params.message));
  assert.deepEqual([answers.length, /"selected_option_id":"proceed_once"/.test(answers[2] ?? '')], [3, true]);
});

test('an agent that is still at work is listened to live, in the same turn', async (t) => {
  const { agent, kept } = await agentWith(
    t,
    (reply) => {
      reply.record(says('b', 'One. '));
      kept.history.push(said('b', 'One. '));
    },
    {
      'tasks/resubscribe': (_, reply) => {
        reply.record(task('working', { history: kept.history }));
        reply.record(says('d', 'Three.'));
        reply.record(over());
        reply.end();
      },
    },
  );
  const session = talk(t, agent.url);
  await beginSecond(session, 1);
  kept.history.push(said('c', 'Two. '));
  await session.reopen();
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  assert.deepEqual(now.turns.map(textOf), ['Done.', 'One. Two. Three.']);
});

for (const isStopped of [false, true]) {
  const outcome = isStopped ? 'ends as stopped when the user had stopped it' : 'goes on';
  test(`a turn that a restart of the agent broke off ${outcome}`, async (t) => {
    const { agent, kept } = await agentWith(t, (reply) => {
      reply.record(says('b', 'One. '));
      kept.history.push(said('b', 'One. '));
    });
    const session = talk(t, agent.url);
    await beginSecond(session, 1);
    if (isStopped) session.live.send({ type: 'cancel' });
    kept.history.push(said('c', 'Two.'));
    kept.state = 'input-required';
    await session.live.restart();
    await session.opened();
    const now = await session.until('the end', ({ turns }) => turns.every(({ status }) => status !== 'running'));
    const [, turn] = now.turns;
    assert.deepEqual([turn?.status, turn && textOf(turn)], isStopped ? ['cancelled', 'One. '] : ['done', 'One. Two.']);
  });
}

test('a prompt that never arrived stays broken off: nothing is sent by itself, and nothing of an earlier turn is taken for its answer', async (t) => {
  const { agent, kept } = await agentWith(t, () => {
    kept.history.pop();
  });
  const session = talk(t, agent.url);
  await session.prompt('go');
  session.begin('go');
  await agent.until('message/stream', 2);
  kept.state = 'input-required';
  await session.reopen();
  await session.opened();
  const { turns } = session.now();
  assert.deepEqual(
    turns.map((turn) => [turn.status, textOf(turn)]),
    [
      ['done', 'Done.'],
      ['failed', ''],
    ],
  );
  assert.ok(turns[1]?.error?.next?.includes('retry'));
  assert.equal(agent.requests('message/stream').length, 2);
});

test('a turn that failed while nobody looked ends so, with the words of the agent', async (t) => {
  const { agent, kept } = await agentWith(t, (reply) => {
    reply.record(says('b', 'One. '));
    kept.history.push(said('b', 'One. '));
  });
  const session = talk(t, agent.url);
  await beginSecond(session, 1);
  kept.state = 'failed';
  kept.history.push(said('x', 'Out of memory'));
  await session.reopen();
  const now = await session.until('the end', ({ turns, link }) => link.state === 'ready' && turns[1]?.status === 'failed');
  assert.deepEqual([now.turns.length, now.turns[1] && textOf(now.turns[1])], [2, 'One. Out of memory']);
});

test('what an agent does of itself after a turn that was over comes in a turn of its own, also "Done." again, and a change without words', async (t) => {
  const { agent, kept } = await agentWith(t, () => {});
  kept.state = 'input-required';
  const session = talk(t, agent.url);
  await session.prompt('go');
  kept.history.push(said('n', 'Done.'), told('m', edit));
  await session.reopen();
  const now = await session.until('the news', ({ turns }) => turns[1]?.status === 'done');
  assert.deepEqual([now.turns.map(textOf), callsOf(now.turns[1] as never).length], [['Done.', 'Done.'], 1]);
  await session.reopen();
  await session.opened();
  assert.equal(session.now().turns.length, 2);
});
