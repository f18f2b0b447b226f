import assert from 'node:assert/strict';
import { test } from 'node:test';
import { posted } from '../../../src/protocols/ai-sdk/history.ts';
import type { UiMessage, UiPart } from '../../../src/protocols/ai-sdk/schema.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { open, person } from './talk.ts';

// Pure functions over messages and options.

const PLAIN = { v5: false, errorsAsOutput: false };
const tool = (state: string, more: object = {}): UiPart => ({ type: 'tool-x', toolCallId: 'c', state, input: { a: 1 }, ...more }) as UiPart;
const assistant = (...parts: UiPart[]): UiMessage => ({ id: 'm', role: 'assistant', parts });
const user = (id: string): UiMessage => ({ id, role: 'user', parts: [{ type: 'text', text: id }] });

test('version 5 gets no state, type or member it does not know', () => {
  const messages = [
    assistant(
      tool('approval-requested', { approval: { id: 'a' } }),
      tool('approval-responded', { approval: { id: 'a', approved: false, reason: 'no' } }),
      tool('output-denied', { approval: { id: 'a', approved: false, reason: 'never' } }),
      tool('output-available', { output: 1, approval: { id: 'a', approved: true } }),
      { type: 'dynamic-tool', toolName: 'dyn', toolCallId: 'd', state: 'output-available', input: {}, output: 2 },
    ),
  ];
  const written = posted(messages, { v5: true, errorsAsOutput: false })[0]!;
  assert.deepEqual(JSON.parse(JSON.stringify(written.parts)), [
    { type: 'tool-x', toolCallId: 'c', state: 'output-error', input: { a: 1 }, errorText: 'The user declined this action.' },
    { type: 'tool-x', toolCallId: 'c', state: 'output-error', input: { a: 1 }, errorText: 'no' },
    { type: 'tool-x', toolCallId: 'c', state: 'output-error', input: { a: 1 }, errorText: 'never' },
    { type: 'tool-x', toolCallId: 'c', state: 'output-available', input: { a: 1 }, output: 1 },
    { type: 'tool-dyn', toolCallId: 'd', state: 'output-available', input: {}, output: 2 },
  ]);
  assert.equal(messages[0]?.parts[2], posted(messages, PLAIN)[0]?.parts[2], 'the history itself keeps what came');
});

test('files of the assistant in old turns are left out, those of the user stay', () => {
  const file = (): UiPart => ({ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' });
  const messages = [{ ...user('1'), parts: [file()] }, assistant(file()), user('2'), user('3'), assistant(file()), user('4')];
  assert.deepEqual(
    posted(messages, PLAIN).map((message) => message.parts.length),
    [1, 1, 1, 1, 1],
  );
});

test('options that cannot be used are named', async () => {
  const live = open(
    'https://chat.example.test/api/chat',
    { options: { toolFlow: 'sideways', colour: 'red', body: '[1]' } },
    newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/w'),
  );
  await live.start();
  const { until } = person(live);
  const { notices } = await until((session) => session.link.state === 'ready');
  const words = notices.map((notice) => notice.text).join('\n');
  for (const expected of [/Option toolFlow: “sideways” is invalid. Expected: auto, repost/, /Option colour: “red”/, /Option body: “\[1\]”/])
    assert.match(words, expected);
  await live.stop();
  live.dispose();
});
