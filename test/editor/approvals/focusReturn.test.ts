import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FocusReturn } from '../../../src/editor/approvals/keyboard.ts';
import { keyOf } from '../../../src/editor/approvals/queue.ts';

/** The keyboard went from its place to an approval, and from there to a look at what is asked. */
function lookedAway() {
  const focus = new FocusReturn();
  let back = 0;
  focus.leave(() => async () => {
    back += 1;
  });
  focus.dismissed(keyOf('s', 'a'), false);
  return { focus, timesBack: () => back };
}

test('answers that come back from a look at what is asked lead where the keyboard was before the look', async () => {
  const { focus, timesBack } = lookedAway();
  // The keyboard is in the text now.
  focus.resume(keyOf('s', 'a'));
  focus.leave(() => undefined);
  await focus.goBack('pick');
  assert.equal(timesBack(), 1);
});

test('a pick that comes up elsewhere leads back there', async () => {
  const { focus, timesBack } = lookedAway();
  focus.leave(() => undefined);
  await focus.goBack('pick');
  assert.equal(timesBack(), 0);
});

test('an answer to something else leaves the keyboard where the user looks', async () => {
  const { focus, timesBack } = lookedAway();
  focus.resume(keyOf('s', 'b'));
  await focus.goBack('pick');
  assert.equal(timesBack(), 0);
});

test('while the keyboard returns from a diff nothing comes up, and a pick dismissed before still leads back', async () => {
  const { focus, timesBack } = lookedAway();
  let arrive = () => {};
  const leaving = focus.goBackBy(() => new Promise((resolve) => (arrive = resolve)));
  assert.equal(focus.returning, true);
  arrive();
  await leaving;
  assert.equal(focus.returning, false);
  await focus.goBack('dismissed');
  assert.equal(timesBack(), 1);
});

test('a place that never takes the keyboard back does not hold up what comes next', async () => {
  const focus = new FocusReturn();
  focus.leave(() => () => new Promise(() => {}));
  const alive = setInterval(() => {}, 1000);
  await focus.goBack('pick');
  clearInterval(alive);
  assert.deepEqual([focus.returning, focus.away], [false, false]);
});

test('Esc leads out of the diff that came up with a pick, unless the user goes there to look', async () => {
  const led: boolean[] = [];
  for (const looks of [false, true]) {
    const focus = new FocusReturn();
    const asideOf: number[] = [];
    const aside = async () => void asideOf.push(1);
    focus.leave(() => undefined, aside);
    await focus.goBack('dismissed');
    focus.dismissed(keyOf('s', 'a'), looks);
    await focus.goBack('dismissed');
    await focus.goBack('dismissed');
    led.push(asideOf.length === 1);
  }
  assert.deepEqual(led, [true, false]);
});
