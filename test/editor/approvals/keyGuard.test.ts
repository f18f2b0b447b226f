import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyGuard } from '../../../src/editor/approvals/keyboard.ts';

test('keys count after a moment without one, and none before what is asked can be seen', () => {
  let now = 0;
  const guard = new KeyGuard(700, () => now);
  now = 5000;
  assert.equal(guard.press(), false, 'not drawn yet');
  guard.begin();
  now += 600;
  assert.equal(guard.press(), false);
  now += 600;
  assert.equal(guard.left, 100, 'a stray key starts the wait anew');
  assert.equal(guard.press(), false);
  now += 700;
  assert.equal(guard.press(), true);
  guard.stray();
  now += 2000;
  assert.equal(guard.press(), false, 'who searches for keys is still typing elsewhere');
  now += 700;
  assert.equal(guard.press(), true);
  guard.stop();
  now += 5000;
  assert.equal(guard.press(), false, 'something else is asked');
});
