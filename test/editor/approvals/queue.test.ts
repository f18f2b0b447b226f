import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AskQueue, keyOf, keyOfOpen, type QueuedAsk } from '../../../src/editor/approvals/queue.ts';

const ask = (id: string, sessionId = 's'): QueuedAsk => ({
  sessionId,
  ask: { kind: 'approval', id, title: id, detail: { type: 'text', text: id }, options: [] },
});
const [a, b, c] = [ask('a'), ask('b'), ask('c')] as const;
const idOf = (one: QueuedAsk | undefined) => one?.ask.id;

/** Shows what comes next, as the surface does. */
function showNext(queue: AskQueue, popUp = true): string | undefined {
  const next = queue.next(() => popUp);
  if (next) queue.show(next);
  return idOf(next);
}

test('asks are shown oldest first, one after another', () => {
  const queue = new AskQueue();
  queue.update([a]);
  assert.equal(showNext(queue), 'a');
  queue.update([b, a]);
  assert.equal(showNext(queue), 'a', 'a second ask does not take the place of the first');
  assert.deepEqual(queue.placeOf(keyOfOpen(b)), { place: 2, of: 2 });
  queue.answered(keyOfOpen(a));
  assert.equal(showNext(queue), 'b');
});

test('an ask that was answered elsewhere makes room for the next', () => {
  const queue = new AskQueue();
  queue.update([a, b]);
  showNext(queue);
  queue.update([b]);
  assert.equal(queue.shown, undefined);
  assert.equal(showNext(queue), 'b');
});

test('a dismissed ask stays open and does not come back by itself', () => {
  const queue = new AskQueue();
  queue.update([a]);
  showNext(queue);
  queue.dismissShown();
  assert.equal(
    queue.next(() => true),
    undefined,
  );
  assert.deepEqual(queue.open.map(idOf), ['a']);
});

test('a dismissal dismisses all that wait, and a later ask still shows', () => {
  const queue = new AskQueue();
  queue.update([a, b]);
  showNext(queue);
  queue.dismissShown();
  assert.equal(
    queue.next(() => true),
    undefined,
    'the next one would close what the user has opened instead',
  );
  queue.update([a, b, c]);
  assert.equal(showNext(queue), 'c');
});

test('what was dismissed comes back when it is asked for', () => {
  const queue = new AskQueue();
  queue.update([a, b]);
  showNext(queue);
  queue.dismissShown();
  assert.equal(queue.request(keyOfOpen(b)), true);
  assert.equal(showNext(queue), 'b');
  queue.answered(keyOfOpen(b));
  queue.update([a]);
  assert.equal(
    queue.next(() => true),
    undefined,
    'the other one was not asked for',
  );
  assert.equal(queue.requestAll(), true);
  assert.equal(showNext(queue), 'a');
});

test('what was covered comes back with all that was dismissed with it, and nothing that was dismissed or answered otherwise', () => {
  const queue = new AskQueue();
  queue.update([a]);
  showNext(queue);
  queue.dismissShown();
  queue.update([a, b, c]);
  assert.equal(showNext(queue), 'b');
  queue.dismissShown(keyOfOpen(b));
  queue.answered(keyOfOpen(c));
  assert.equal(queue.comeBack(), keyOfOpen(b));
  assert.deepEqual(queue.waiting.map(idOf), ['b']);
  assert.equal(showNext(queue), 'b');
});

test('an ask that is wanted takes the place of the one that is shown, which comes back after it', () => {
  const queue = new AskQueue();
  queue.update([a, b]);
  showNext(queue);
  queue.request(keyOfOpen(b));
  assert.equal(showNext(queue), 'b');
  queue.answered(keyOfOpen(b));
  queue.update([a]);
  assert.equal(showNext(queue), 'a');
});

test('an answered ask is not shown again while the agent has not taken the answer', () => {
  const queue = new AskQueue();
  queue.update([a]);
  showNext(queue);
  queue.answered(keyOfOpen(a));
  queue.update([a]);
  assert.equal(
    queue.next(() => true),
    undefined,
  );
});

test('without popping up only what is asked for is shown', () => {
  const queue = new AskQueue();
  queue.update([a]);
  assert.equal(showNext(queue, false), undefined);
  queue.requestAll();
  assert.equal(showNext(queue, false), 'a');
});

test('nothing is wanted that is not open', () => {
  const queue = new AskQueue();
  assert.equal(queue.request(keyOfOpen(a)), false);
  assert.equal(queue.requestAll(), false);
  queue.update([a]);
  queue.request(keyOfOpen(a));
  queue.update([]);
  assert.equal(
    queue.next(() => true),
    undefined,
  );
});

test('one id in two sessions is two asks', () => {
  const queue = new AskQueue();
  queue.update([ask('x', 'one'), ask('x', 'two')]);
  showNext(queue);
  queue.answered(keyOf('one', 'x'));
  assert.equal(queue.next(() => true)?.sessionId, 'two');
  assert.notEqual(keyOf('a', 'b,c'), keyOf('a,b', 'c'));
});

test('an ask that is closed and opened again under its id is new', () => {
  const queue = new AskQueue();
  queue.update([a]);
  showNext(queue);
  queue.dismissShown();
  queue.update([]);
  queue.update([a]);
  assert.equal(showNext(queue), 'a');
});
