import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAgent, temporaryFolder } from './agentProcess.ts';

// wire.md §3 and §7: what a server of each version does, and leaves out.
const METHODS = { initialize: 1, replay: 3, steer: 4, set_plan_mode: 4 } as const;
const RESULT = {
  protocol_version: 1,
  server: 1,
  slash_commands: 1,
  external_tools: 1,
  capabilities: 4,
  hooks: 7,
} as const;
const HELLO = {
  protocol_version: '1.10',
  external_tools: [{ name: 'lent_tool', description: 'Lent', parameters: { type: 'object' } }],
};

for (const minor of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
  const has = (since: number): boolean => minor >= since;

  test(`a server of 1.${minor}: methods, handshake, an approval, its words`, async (t) => {
    const agent = startAgent(t, { cwd: temporaryFolder(t), args: ['--wire-version', `1.${minor}`] });
    for (const [method, since] of Object.entries(METHODS)) {
      const { result, error } = await agent.call(method, { ...HELLO, user_input: 'x', enabled: false });
      assert.equal(error?.code === -32601, !has(since), method);
      if (method !== 'initialize' || !result) continue;
      assert.equal(result.protocol_version, `1.${minor}`);
      assert.deepEqual(
        Object.keys(result).sort(),
        Object.entries(RESULT)
          .flatMap(([name, first]) => (has(first) ? [name] : []))
          .sort(),
      );
    }
    const planned = agent.events('StatusUpdate').filter((status) => 'plan_mode' in status);
    assert.equal(planned.length, has(4) ? 1 : 0);
    const turn = agent.start('prompt', { user_input: 'create file x.txt with "x"' });
    const { id, payload } = await agent.asked('ApprovalRequest');
    assert.equal('source_kind' in payload, has(6));
    assert.equal('old_start' in ((payload.display as object[])[0] ?? {}), has(7));
    agent.answer(id, { request_id: id, response: 'reject', feedback: 'call it y' });
    await agent.answerTo(turn);
    assert.equal(/call it y/.test(agent.text), has(6), 'feedback is heard');
    assert.deepEqual([agent.events('ApprovalResponse').length, agent.events('ApprovalRequestResolved').length], has(1) ? [1, 0] : [0, 1]);
    assert.equal('feedback' in (agent.events('ApprovalResponse')[0] ?? {}), has(6));
    assert.equal(agent.events('TurnEnd').length, has(2) ? 1 : 0);
    assert.equal('context_tokens' in (agent.events('StatusUpdate').at(-1) ?? {}), has(4));
  });

  test(`a server of 1.${minor}: a turn is cancelled while an approval is open`, async (t) => {
    const agent = startAgent(t, { cwd: temporaryFolder(t), args: ['--wire-version', `1.${minor}`] });
    if (has(1)) await agent.ok('initialize', HELLO);
    const turn = agent.start('prompt', { user_input: 'create file x.txt with "x"' });
    const { id } = await agent.asked('ApprovalRequest');
    assert.deepEqual(await agent.ok('cancel'), {});
    if (!has(4)) {
      // It never ends, not even when the request is answered now.
      agent.answer(id, { request_id: id, response: 'reject' });
      assert.equal((await agent.call('prompt', { user_input: 'next' })).error?.code, -32000);
      assert.equal(
        agent.messages.some((message) => message.id === turn),
        false,
      );
      return;
    }
    assert.deepEqual((await agent.answerTo(turn)).result, { status: 'cancelled' });
    assert.equal(agent.events('TurnEnd').length, has(9) ? 1 : 0);
    const echo = await agent.find((message) => message.params?.type === 'ApprovalResponse');
    const answered = agent.messages.findIndex((message) => message.id === turn);
    assert.equal(agent.messages.indexOf(echo) > answered, has(6) && !has(10), 'told after the answer');
    assert.deepEqual(await agent.ok('prompt', { user_input: 'hello' }), { status: 'finished' });
  });
}

test('a silent server leaves what it does not know without an answer', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t), args: ['--wire-version', '1.0', '--wire-silent'] });
  const unanswered = agent.start('initialize', HELLO);
  assert.deepEqual(await agent.ok('prompt', { user_input: 'hello' }), { status: 'finished' });
  assert.equal(
    agent.messages.some((message) => message.id === unanswered),
    false,
  );
});
