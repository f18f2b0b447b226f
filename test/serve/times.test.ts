import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '../../src/conversation/machine.ts';
import { ahpMachine } from '../../src/protocols/ahp/machine.ts';
import { ahpCases, CHAT } from '../protocols/ahp/cases.ts';

test('turns that ended without a connection took as long as the host says, not until the connection returned', () => {
  const { state, inputs } = ahpCases.start({});
  const take = (input: Input, now: number) =>
    ahpMachine(state, input, now).flatMap((one) =>
      one.do === 'emit' && one.event.type === 'turn.ended' ? [[one.event.turnId, one.event.at]] : [],
    );
  for (const input of inputs)
    if (typeof input !== 'string') take(input, 0);
    else take({ on: 'start' }, 0);
  take({ on: 'intent', intent: { type: 'prompt', turnId: 'a', content: [{ type: 'text', text: 'go' }] } }, 1_000);
  const begins = { type: 'chat/turnStarted', turnId: 'a', startedAt: new Date(1_000).toISOString(), message: { text: 'go' } };
  take({ on: 'message', link: 'host', method: 'action', params: { channel: CHAT, action: begins, serverSeq: 1 } }, 1_000);
  take({ on: 'closed', link: 'host', why: { failure: 'broken', reason: 'gone', stderr: '' } }, 2_000);
  take({ on: 'timer', timer: 'reconnect' }, 2_300);
  const turn = (id: string, at: number, duration: number) => ({
    id,
    startedAt: new Date(at).toISOString(),
    duration,
    state: 'complete',
    message: { text: 'go' },
    responseParts: [],
  });
  const snapshots = [
    { resource: 'gpt:/n', state: { provider: 'gpt', title: 'T', defaultChat: CHAT }, fromSeq: 2 },
    { resource: CHAT, state: { resource: CHAT, turns: [turn('a', 1_000, 500), turn('b', 5_000, 700)] }, fromSeq: 3 },
  ];
  assert.deepEqual(take({ on: 'reply', call: 'reconnect', result: { type: 'snapshot', snapshots } }, 900_000), [
    ['a', 1_500],
    ['b', 5_700],
  ]);
});
