import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as redaction from '../../src/editor/redact.ts';
import { Traffic } from '../../src/editor/traffic.ts';
import { sessionOfRecording } from '../../src/live/recording.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { callPart, session, textPart, turn } from '../webview/page/sessions.ts';

const started = { type: 'turn.started', turnId: 't', at: 5, prompt: [{ type: 'text', text: 'Hi' }] } as const;
const delta = { type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: 'Hello' } as const;

test('the traffic of a session has the last messages from before somebody looked, and the events that came of each', () => {
  let now = 1_000;
  const traffic = new Traffic(() => now);
  traffic.message('s', 'in', { method: 'early' });
  traffic.event('s', started);
  let changes = 0;
  const watching = traffic.watch('s', redaction, () => {
    changes += 1;
  });
  traffic.message('s', 'out', { jsonrpc: '2.0', id: 1, method: 'session/prompt', params: {} });
  now = 1_250;
  traffic.message('s', 'in', { jsonrpc: '2.0', method: 'session/update', params: { update: { sessionUpdate: 'agent_message_chunk' } } });
  traffic.event('s', delta);
  traffic.message('other', 'in', { type: 'x' });
  traffic.message('s', 'in', { jsonrpc: '2.0', id: 1, result: {} });
  assert.deepEqual(
    traffic.rows('s').map(({ number, at, way, kind, events }) => [number, at, way, kind, events]),
    [
      [1, 1_000, 'in', 'early', ['turn.started']],
      [2, 1_000, 'out', 'session/prompt', []],
      [3, 1_250, 'in', 'session/update agent_message_chunk', ['text.delta']],
      [4, 1_250, 'in', 'result', []],
    ],
  );
  assert.equal(changes, 4);
  watching.dispose();
  assert.deepEqual(traffic.rows('s'), []);
});

const other = { type: 'turn.activity', turnId: 't', text: null } as const;
const text = (words: string) => ({ type: 'ContentPart', payload: { type: 'text', text: words } });

for (const isSeen of [true, false]) {
  test(`events stand at the message that made them${isSeen ? '' : ', before somebody looks'}, and those of the user at none`, async () => {
    const traffic = new Traffic(() => 0);
    if (isSeen) traffic.watch('s', redaction, () => {});
    traffic.message('s', 'in', text('Hel'));
    traffic.message('s', 'in', text('lo'));
    traffic.message('s', 'in', { type: 'ToolCall', payload: { id: 'call', name: 'Grep' } });
    // The pieces are joined until the next event.
    traffic.event('s', delta);
    traffic.event('s', other);
    traffic.message('s', 'in', { type: 'Answer' });
    await Promise.resolve().then(() => traffic.event('s', other));
    await new Promise((later) => setImmediate(later));
    traffic.event('s', { type: 'queue.set', queue: [] });
    traffic.message('s', 'out', { type: 'prompt' });
    traffic.event('s', started);
    traffic.watch('s', redaction, () => {});
    const events = traffic.rows('s').map((row) => row.events);
    assert.deepEqual(events, [[], ['text.delta'], ['turn.activity'], ['turn.activity'], []]);
  });
}

test('messages are found by words in their JSON, kind or events, in whatever order', () => {
  const traffic = new Traffic(() => 0);
  traffic.watch('s', redaction, () => {});
  traffic.message('s', 'out', { method: 'session/prompt', params: { text: 'Buy Ink' } });
  traffic.message('s', 'in', { method: 'session/update', params: { text: 'ink' } });
  traffic.event('s', delta);
  const found = ['ink', 'ink buy', 'in text.delta', 'key'].map((query) => traffic.find('s', query));
  assert.deepEqual(found, [[1, 2], [1], [2], []]);
});

test('of a session that nobody looks at the last two hundred messages are kept, and none once it is gone', () => {
  const traffic = new Traffic(() => 0);
  for (let at = 1; at <= 1_000; at += 1) traffic.message('s', 'in', { method: `m${at}`, key: 'sk-0123456789abcdef0123' });
  const watching = traffic.watch('s', redaction, () => {});
  const rows = traffic.rows('s');
  assert.ok(rows.length > 150 && rows.length <= 200, `${rows.length} rows`);
  assert.equal(rows.at(-1)?.kind, 'm1000');
  assert.doesNotMatch(rows.map(({ json }) => json).join(), /0123456789abcdef/);
  watching.dispose();
  traffic.message('s', 'in', { method: 'later' });
  traffic.keepOnly(['other']);
  traffic.watch('s', redaction, () => {});
  assert.deepEqual(traffic.rows('s'), []);
});

const answered = session({
  title: 'About ink',
  turns: [
    turn({
      endedAt: 5,
      prompt: [{ type: 'text', text: 'Buy ink, the key is sk-0123456789abcdef0123' }],
      parts: [
        textPart('Reading first.', 'x1'),
        callPart({ kind: 'edit', output: [{ kind: 'diff', diff: { path: '/w/a', before: 'a', after: 'b'.repeat(40_000) } }] }),
      ],
      files: [{ path: '/w/a', change: 'changed', review: 'kept' }],
    }),
    turn({ id: 't2', status: 'running', parts: [textPart('Once more', 'x2')] }),
  ],
  terminals: [{ id: 'term', command: 'npm test', tail: 'ok\n', dropped: 0, exit: { code: 0, signal: null } }],
});
const recorded = (traffic: Traffic, of: Session) => [...traffic.recording(of, redaction)].join('');

test('secrets are left out of rows and of what is saved', () => {
  const traffic = new Traffic(() => 0);
  traffic.watch('s', redaction, () => {});
  traffic.message('s', 'out', { method: 'initialize', params: { env: { A: 'hunter2' }, apiKey: 'sk-0123456789abcdef0123' } });
  const rows = traffic.rows('s').map(({ json }) => json);
  assert.doesNotMatch(rows.join() + recorded(traffic, answered), /hunter2|0123456789abcdef/);
});

test('what is saved is the whole session, also what came before somebody looked, and can be replayed', () => {
  const traffic = new Traffic(() => 0);
  traffic.watch('s', redaction, () => {});
  traffic.message('s', 'in', { type: 'message', text: 'Hello' });
  traffic.event('s', { type: 'turn.activity', turnId: 't2', text: null });
  const lines = recorded(traffic, { ...answered, id: 's' })
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual([lines[0].message.way, lines[0].message.events], ['in', ['turn.activity']]);
  const replayed = sessionOfRecording(recorded(traffic, answered), newSession('r', { protocol: 'x', name: 'X' }, '/w'));
  assert.ok(replayed);
  assert.deepEqual([replayed.title, replayed.terminals], ['About ink', answered.terminals]);
  const [first, second] = answered.turns;
  const prompt = [{ type: 'text', text: 'Buy ink, the key is [left out]' }];
  const cut = {
    endedAt: 0,
    cutOff: true,
    status: 'failed',
    error: { message: 'Interrupted: the window or the agent was closed.', next: ['retry'] },
  };
  assert.deepEqual(replayed.turns, [
    { ...first, prompt },
    { ...second, ...cut },
  ]);
});

test('a session that never rests keeps its latest rows', () => {
  const traffic = new Traffic(() => 0);
  traffic.watch('s', redaction, () => {});
  for (let at = 0; at < 5_000; at += 1) traffic.message('s', 'in', { type: 'tick', at });
  const rows = traffic.rows('s');
  assert.ok(rows.length <= 2_000 && rows.length >= 1_800);
  assert.equal(rows.at(-1)?.number, 5_000);
});
