import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, Reply } from '../../fakes/a2a.ts';
import { asks, call, fakeAgent, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const isDecision = (params: Json) =>
  (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts.some((part) => part.data !== undefined);
const failing = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Too late.' } })}\n\n`;

for (const [how, after] of [
  ['an error', (reply: Reply) => reply.raw(failing)],
  ['a cut line', (reply: Reply) => reply.cut()],
] as const)
  test(`${how} after the last word of a stream means nothing: the question stays, and its answer goes on with the task`, async (t) => {
    let prompt: Reply | undefined;
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': ({ params }, reply) => {
          const decided = isDecision(params);
          if (!decided) prompt = reply;
          const now = decided ? [call('SUCCEEDED'), over()] : [task('submitted'), call('PENDING', asks), over('input-required')];
          for (const one of now) reply.record(one);
          if (decided) reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    const turnId = session.begin('go');
    const ask = await session.approval();
    if (prompt) after(prompt);
    prompt?.end();
    // More than enough for what was sent last to be read.
    for (let at = 0; at < 30; at += 1) await fetch(`${agent.url}/.well-known/agent-card.json`).then((card) => card.text());
    assert.deepEqual([session.now().asks[0]?.id, session.now().turns[0]?.status], [ask.id, 'running']);
    session.answer(ask, option(ask, 'allow_once'));
    const turn = await session.ended(turnId);
    assert.deepEqual([turn.status, agent.requests('tasks/resubscribe').length], ['done', 0]);
  });

test('the last word of an older stream is not the turn’s: what that stream says then is heard too', async (t) => {
  let prompt: Reply | undefined;
  let decided: Reply | undefined;
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': ({ params }, reply) => {
        if (isDecision(params)) {
          decided = reply;
          return reply.record(call('EXECUTING'));
        }
        prompt = reply;
        reply.record(task('submitted'));
        reply.record(call('PENDING', asks));
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  await session.until('the call at work', ({ turns }) => JSON.stringify(turns[0]?.parts).includes('"running"'));
  prompt?.record(over('input-required'));
  prompt?.record(status('working', 'TEXT_CONTENT', [text('Still at it.')]));
  await session.until('its words', ({ turns }) => turns[0] !== undefined && textOf(turns[0]) === 'Still at it.');
  decided?.record(call('SUCCEEDED'));
  decided?.record(over());
  decided?.end();
  assert.equal((await session.ended(turnId)).status, 'done');
});
