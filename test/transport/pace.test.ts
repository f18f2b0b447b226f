import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../src/transport/pace.ts';

/** Work that a slow machine cannot take for short. */
function workLong(): void {
  const until = performance.now() + 50;
  while (performance.now() < until);
}
const nextTurn = () => new Promise(setImmediate);

function source() {
  const calls: string[] = [];
  return { calls, pause: () => calls.push('pause'), resume: () => calls.push('resume') };
}

test('a source that was read for long is paused until everybody else has had a turn', async () => {
  const one = source();
  const pace = new Pace(one);
  pace.read(workLong);
  pace.read(() => {});
  assert.deepEqual(one.calls, ['pause']);
  await nextTurn();
  assert.deepEqual(one.calls, ['pause', 'resume']);
});

test('a source that has ended is not read again', async () => {
  const one = source();
  const pace = new Pace(one);
  pace.read(workLong);
  pace.end();
  await nextTurn();
  pace.read(workLong);
  await nextTurn();
  assert.deepEqual(one.calls, ['pause']);
});

test('what goes wrong while a piece is read counts, and is told', async () => {
  const one = source();
  const pace = new Pace(one);
  const fail = () => {
    workLong();
    throw new Error('bad');
  };
  assert.throws(() => pace.read(fail), /bad/);
  await nextTurn();
  assert.deepEqual(one.calls, ['pause', 'resume']);
});
