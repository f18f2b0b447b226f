import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinTextDeltas } from '../../src/session/join.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { randomEvents } from './randomEvents.ts';

test('joined growth reduces to the same session, for 200 random scripts', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const events = randomEvents(seed, 120);
    const start = newSession('s', { protocol: 'p', name: 'A' }, '/w');
    const joined = joinTextDeltas(events);
    assert.ok(joined.length <= events.length);
    assert.deepEqual(joined.reduce(reduce, start), events.reduce(reduce, start), `seed ${seed}`);
  }
});
