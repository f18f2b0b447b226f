import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HeldRows, LIST_RESTS, UNSEEN } from '../../src/editor/review/heldRows.ts';

/** A list of these rows, which were seen, and a clock that also moves the timers. */
function listOf(t: TestContext, ...ids: readonly string[]) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 10_000;
  const decided: string[] = [];
  const rows = new HeldRows(() => now);
  const pass = (milliseconds: number) => {
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
  };
  const press = (id: string) =>
    rows.press([id], 'undo', async () => {
      decided.push(id);
      return true;
    });
  rows.place(ids);
  pass(UNSEEN);
  return { rows, pass, press, decided };
}

test('a second press on a row does nothing, and no other row has come there: the list stays as it is, and other rows can be pressed', async (t) => {
  const { rows, pass, press, decided } = listOf(t, 'a', 'b', 'c');
  assert.equal(await press('a'), true);
  assert.deepEqual([rows.isHeld, rows.decisionOf(['a', 'session']), rows.decisionOf(['b'])], [true, 'undo', undefined]);
  pass(450);
  assert.equal(await press('a'), true);
  assert.equal(await press('c'), true);
  assert.deepEqual(decided, ['a', 'c']);
  pass(LIST_RESTS - 1);
  assert.equal(rows.isHeld, true, 'from the last decision on');
  pass(1);
  assert.deepEqual([rows.isHeld, rows.decisionOf(['a'])], [false, undefined]);
});

test('a press on a row that came to its place just now is refused; one on a row that stayed is not', async (t) => {
  const { rows, pass, press, decided } = listOf(t, 'a', 'c');
  rows.place(['a', 'b', 'c']);
  assert.deepEqual([await press('b'), await press('c'), decided], [false, false, []]);
  assert.equal(await press('a'), true);
  pass(UNSEEN);
  assert.equal(await press('c'), true);
  // A shorter list may have been scrolled.
  rows.place(['a', 'b']);
  pass(UNSEEN - 1);
  assert.equal(await press('b'), false);
  pass(1);
  assert.equal(await press('b'), true);
  assert.deepEqual(decided, ['a', 'c', 'b']);
});

test('a row whose decision fails, or is not confirmed, can be decided about again; one whose decision takes long holds the list until its end', async (t) => {
  const { rows, pass, press, decided } = listOf(t, 'a', 'b');
  await assert.rejects(
    rows.press(['a'], 'undo', () => Promise.reject(new Error('refused'))),
    /refused/,
  );
  await rows.press(['a'], 'undo', async () => false);
  assert.deepEqual([rows.isHeld, await press('a'), decided], [false, true, ['a']]);
  let end = (_isDecided: boolean) => {};
  const decide = () =>
    new Promise<boolean>((resolve) => {
      end = resolve;
    });
  const done = rows.press(['b'], 'keep', decide);
  pass(LIST_RESTS);
  assert.deepEqual([rows.isHeld, rows.decisionOf(['b'])], [true, undefined]);
  end(true);
  await done;
  assert.equal(rows.decisionOf(['b']), 'keep');
  pass(LIST_RESTS);
  assert.equal(rows.isHeld, false);
});
