import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClickGuard } from '../../../src/editor/approvals/keyboard.ts';
import { keyOf } from '../../../src/editor/approvals/queue.ts';
import type { Approval } from '../../../src/session/model.ts';

const ask = (id: string): Approval => ({
  kind: 'approval',
  id,
  title: 'Run',
  toolKind: 'execute',
  detail: { type: 'command', command: 'ls' },
  options: [],
});

test('a question that takes the place of one nobody answered is not answered by a press of that moment', () => {
  let now = 1000;
  const unread = new ClickGuard(() => now);
  unread.onEvent('s', { type: 'ask.opened', ask: ask('1') });
  assert.equal(unread.has(keyOf('s', '1')), false);
  unread.onEvent('s', { type: 'ask.closed', askId: '1', how: 'withdrawn' });
  unread.onEvent('s', { type: 'ask.opened', ask: ask('2') });
  now += 499;
  assert.equal(unread.has(keyOf('s', '2')), true);
  assert.equal(unread.has(keyOf('t', '2')), false);
  now += 1;
  assert.equal(unread.has(keyOf('s', '2')), false);
});

test('the next of several, after an answer or a while later, can be answered at once', () => {
  let now = 1000;
  const unread = new ClickGuard(() => now);
  unread.onEvent('s', { type: 'ask.closed', askId: '1', how: 'answered' });
  unread.onEvent('s', { type: 'ask.opened', ask: ask('2') });
  assert.equal(unread.has(keyOf('s', '2')), false);
  unread.onEvent('s', { type: 'ask.closed', askId: '2', how: 'cancelled' });
  now += 300;
  unread.onEvent('s', { type: 'ask.opened', ask: ask('3') });
  assert.equal(unread.has(keyOf('s', '3')), false);
});
