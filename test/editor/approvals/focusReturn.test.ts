import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FocusReturn } from '../../../src/editor/approvals/focusReturn.ts';

test('answers that come back from a look at what is asked lead where the keyboard was before the look', async () => {
  const focus = new FocusReturn();
  let back = 0;
  focus.leave(() => async () => {
    back += 1;
  });
  focus.setAside();
  // The keyboard is in the text now.
  focus.resume();
  focus.leave(() => undefined);
  await focus.goBack('pick');
  assert.equal(back, 1);
});

test('a pick that comes up elsewhere leads back there', async () => {
  const focus = new FocusReturn();
  let back = 0;
  focus.leave(() => async () => {
    back += 1;
  });
  focus.setAside();
  focus.leave(() => undefined);
  await focus.goBack('pick');
  assert.equal(back, 0);
});
