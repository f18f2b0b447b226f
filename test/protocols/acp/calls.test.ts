import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { choose } from '../../agents/drive.ts';
import { SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

const options = [
  { optionId: 'y', name: 'Yes', kind: 'allow_once' },
  { optionId: 'n', name: 'No', kind: 'reject_once' },
];
// What is nested too deeply is cut where lines are read, before the machine.

test('input nested 20,000 deep: the call and the question are shown, the turn ends', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  driven.onAsk(choose('reject_once'));
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const call = `"toolCallId":"c1","title":"Deep","kind":"other","rawInput":${deep}`;
  agent.raw(
    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${SESSION}","update":{"sessionUpdate":"tool_call",${call}}}}\n`,
  );
  const asked = agent.ask('session/request_permission', { sessionId: SESSION, toolCall: { toolCallId: 'c1' }, options });
  assert.deepEqual((await asked).result, { outcome: { outcome: 'selected', optionId: 'n' } });
  const turn = await finish();
  assert.match(JSON.stringify(callsOf(turn)), /nested more than 256 deep/);
});
