import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { mapAtOnce } from '../../src/base/keyedQueue.ts';

const items = Array.from({ length: 100 }, (_, at) => at);
/** Later items are done sooner. */
const rest = async (one: number) => {
  for (let left = 20 - (one % 20); left > 0; left -= 1) await turn();
};

test('many tasks run side by side, some at a time, and their results come in the order of the items', async () => {
  let [running, most] = [0, 0];
  const results = await mapAtOnce(items, async (one) => {
    running += 1;
    most = Math.max(most, running);
    await rest(one);
    running -= 1;
    return one * 2;
  });
  assert.deepEqual([results, most], [items.map((one) => one * 2), 16]);
});

test('of several tasks that fail, the first of the items is told of, once all that had begun are over, and no other is begun', async () => {
  const begun: number[] = [];
  let running = 0;
  const run = mapAtOnce(items, async (one) => {
    begun.push(one);
    running += 1;
    await rest(one);
    running -= 1;
    if (one === 7 || one === 15) throw new Error(`no ${one}`);
  });
  await assert.rejects(run, /no 7/);
  assert.deepEqual([running, begun.length < 40], [0, true]);
});
