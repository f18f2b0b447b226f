import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LensChanges } from '../../src/editor/review/lenses.ts';

function listening(t: TestContext): { readonly lenses: LensChanges; readonly told: () => number } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lenses = new LensChanges();
  let told = 0;
  lenses.onChange(() => {
    told += 1;
  });
  return { lenses, told: () => told };
}

test('an editor that asks for its lenses is told once', (t) => {
  const { lenses, told } = listening(t);
  lenses.refresh(['file:///a', 'file:///b']);
  lenses.asked('file:///a');
  lenses.asked('file:///b');
  t.mock.timers.tick(10_000);
  assert.equal(told(), 1);
});

test('one that has forgotten to ask is told again after a second, until it asks', (t) => {
  const { lenses, told } = listening(t);
  lenses.refresh(['file:///a', 'file:///b']);
  lenses.asked('file:///a');
  t.mock.timers.tick(999);
  assert.equal(told(), 1);
  t.mock.timers.tick(1);
  assert.equal(told(), 2);
  lenses.asked('file:///b');
  t.mock.timers.tick(10_000);
  assert.equal(told(), 2);
});

test('one that never asks is told three times, and anew after the next change', (t) => {
  const { lenses, told } = listening(t);
  lenses.refresh(['file:///a']);
  for (let second = 0; second < 10; second += 1) t.mock.timers.tick(1000);
  assert.equal(told(), 3);
  lenses.refresh(['file:///a']);
  t.mock.timers.tick(1000);
  assert.equal(told(), 5);
});

test('nothing is told again without a document on the screen, or after the end', (t) => {
  const { lenses, told } = listening(t);
  lenses.refresh([]);
  t.mock.timers.tick(10_000);
  assert.equal(told(), 1);
  lenses.refresh(['file:///a']);
  lenses.dispose();
  t.mock.timers.tick(10_000);
  assert.equal(told(), 2);
});

test('where the text has changed the editor asks by itself: it is told only if it does not, or had asked before', (t) => {
  const { lenses, told } = listening(t);
  lenses.textChanged('file:///a', ['x']);
  lenses.refresh(['file:///a']);
  assert.equal(told(), 0);
  t.mock.timers.tick(1000);
  assert.equal(told(), 1);
  lenses.asked('file:///a');
  lenses.textChanged('file:///a', ['x']);
  lenses.asked('file:///a');
  lenses.refresh(['file:///a']);
  assert.equal(told(), 2);
  lenses.textChanged('file:///a', ['x']);
  lenses.refresh(['file:///a', 'file:///b']);
  assert.equal(told(), 3);
});

test('an editor whose document was saved since does not ask by itself: it is told at once', (t) => {
  const { lenses, told } = listening(t);
  lenses.textChanged('file:///a', []);
  lenses.refresh(['file:///a']);
  assert.equal(told(), 1);
});

test('an editor that has not asked is told again also where nothing more has changed in its document', (t) => {
  const { lenses, told } = listening(t);
  lenses.refresh(['file:///a']);
  lenses.refresh(['file:///b']);
  lenses.asked('file:///b');
  t.mock.timers.tick(1000);
  assert.equal(told(), 3);
  lenses.asked('file:///a');
  t.mock.timers.tick(10_000);
  assert.equal(told(), 3);
});
