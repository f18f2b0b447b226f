import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalAnswers } from '../../../src/session/approvalAnswers.ts';
import type { Turn } from '../../../src/session/model.ts';
import { callsOf } from '../../../src/session/select.ts';
import { asks, call, data, fakeAgent, type Json, over, status, task, text, URI } from '../../fakes/a2a.ts';
import { option, type Talk, talk, textOf } from './talk.ts';

const waiting = { tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', ...asks };
const told: Json = { role: 'agent', messageId: 'w', parts: [data(waiting)] };
const rest = () => status('input-required', 'STATE_CHANGE', [], { final: true });
const noticesOf = (turn: Turn | undefined) => turn?.parts.flatMap((part) => (part.kind === 'notice' ? part.notice.text : [])) ?? [];
const decisions = (bodies: readonly { params: Json }[]) =>
  bodies.filter((one) => JSON.stringify(one.params).includes('selected_option_id')).length;

/** Allows what is asked, and gives back what is asked next. */
async function allowed(session: Talk) {
  const first = await session.approval();
  session.answer(first, option(first, 'allow_once'));
  const next = await session.until('the same question once more', (now) => now.asks.some((ask) => ask.id !== first.id));
  const [again] = next.asks;
  assert.ok(again?.kind === 'approval');
  return again;
}

test('a decision that is cut off before it arrives: the agent still waits, so the user is asked again, and nothing is sent by itself', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 1) return reply.cut();
        for (const one of at === 0 ? [task('working'), call('PENDING', asks), rest()] : [call('SUCCEEDED'), over()]) reply.record(one);
        reply.end();
      },
      'tasks/resubscribe': (_, reply) => {
        reply.record(task('input-required', { history: [told] }));
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('input-required', { history: [told] })),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const again = await allowed(session);
  assert.equal(decisions(agent.requests('message/stream')), 1, 'what was decided is not sent again by itself');
  assert.match(noticesOf(session.now().turns[0]).join(), /did not reach the agent/);
  session.answer(again, option(again, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, callsOf(turn).map((one) => one.status)], ['done', ['done']]);
});

test('a decision answered with a status that is no success: told and asked again', async (t) => {
  let refused = 0;
  const agent = await fakeAgent(t, {
    before: (_, response, body) => {
      if (!body.includes('selected_option_id') || refused > 0) return false;
      refused += 1;
      response.writeHead(500).end('overloaded');
      return true;
    },
    on: {
      'message/stream': (_, reply, at) => {
        for (const one of at === 0 ? [task('working'), call('PENDING', asks), rest()] : [call('SUCCEEDED'), over()]) reply.record(one);
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const again = await allowed(session);
  assert.match(noticesOf(session.now().turns[0]).join(), /overloaded/);
  session.answer(again, option(again, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
});

test('an agent that asks for the same call once more is answered by the user, not by what was said before', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        for (const one of at < 2 ? [task('working'), call('PENDING', asks), rest()] : [call('SUCCEEDED'), over()]) reply.record(one);
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const again = await allowed(session);
  assert.equal(agent.requests('message/stream').length, 2);
  session.answer(again, option(again, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
});

test('silence after a decision: the task is looked at, and what it still waits for is asked again; when it runs, the question goes', async (t) => {
  let late: { record(result: unknown): void } | undefined;
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 1) {
          late = reply;
          return reply.raw(': hm\n\n');
        }
        for (const one of [task('working'), call('PENDING', asks), rest()]) reply.record(one);
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('input-required', { history: [told] })),
    },
  });
  const session = talk(t, agent.url, { timing: { ping: 10, doubt: 50 } });
  const turnId = session.begin('go');
  await allowed(session);
  assert.equal(decisions(agent.requests('message/stream')), 1);
  late?.record(call('EXECUTING'));
  await session.until('no question', (now) => now.asks.length === 0);
  late?.record(call('SUCCEEDED'));
  late?.record(over());
  assert.deepEqual([(await session.ended(turnId)).status, decisions(agent.requests('message/stream'))], ['done', 1]);
});

const asked = task('input-required', { status: { state: 'input-required', message: { kind: 'message', ...told } } });

for (const [how, streaming] of [
  ['the first record of a stream', true],
  ['an answer that is no stream', false],
] as const)
  test(`a confirmation inside the task, as ${how}, is asked`, async (t) => {
    const method = streaming ? 'message/stream' : 'message/send';
    const agent = await fakeAgent(t, {
      card: { capabilities: { streaming, extensions: [{ uri: URI, required: true }] } },
      on: {
        [method]: (_, reply, at) => {
          if (!streaming) return reply.json(at === 0 ? asked : task('completed'));
          reply.record(at === 0 ? asked : over());
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    const turnId = session.begin('go');
    const ask = await session.approval();
    session.answer(ask, option(ask, 'allow_once'));
    assert.equal((await session.ended(turnId)).status, 'done');
    assert.equal(decisions(agent.requests(method)), 1);
  });

test('a command that waits for a shell confirmation: it is asked, though the subscription stays open', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [{ name: 'deploy', description: '' }] }),
      'command/execute': (_, reply) => reply.json({ execution_id: 't1', status: 'AWAITING_SHELL_CONFIRMATION', message: '' }),
      'tasks/resubscribe': (_, reply) => reply.record(asked),
      'message/stream': (_, reply) => {
        for (const one of [call('SUCCEEDED'), status('working', 'TEXT_CONTENT', [text('Deployed.')]), over()]) reply.record(one);
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  session.live.send({ type: 'prompt', turnId: 'c', content: [{ type: 'text', text: '/deploy' }] });
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended('c');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Deployed.']);
});

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

test('an edit whose options have ids of the agent’s own: what accepting it takes is for this once, and the user’s text goes with it', async (t) => {
  const confirmation_request = {
    ...(asks.confirmation_request as Json),
    options: [
      { id: 'yes1', name: 'Yes, just now' },
      { id: 'yesall', name: 'Yes, for ever' },
      { id: 'nono', name: 'No thanks' },
    ],
  };
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        reply.record(at === 0 ? call('PENDING', { confirmation_request }) : call('SUCCEEDED'));
        reply.record(over(at === 0 ? 'input-required' : 'completed'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  assert.equal(approvalAnswers(ask, { cwd: '/', feedback: false }).once?.id, 'option:yes1');
  session.answer(ask, { kind: 'option', optionId: 'yes1', edited: 'one\nthree\n' });
  assert.equal((await session.ended(turnId)).status, 'done');
  const sent = agent.requests('message/stream')[1]?.params.message as { readonly parts: readonly { readonly data: Json }[] };
  const edited = { file_details: { new_content: 'one\r\nthree\r\n' } };
  assert.deepEqual(sent.parts[0]?.data, { tool_call_id: 'k1', selected_option_id: 'yes1', ...edited });
});
