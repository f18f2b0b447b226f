import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Calls, FromView, ViewIntent } from '../../src/bridge/contract.ts';
import { readFromView } from '../../src/editor/viewMessages.ts';

const intents: { readonly [T in ViewIntent['type']]: Extract<ViewIntent, { type: T }> } = {
  prompt: {
    type: 'prompt',
    turnId: 't',
    content: [
      { type: 'text', text: 'hi' },
      { type: 'file', path: '/a', lines: [1, 2] },
    ],
  },
  command: { type: 'command', turnId: 't', path: ['memory', 'add'], args: '' },
  steer: { type: 'steer', turnId: 't', content: [] },
  unqueue: { type: 'unqueue', turnId: 't' },
  cancel: { type: 'cancel' },
  stopCall: { type: 'stopCall', callId: 'c' },
  stopTerminal: { type: 'stopTerminal', terminalId: 'x' },
  answer: { type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'o', feedback: 'no' } },
  setMode: { type: 'setMode', modeId: 'm' },
  setOption: { type: 'setOption', optionId: 'o', value: true },
};
const calls: { readonly [M in keyof Calls]: Calls[M]['params'] } = {
  findMentions: { query: 'x' },
  findSymbols: { query: 'x' },
  attach: { kind: 'problems' },
  addTerminal: {},
  models: {},
  lookAround: {},
  findSetups: {},
  useSetup: { kind: 'agent', id: 'gemini' },
  useModel: { name: 'qwen3-coder' },
  hints: { sessionId: 's', text: '/', cursor: 1 },
  open: { path: '/a', line: 3 },
  openLink: { uri: 'https://example.com' },
  review: { sessionId: 's', askId: 'a' },
  settleFile: { sessionId: 's', turnId: 't', path: 'a', how: 'keep' },
  restoreFiles: { sessionId: 's', turnId: 't' },
  copySession: { sessionId: 's' },
  colourCode: { text: 'x', language: 'ts', theme: 'Dark' },
  existing: { paths: ['/w/a.ts'] },
  folders: { paths: ['/w/src'] },
  insertAtCursor: { text: 'x' },
  openTerminal: { sessionId: 's', terminalId: 'x' },
  showAsk: { sessionId: 's', askId: 'a' },
  allowMore: { sessionId: 's', askId: 'a', how: 'always' },
  newSession: { pick: true },
  switchSession: { sessionId: 's' },
  findSessions: { query: 'port' },
  renameSession: { sessionId: 's', title: 'Port' },
  pinSession: { sessionId: 's', on: true },
  deleteSession: { sessionId: 's' },
  exportSession: { sessionId: 's' },
  openInEditor: { sessionId: 's' },
  remedy: { sessionId: 's', remedy: 'restart' },
  trustWorkspace: {},
};

test('every message of the contract is understood as it is', () => {
  const messages: FromView[] = [
    { type: 'ready' },
    { type: 'typing' },
    { type: 'focused', on: true },
    { type: 'unfocused' },
    { type: 'window', width: 800, height: 600 },
    { type: 'resync', sessionId: 's' },
    ...Object.values(intents).map((intent) => ({ type: 'intent', sessionId: 's', intent }) as const),
    ...Object.entries(calls).map(([method, params]) => ({ type: 'call', id: 1, method, params }) as FromView),
  ];
  for (const message of messages) assert.deepEqual(readFromView(message), { message });
});

test('what is off is refused, whatever it is', () => {
  for (const value of [
    null,
    undefined,
    7,
    'ready',
    [],
    {},
    { type: 'eval', code: '1' },
    { type: 'window', width: 0, height: 600 },
    { type: 'window', width: 800, height: 1e9 },
    { type: 'window', width: 800.5, height: 600 },
    { type: 'window', width: '800', height: 600 },
    { type: 'intent', sessionId: 's', intent: { type: 'prompt', turnId: 't', content: [{ type: 'html', html: '<b>' }] } },
    { type: 'intent', sessionId: '', intent: { type: 'cancel' } },
    { type: 'intent', sessionId: 's', intent: { type: 'answer', askId: 'a', answer: { kind: 'option' } } },
    { type: 'call', id: 1, method: '__proto__', params: {} },
    { type: 'call', id: 1, method: 'open', params: { path: '/a', line: 0 } },
    { type: 'call', id: 1, method: 'open', params: { path: '/a', command: 'x' } },
    { type: 'call', id: 1, method: 'remedy', params: { sessionId: 's', remedy: 'format' } },
  ]) {
    assert.ok('problem' in readFromView(value), JSON.stringify(value));
  }
});

test('a call that is off names its number, so that nobody waits for ever', () => {
  assert.equal((readFromView({ type: 'call', id: 12, method: 'nothing', params: {} }) as { callId?: number }).callId, 12);
});

test('sizes are bounded', () => {
  const prompt = (text: string) => ({
    type: 'intent',
    sessionId: 's',
    intent: { type: 'prompt', turnId: 't', content: [{ type: 'text', text }] },
  });
  assert.ok('message' in readFromView(prompt('x'.repeat(1024 * 1024))));
  assert.ok('problem' in readFromView(prompt('x'.repeat(3 * 1024 * 1024))));
});
