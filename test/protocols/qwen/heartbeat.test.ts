import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heartbeat } from '../../../src/protocols/qwen/envelope/heartbeat.ts';

const EVERY = 5_000;

test('a machine that slept has not been silent: nothing is ended, the next beats count anew', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const said: string[] = [];
  let asked = 0;
  const heart = new Heartbeat({
    every: EVERY,
    patience: 10_000,
    ask: () => {
      asked += 1;
    },
    onSilent: () => said.push('silent'),
    onBack: () => said.push('back'),
    onDead: () => {
      said.push('dead');
      heart.stop();
    },
  });
  const beat = (took = EVERY) => {
    now += took;
    t.mock.timers.tick(EVERY);
  };
  heart.start();
  heart.heard(true);
  beat();
  beat();
  beat(3_600_000);
  beat();
  assert.deepEqual(said, [], 'an hour of sleep is no silence');
  assert.ok(asked >= 2, 'it is asked again after the sleep');
  heart.heard(true);
  for (let n = 0; n < 5; n += 1) beat();
  assert.deepEqual(said, ['silent', 'dead'], 'silence after it still counts');
  heart.stop();
});
