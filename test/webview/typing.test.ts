import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportTyping } from '../../webview/typing.ts';

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
});
