import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { SESSION } from '../../fakes/acp.ts';
import { problemOfUnstable } from './oracle.ts';
import { inTurn, scene } from './scene.ts';

/** What is not stable yet: each update of these tests is good by the official unstable schema. */
function good(update: object, sessionId = SESSION): void {
  assert.equal(problemOfUnstable('SessionNotification', { sessionId, update }), undefined);
}

test('plans with names are shown one behind the other, as lists, as text, as files, until they are removed', async (t) => {
  const made = await scene(t);
  const { driven, finish } = await inTurn(made);
  const say = (update: object) => {
    good(update);
    made.agent.update(update);
  };
  const entries = [
    { content: 'one', priority: 'high', status: 'in_progress' },
    { content: 'two', priority: 'low', status: 'completed' },
  ];
  say({ sessionUpdate: 'plan_update', plan: { type: 'items', planId: 'a', entries } });
  say({ sessionUpdate: 'plan_update', plan: { type: 'markdown', planId: 'b', content: '# Later\n- [x] three\n- [ ] four\n1. five' } });
  say({ sessionUpdate: 'plan_update', plan: { type: 'file', planId: 'c', uri: 'file:///w/PLAN.md' } });
  const shown = () => driven.now().plan?.entries.map((entry) => `${entry.text} ${entry.status}`);
  await driven.until('three plans', (session) => session.plan?.entries.length === 6);
  assert.deepEqual(shown(), [
    'one in_progress',
    'two completed',
    'three completed',
    'four pending',
    'five pending',
    'Plan: /w/PLAN.md pending',
  ]);
  say({
    sessionUpdate: 'plan_update',
    plan: { type: 'items', planId: 'a', entries: [{ content: 'new', priority: 'medium', status: 'pending' }] },
  });
  say({ sessionUpdate: 'plan_removed', planId: 'b' });
  await driven.until('two plans', (session) => session.plan?.entries.length === 2);
  assert.deepEqual(shown(), ['new pending', 'Plan: /w/PLAN.md pending']);
  say({ sessionUpdate: 'plan_removed', planId: 'a' });
  say({ sessionUpdate: 'plan_removed', planId: 'c' });
  await driven.until('no plan', (session) => session.plan === undefined);
  await finish();
});

test('a sub-agent is a call; what it says and does stands below it, its questions name it, its ids are its own', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish, call } = await inTurn(made);
  const say = (update: object, sessionId = SESSION) => {
    good(update, sessionId);
    agent.update(update, sessionId);
  };
  const words = (text: string) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  say({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'Own', status: 'completed' });
  say({ sessionUpdate: 'subagent_update', sessionId: 'kid', title: 'Searcher', state: { state: 'running' } });
  say(words('looking'), 'kid');
  say({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'Grep', kind: 'search', status: 'in_progress' }, 'kid');
  say(words('meanwhile'));
  say({ sessionUpdate: 'plan', entries: [{ content: 'its own', priority: 'low', status: 'pending' }] }, 'kid');
  say(words('nobody'), 'stranger');
  const toolCall = { toolCallId: 'c1' };
  const options = [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }];
  const answered = agent.ask('session/request_permission', { sessionId: 'kid', toolCall, options });
  const { asks } = await driven.until('an ask', (session) => session.asks.length === 1);
  assert.deepEqual([asks[0]?.asker, asks[0]?.callId], ['Searcher', 'kid/c1']);
  driven.live.send({ type: 'answer', askId: asks[0]?.id ?? '', answer: { kind: 'option', optionId: 'y' } });
  assert.deepEqual((await answered).result, { outcome: { outcome: 'selected', optionId: 'y' } });
  say({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' }, 'kid');
  say({ sessionUpdate: 'session_message', messageId: 'x', senderSessionId: 'kid', content: [{ type: 'text', text: 'found it' }] });
  say({ sessionUpdate: 'subagent_update', sessionId: 'kid', state: { state: 'idle', stopReason: 'end_turn' } });
  await call('kid', (one) => one.status === 'done');
  const turn = await finish();
  assert.deepEqual(
    turn.parts.map((part) => [part.kind === 'text' ? part.text : part.id, part.parent]),
    [
      ['c1', undefined],
      ['kid', undefined],
      ['looking', 'kid'],
      ['kid/c1', 'kid'],
      ['meanwhile', undefined],
      ['found it', undefined],
    ],
  );
  assert.deepEqual(
    callsOf(turn).map((one) => [one.title, one.status]),
    [
      ['Own', 'done'],
      ['Searcher', 'done'],
      ['Grep', 'done'],
    ],
  );
  assert.equal(driven.now().plan, undefined);
});

test('a sub-agent that works on after its turn is another call of a turn of its own', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  agent.update({ sessionUpdate: 'subagent_update', sessionId: 'kid', title: 'Searcher', state: { state: 'running' } });
  await driven.until('its call', (session) => session.turns[0]?.parts.length === 1);
  await finish();
  agent.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'late' } }, 'kid');
  const { turns } = await driven.until('its words', (session) => session.turns[1]?.parts.length === 2);
  const [call, words] = turns[1]?.parts ?? [];
  assert.ok(call?.kind === 'call' && words?.kind === 'text');
  assert.deepEqual([call.call.title, words.text, words.parent], ['Searcher', 'late', call.id]);
});
