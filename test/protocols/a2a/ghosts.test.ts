import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { call, data, fakeAgent, type Json, over, status, task } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const options = [
  { id: 'proceed_once', name: 'Allow' },
  { id: 'cancel', name: 'No' },
];
const confirmation = (value: Json) => status('working', 'TOOL_CALL_CONFIRMATION', [data(value)]);

/** Says that, and rests; a decision ends the task. */
const saying = (t: Parameters<typeof fakeAgent>[0], ...records: readonly Json[]) =>
  fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        for (const one of at === 0 ? [task('submitted'), ...records, over('input-required')] : [over()]) reply.record(one);
        reply.end();
      },
    },
  });

test('a confirmation for a call of which nothing is known says so, and suggests nothing', async (t) => {
  const agent = await saying(t, confirmation({ tool_call_id: 'ghost', confirmation_request: { options } }));
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  assert.deepEqual(ask.detail, { type: 'text', text: 'The agent does not say what this would do.', unknown: true });
  session.answer(ask, option(ask, 'reject_once'));
  await session.ended(turnId);
});

test('a confirmation that leaves out what was said of its call before is asked about that call', async (t) => {
  const agent = await saying(t, call('PENDING'), confirmation({ tool_call_id: 'k1', confirmation_request: { options } }));
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  assert.deepEqual([ask.title, ask.detail], ['write_file', { type: 'text', text: '{\n  "keptAs_is": 1\n}' }]);
  session.answer(ask, option(ask, 'reject_once'));
  await session.ended(turnId);
});

for (const [how, value] of [
  ['either style', { toolCallId: 'ghost', selectedOptionId: 'proceed_once' }],
  ['the RFC’s own', { tool_call_id: 'ghost', selected_option_id: 'proceed_once' }],
] as const)
  test(`an answer that the agent tells back is no call, in ${how}`, async (t) => {
    const agent = await saying(t, confirmation(value));
    const turn = await talk(t, agent.url).prompt('go');
    assert.deepEqual([turn.status, callsOf(turn).length, turn.parts.filter((part) => part.kind === 'content').length], ['done', 0, 0]);
  });

test('a card that is too long is said to be', async (t) => {
  const agent = await fakeAgent(t, { card: { description: 'x'.repeat(5 * 1024 * 1024) } });
  const { link } = await talk(t, agent.url).opened();
  assert.match(link.state === 'closed' ? link.reason : '', /card > 4194304 bytes/);
});
