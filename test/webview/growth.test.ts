import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextGrowth } from '../../webview/page.ts';

const delta = (partId: string, text: string) => ({ type: 'text.delta', turnId: 't', kind: 'text', partId, text }) as const;

test('pieces of a text are given out once, joined', () => {
  const growth = new TextGrowth();
  growth.take([delta('a', '1'), delta('b', 'x')]);
  growth.take([delta('a', '2')]);
  assert.equal(growth.of('t', 'a'), '12');
  assert.equal(growth.of('t', 'a'), undefined);
  assert.equal(growth.of('t', 'b'), 'x');
});

test('nothing is known of a text that was set, of an ended turn, or after a snapshot', () => {
  const growth = new TextGrowth();
  growth.take([delta('a', '1'), { type: 'text.set', turnId: 't', partId: 'a', text: 'z' }]);
  assert.equal(growth.of('t', 'a'), undefined);
  growth.take([delta('a', '1'), { type: 'turn.ended', turnId: 't', at: 0, status: 'done' }]);
  assert.equal(growth.of('t', 'a'), undefined);
  growth.take([delta('a', '1')]);
  growth.take(undefined);
  assert.equal(growth.of('t', 'a'), undefined);
});
