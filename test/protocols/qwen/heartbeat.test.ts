import assert from 'node:assert/strict';
import { test } from 'node:test';
import { qwen } from '../../../src/protocols/qwen/machine.ts';
import { newQwenState } from '../../../src/protocols/qwen/state.ts';

const EVERY = 5_000;

test('a machine that slept has not been silent: nothing is ended, the next beats count anew', () => {
  let now = 0;
  const said: string[] = [];
  let asked = 0;
  const options = { dialect: 'envelope', format: 'stream-json', heartbeat: EVERY, patience: 10_000, request: {}, direct: false } as const;
  const client = { name: 'test', version: '0' };
  const base = { command: 'agent', args: [], cwd: '/w', product: 'qwen', called: 'Q', client, problems: [], tools: [], keeps: {} } as const;
  const state = newQwenState('i', { ...base, options, resume: null });
  const step = (input: Parameters<typeof qwen>[1]) => {
    for (const effect of qwen(state, input, now)) {
      if (effect.do === 'emit' && effect.event.type === 'notice') said.push(effect.event.notice.level);
      if (effect.do === 'close') said.push('dead');
      if (effect.do === 'notify' && JSON.stringify(effect.params).includes('heartbeat_request')) asked += 1;
    }
  };
  const beat = (took = EVERY) => {
    now += took;
    step({ on: 'timer', timer: 'heartbeat' });
  };
  const answer = () =>
    step({ on: 'message', link: 'agent', method: 'line', params: { type: 'result/heartbeat', session_id: 'E', status: 'ok', ts: 1 } });
  step({ on: 'start' });
  asked = 0;
  answer();
  beat();
  beat();
  beat(3_600_000);
  beat();
  assert.deepEqual(said, [], 'an hour of sleep is no silence');
  assert.ok(asked >= 2, 'it is asked again after the sleep');
  answer();
  for (let n = 0; n < 5; n += 1) beat();
  assert.deepEqual(said, ['warn', 'dead'], 'silence after it still counts');
});
