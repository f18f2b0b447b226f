import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setGuardedFiles } from '../../src/base/guardedFiles.ts';
import type { FromView, ToView } from '../../src/bridge/contract.ts';
import { Mirror } from '../../src/bridge/mirror.ts';
import { Outbox } from '../../src/bridge/outbox.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';
import { randomEvents } from '../session/randomEvents.ts';

/** A store, an outbox and a mirror joined by a wire that is pumped by hand. */
function pipe() {
  const store = new Store(newSession('s', { protocol: 'p', name: 'A' }, '/w'));
  const wire: ToView[] = [];
  const frames: (() => void)[] = [];
  const outbox = new Outbox({ post: (message) => wire.push(JSON.parse(JSON.stringify(message)) as ToView) }, (flush) => frames.push(flush));
  const asked: FromView[] = [];
  const mirror = new Mirror((message) => asked.push(message));
  mirror.take({ type: 'sessions', list: [], profiles: [], active: 's' });
  store.onChange(({ event }) => outbox.take('s', event));
  const frame = () => frames.splice(0).forEach((flush) => flush());
  const deliver = () => wire.splice(0).forEach((message) => mirror.take(message));
  return { store, wire, outbox, mirror, asked, frame, deliver };
}

const OPTIONS = [
  { id: 'yes', label: 'Allow', effect: 'allow_once' },
  { id: 'no', label: 'Reject', effect: 'reject_once' },
] as const;

test('the mirror equals the store for 200 random scripts, whatever the frames', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const { store, outbox, mirror, asked, frame, deliver } = pipe();
    outbox.show({ id: 's', store });
    outbox.listen(true);
    randomEvents(seed, 150).forEach((event, at) => {
      store.apply(event);
      if (at % ((seed % 7) + 1) === 0) frame();
      if (at % ((seed % 5) + 1) === 0) deliver();
      if (at === 70) outbox.listen(false);
      if (at === 90) outbox.listen(true);
    });
    frame();
    deliver();
    assert.deepEqual(mirror.session, store.now, `seed ${seed}`);
    assert.deepEqual(asked, []);
  }
});

test('a lost patch is noticed, asked for once, and mended by a snapshot', () => {
  const { store, wire, outbox, mirror, asked, frame, deliver } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(true);
  deliver();
  const grow = () => {
    store.apply({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'a', text: 'x' });
    frame();
  };
  store.apply({ type: 'turn.started', turnId: 't', at: 1, prompt: [] });
  frame();
  deliver();
  grow();
  wire.pop();
  grow();
  grow();
  deliver();
  assert.deepEqual(asked, [{ type: 'resync', sessionId: 's' }]);
  outbox.snapshot();
  deliver();
  assert.deepEqual(mirror.session, store.now);
});

test('a hidden view gets nothing', () => {
  const { store, wire, outbox, frame } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(false);
  store.apply({ type: 'turn.started', turnId: 't', at: 1, prompt: [] });
  frame();
  assert.deepEqual(wire, []);
});

test('growth of one frame is one event, and the patch says which numbers it covers', () => {
  const { store, wire, outbox, frame } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(true);
  store.apply({ type: 'turn.started', turnId: 't', at: 1, prompt: [] });
  for (const text of ['a', 'b', 'c']) store.apply({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text });
  frame();
  const patch = wire.at(-1);
  assert.ok(patch?.type === 'patch');
  assert.deepEqual([patch.from, patch.seq, patch.events.length], [1, 4, 2]);
});

test('a patch that a snapshot has overtaken, or of another session, is no gap', () => {
  const { mirror, asked } = pipe();
  mirror.take({
    type: 'snapshot',
    sessionId: 'other',
    seq: 5,
    session: newSession('other', { protocol: 'p', name: 'A' }, '/w'),
    answers: [],
  });
  mirror.take({ type: 'patch', sessionId: 'other', from: 2, seq: 4, events: [] });
  mirror.take({ type: 'patch', sessionId: 'third', from: 2, seq: 9, events: [] });
  assert.deepEqual(asked, []);
});

test('what is dangerous about an approval is judged by the host, with the files that the user guards', (t) => {
  t.after(() => setGuardedFiles([]));
  setGuardedFiles(['deploy.txt']);
  const { store, outbox, mirror, frame, deliver } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(true);
  const detail = { type: 'edit', diffs: [{ path: '/w/deploy.txt', before: 'a\n', after: 'b\n' }] } as const;
  store.apply({ type: 'ask.opened', ask: { kind: 'approval', id: 'a', title: 'Edit', detail, options: OPTIONS } });
  frame();
  deliver();
  // The page, which has no list of its own, gets the kinds with the answers.
  setGuardedFiles([]);
  const kinds = () => mirror.answersTo('a').dangers.map(({ kind }) => kind);
  assert.deepEqual(kinds(), ['steers']);
  assert.deepEqual(
    mirror
      .answersTo('a')
      .answers.map(({ label }) => label)
      .slice(0, 1),
    ['Allow once'],
  );
  outbox.snapshot();
  deliver();
  assert.deepEqual(kinds(), ['steers']);
  assert.deepEqual(mirror.answersTo('gone').answers, []);
});

test('an answer with words is offered as soon as the agent is known to take them', () => {
  const { store, outbox, mirror, frame, deliver } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(true);
  store.apply({
    type: 'ask.opened',
    ask: { kind: 'approval', id: 'a', title: 'Run', detail: { type: 'command', command: 'ls' }, options: OPTIONS },
  });
  frame();
  deliver();
  const way = () => mirror.answersTo('a').answers.flatMap(({ does }) => (does.kind === 'feedback' ? [does.way] : []));
  assert.deepEqual(way(), ['next']);
  store.apply({ type: 'link.ready', agent: { protocol: 'p', name: 'A' }, offers: { feedback: true } });
  frame();
  deliver();
  assert.deepEqual(way(), ['answer']);
});

test('the answers to an edit follow what the user makes of it', () => {
  const { store, outbox, mirror, frame, deliver } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(true);
  const [before, after] = ['a\n', 'b\n'];
  const detail = { type: 'edit', diffs: [{ path: 'x.txt', before, after }] } as const;
  store.apply({ type: 'ask.opened', ask: { kind: 'approval', id: 'a', title: 'Edit', detail, options: OPTIONS } });
  const once = () => {
    frame();
    deliver();
    return mirror.answersTo('a').once?.label;
  };
  assert.equal(once(), 'Allow once');
  store.apply({ type: 'ask.revised', askId: 'a', diffs: [{ path: 'x.txt', before, after: before }] });
  assert.equal(once(), undefined, 'nothing of it is left to allow');
  store.apply({ type: 'ask.revised', askId: 'a', diffs: [] });
  assert.equal(once(), 'Allow once');
});

test('what a turn keeps for its adapter is not sent, and the numbers go on', () => {
  const { store, wire, outbox, mirror, asked, frame, deliver } = pipe();
  outbox.show({ id: 's', store });
  outbox.listen(true);
  store.apply({ type: 'turn.started', turnId: 't', at: 1, prompt: [] });
  store.apply({ type: 'turn.adapterState', turnId: 't', value: { secret: 1 } });
  frame();
  store.apply({ type: 'turn.adapterState', turnId: 't', value: { secret: 2 } });
  frame();
  store.apply({ type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
  frame();
  outbox.snapshot();
  assert.equal(JSON.stringify(wire).includes('secret'), false);
  deliver();
  assert.deepEqual(store.now.turns[0]?.adapterState, { secret: 2 });
  assert.deepEqual([mirror.session?.turns[0]?.status, mirror.session?.turns[0]?.adapterState], ['done', undefined]);
  assert.deepEqual(asked, []);
});
