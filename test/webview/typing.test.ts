import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoreChords, reportTyping } from '../../webview/typing.ts';

test('typing anywhere in the page is reported, a few times a second at most', () => {
  const root = document.createElement('div');
  const box = document.createElement('textarea');
  root.append(box);
  let now = 0;
  let reports = 0;
  reportTyping(
    root,
    () => {
      reports += 1;
    },
    () => now,
  );
  const type = () => box.dispatchEvent(new Event('input', { bubbles: true }));
  type();
  type();
  assert.equal(reports, 1);
  now = 300;
  type();
  assert.equal(reports, 2);
  // What is sent ends typing for the host.
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  type();
  assert.equal(reports, 3);
});

test('the second key of a shortcut that begins with Ctrl+K is not typed, the next one is, and one after the wait or after a return', () => {
  const box = document.createElement('textarea');
  let now = 0;
  ignoreChords(box, () => now);
  const types = (key: string, ctrlKey = false) => box.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey, cancelable: true }));
  types('Control', true);
  types('k', true);
  assert.equal(types('h'), false);
  assert.equal(types('h'), true);
  types('k', true);
  types('Shift');
  assert.equal(types('H'), false);
  assert.equal(types('k'), true);
  assert.equal(types('h'), true);
  types('k', true);
  box.dispatchEvent(new Event('blur'));
  assert.equal(types('h'), true);
  types('k', true);
  now = 6000;
  assert.equal(types('h'), true);
});
