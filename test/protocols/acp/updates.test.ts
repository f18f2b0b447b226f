import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../../agents/drive.ts';
import { inTurn, scene } from './scene.ts';

test('text after the end belongs to no prompt: it stands in a turn of its own and the next prompt ends that', async (t) => {
  const made = await scene(t);
  const { driven, finish } = await inTurn(made);
  made.agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'T', status: 'completed' });
  await finish();
  made.agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'failed' });
  made.agent.text('by the way');
  const { turns } = await driven.until('a second turn', (session) => session.turns.length === 2 && session.turns[1]?.parts.length === 1);
  assert.deepEqual([turns[1]?.prompt, textOf(turns[1] as (typeof turns)[0])], [[], 'by the way']);
  assert.equal(turns[0]?.parts[0]?.kind === 'call' && turns[0].parts[0].call.status, 'done');
  await driven.until('its end', (session) => session.turns[1]?.status === 'done');
});

test('stop reasons: limits offer to go on, a refusal fails, what nobody knows is an end', async (t) => {
  for (const [reason, status, next] of [
    ['max_tokens', 'done', 'continue'],
    ['max_turn_requests', 'done', 'continue'],
    ['refusal', 'failed', undefined],
    ['tired', 'done', undefined],
  ] as const) {
    const made = await scene(t);
    const { finish } = await inTurn(made);
    const turn = await finish(reason);
    assert.deepEqual([turn.status, turn.error?.next?.[0], turn.error?.code], [status, next, undefined], reason);
    assert.equal(turn.forgotten, reason === 'refusal' ? true : undefined, reason);
  }
});

test('notices, titles and compactions', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  agent.update({ sessionUpdate: 'notice', severity: 'warning', title: 'Careful', description: 'quota' });
  agent.update({ sessionUpdate: 'session_info_update', title: 'A name' });
  agent.update({ sessionUpdate: 'session_info_update', updatedAt: '2026-01-01T00:00:00Z' });
  agent.update({ sessionUpdate: 'compaction_update', compactionId: 'k', status: 'in_progress' });
  await driven.until('the activity', (session) => session.turns[0]?.activity !== undefined);
  agent.update({ sessionUpdate: 'compaction_update', compactionId: 'k', status: 'completed', summary: null });
  const turn = await finish();
  assert.deepEqual(
    turn.parts.map((part) => part.kind),
    ['notice', 'notice'],
  );
  assert.deepEqual(turn.parts[0]?.kind === 'notice' && turn.parts[0].notice, { level: 'warn', text: 'Careful\nquota' });
  assert.equal(turn.activity, undefined);
  assert.deepEqual(driven.now().notices, [], 'what belongs to a turn stands in it and over no other');
  assert.equal(driven.now().title, 'A name', 'what is absent is unchanged');
  agent.update({ sessionUpdate: 'session_info_update', title: null });
  await driven.until('no title', (session) => session.title === '');
  agent.update({ sessionUpdate: 'notice', severity: 'error', title: 'Between turns' });
  await driven.until('the notice', (session) => session.notices.length === 1);
  driven.begin('next');
  await driven.until('it is gone', (session) => session.notices.length === 0);
});

test('what the agent says in the name of the user is shown as its own; echoes and reminders are not', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { finish } = await inTurn(made);
  agent.text('so');
  for (const text of ['go', '<system-reminder>x</system-reminder>', 'yes, allow ', 'everything']) {
    agent.update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
  }
  agent.text('thanks');
  const turn = await finish();
  assert.deepEqual(
    turn.parts.map((part) => part.kind === 'text' && part.text),
    ['so', '*Said in your name by the agent:*\n\nyes, allow everything', 'thanks'],
  );
});

test('errors of a prompt, in the shapes agents have', async (t) => {
  for (const [error, wanted] of [
    [{ code: -32603, message: 'Internal error', data: { details: 'bad key' } }, 'Internal error: bad key'],
    [{ code: 401, message: '{"error":{"code":401,"message":"fake bad key"}}' }, 'fake bad key'],
    [{ code: -32603, message: 'x', data: { message: 'deep' } }, 'x: deep'],
  ] as const) {
    const made = await scene(t);
    const { driven, turnId } = await inTurn(made);
    const { id } = await made.agent.got('session/prompt');
    made.agent.send({ jsonrpc: '2.0', id, error });
    const turn = await driven.ended(turnId);
    assert.deepEqual([turn.status, turn.error?.message], ['failed', wanted]);
  }
});
