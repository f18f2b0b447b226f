import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportSize } from '../../webview/sight.ts';

test('the size of the window is told at first and when it has changed, also where the page keeps its own', () => {
  const view = Object.assign(new EventTarget(), { outerWidth: 1400, outerHeight: 900 });
  const told: unknown[] = [];
  reportSize(view as never, (size) => told.push(size));
  view.dispatchEvent(new Event('message'));
  view.outerWidth = 800.4;
  view.dispatchEvent(new Event('message'));
  view.outerHeight = 0;
  view.dispatchEvent(new Event('resize'));
  assert.deepEqual(told, [
    { width: 1400, height: 900 },
    { width: 800, height: 900 },
  ]);
});
