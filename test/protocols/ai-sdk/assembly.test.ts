import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '../../../src/conversation/machine.ts';
import { aiSdkMachine } from '../../../src/protocols/ai-sdk/machine.ts';
import { endAssembly, newAssembly } from '../../../src/protocols/ai-sdk/message.ts';
import type { UiMessage } from '../../../src/protocols/ai-sdk/schema.ts';
import type { AiSdkState } from '../../../src/protocols/ai-sdk/state.ts';
import type { Part, Session } from '../../../src/session/model.ts';
import { newSession, reduce } from '../../../src/session/reduce.ts';
import { called, finish, output, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { newState } from './state.ts';

/** The message and the session after these chunks. */
function assembled(chunks: readonly WireChunk[], message: UiMessage = { id: 'x', role: 'assistant', parts: [] }) {
  const state: AiSdkState = newState();
  let session: Session = newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/w');
  const logged: string[] = [];
  const feed = (input: Input) => {
    for (const effect of aiSdkMachine(state, input, 0)) {
      if (effect.do === 'emit') session = reduce(session, effect.event);
      if (effect.do === 'log') logged.push(effect.text.replace(/^The server sent chunks of the unknown type "(.*)"\.$/, 'unknown $1'));
    }
  };
  const tell = (method: string, params: unknown) => feed({ on: 'message', link: 'chat 1', method, params });
  feed({ on: 'start' });
  feed({ on: 'intent', intent: { type: 'prompt', turnId: 't', content: [] } });
  feed({ on: 'reply', call: 'settings', result: {} });
  tell('opened', { resumableId: null, runId: null, stopUrl: null, replay: false });
  state.messages.splice(-1, 1, message);
  const { turn } = state;
  const response = turn?.response ?? assert.fail('no response');
  response.assembly = newAssembly(message.parts.length);
  for (const chunk of chunks) tell('chunk', chunk);
  const { assembly } = response;
  endAssembly(message, assembly);
  const parts: readonly Part[] = session.turns[0]?.parts ?? [];
  return { assembly, message, parts, session, logged };
}
const callIn = (parts: readonly Part[], at = 0) => {
  const part = parts.filter((one) => one.kind === 'call')[at];
  return part?.kind === 'call' ? part.call : assert.fail('no call');
};

test('every chunk type: the message that is posted back', () => {
  const { message, assembly, logged } = assembled([
    start('m1'),
    { type: 'message-metadata', messageMetadata: { a: { b: 1 } } },
    step,
    { type: 'reasoning-start', id: 'r', providerMetadata: { p: { sig: 'S' } } },
    { type: 'reasoning-delta', id: 'r', delta: 'hm' },
    { type: 'reasoning-end', id: 'r', providerMetadata: { p: { sig: 'T' } } },
    ...said('text'),
    { type: 'source-url', sourceId: 's1', url: 'https://x.test/', title: 'X' },
    { type: 'source-document', sourceId: 's2', mediaType: 'application/pdf', title: 'D', filename: 'd.pdf' },
    { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' },
    { type: 'reasoning-file', mediaType: 'image/png', url: 'https://x.test/i.png' },
    { type: 'custom', kind: 'acme.thing', providerMetadata: { acme: 1 } },
    { type: 'data-weather', id: 'w', data: { t: 1 } },
    { type: 'steering-message', id: 'st', parts: [{ type: 'text', text: 'go left' }] },
    { type: 'tool-input-start', toolCallId: 'c1', toolName: 'look', title: 'Look', toolMetadata: { m: 1 } },
    { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"a":' },
    { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '1}' },
    called('c1', 'look', { a: 1 }, { providerMetadata: { p: 2 } }),
    { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1', signature: 'sig', approvalDescriptor: { d: 1 }, reason: 'why' },
    { type: 'tool-approval-response', approvalId: 'a1', approved: true, reason: 'fine' },
    output('c1', { ok: 1 }, { providerMetadata: { p: 3 } }),
    { type: 'tool-input-error', toolCallId: 'c2', toolName: 'bad', input: '{oops', errorText: 'no JSON' },
    called('c3', 'gone', {}, { dynamic: true }),
    { type: 'tool-output-error', toolCallId: 'c3', errorText: 'broke' },
    called('c4', 'rm'),
    { type: 'tool-approval-request', approvalId: 'a4', toolCallId: 'c4' },
    { type: 'tool-output-denied', toolCallId: 'c4' },
    stepEnd,
    { type: 'finish', finishReason: 'stop', messageMetadata: { a: { c: 2 }, totalTokens: 12 } },
  ]);
  assert.deepEqual(logged, []);
  assert.deepEqual(message, {
    id: 'm1',
    role: 'assistant',
    metadata: { a: { b: 1, c: 2 }, totalTokens: 12 },
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', id: 'r', text: 'hm', state: 'done', providerMetadata: { p: { sig: 'T' } } },
      { type: 'text', text: 'text', state: 'done' },
      { type: 'source-url', sourceId: 's1', url: 'https://x.test/', title: 'X' },
      { type: 'source-document', sourceId: 's2', mediaType: 'application/pdf', title: 'D', filename: 'd.pdf' },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' },
      { type: 'reasoning-file', mediaType: 'image/png', url: 'https://x.test/i.png' },
      { type: 'custom', kind: 'acme.thing', providerMetadata: { acme: 1 } },
      { type: 'data-weather', id: 'w', data: { t: 1 } },
      { type: 'steering-message', id: 'st', parts: [{ type: 'text', text: 'go left' }] },
      {
        type: 'tool-look',
        toolCallId: 'c1',
        state: 'output-available',
        title: 'Look',
        toolMetadata: { m: 1 },
        input: { a: 1 },
        callProviderMetadata: { p: 2 },
        resultProviderMetadata: { p: 3 },
        approval: { id: 'a1', descriptor: { d: 1 }, requestReason: 'why', signature: 'sig', approved: true, reason: 'fine' },
        output: { ok: 1 },
      },
      { type: 'tool-bad', toolCallId: 'c2', state: 'output-error', input: '{oops', errorText: 'no JSON' },
      { type: 'dynamic-tool', toolName: 'gone', toolCallId: 'c3', state: 'output-error', input: {}, errorText: 'broke' },
      { type: 'tool-rm', toolCallId: 'c4', state: 'output-denied', input: {}, approval: { id: 'a4' } },
    ],
  });
  assert.deepEqual([assembly.finished, assembly.finishReason], [true, 'stop']);
});

test('every chunk type: what is shown', () => {
  const { parts, session } = assembled([
    { type: 'reasoning-delta', id: 'r', delta: 'hm' },
    ...said('text'),
    { type: 'source-url', sourceId: 's1', url: 'https://x.test/', title: 'X' },
    { type: 'source-url', sourceId: 's3', url: 'command:evil', title: 'E' },
    { type: 'file', mediaType: 'audio/wav', url: 'data:audio/wav;base64,AA==' },
    { type: 'file', mediaType: 'application/zip', url: 'data:application/zip;base64,AAAA' },
    { type: 'file', mediaType: 'image/png', url: 'https://x.test/i.png' },
    { type: 'custom', kind: 'acme.thing' },
    { type: 'data-weather', data: { t: 1 } },
    { type: 'steering-message', id: 'st', parts: [{ type: 'text', text: 'go left' }] },
    { type: 'finish', messageMetadata: { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } } },
  ]);
  assert.deepEqual(
    parts.map((part) => (part.kind === 'content' ? part.content : part.kind === 'prompt' ? part.content : part.kind)),
    [
      'thought',
      'text',
      { type: 'link', uri: 'https://x.test/', title: 'X' },
      { type: 'raw', label: 'E', value: 'command:evil' },
      { type: 'audio', mime: 'audio/wav', data: 'AA==' },
      { type: 'raw', label: 'application/zip', value: 'application/zip, 3 bytes' },
      { type: 'link', uri: 'https://x.test/i.png' },
      [{ type: 'text', text: 'go left' }],
    ],
  );
  assert.deepEqual(session.usage, { input: 3, output: 4, used: 7 });
});

test('a call is shown as it comes: input growing, whole, output', () => {
  const { parts } = assembled([
    { type: 'tool-input-start', toolCallId: 'c', toolName: 'x', title: 'Do it' },
    { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{"a":1}' },
    called('c', 'x', { a: 1 }),
    output('c', 'fine'),
  ]);
  const call = callIn(parts);
  assert.deepEqual(
    { ...call, output: call.output.map((one) => (one.kind === 'content' ? one.content : one)) },
    {
      id: 'c',
      name: 'x',
      title: 'Do it',
      kind: 'other',
      status: 'done',
      inputText: '{"a":1}',
      input: { a: 1 },
      output: [{ type: 'text', text: 'fine' }],
      locations: [],
    },
  );
});

test('outputs that servers wrap are shown as what they are', () => {
  const shown = (value: unknown) => callIn(assembled([called('c', 'x'), output('c', value)]).parts).output;
  const text = (words: string) => [{ kind: 'content', content: { type: 'text', text: words } }];
  assert.deepEqual(shown([{ type: 'text', text: 'in a list' }]), text('in a list'));
  assert.deepEqual(shown({ content: [{ type: 'text', text: 'as content' }] }), text('as content'));
  assert.deepEqual(shown({ __aui_modelContent: [], value: 'for the user' }), text('for the user'));
  assert.deepEqual(shown({ n: 1 }), [{ kind: 'json', value: { n: 1 } }]);
  assert.deepEqual(shown(null), []);
});

test('interleaved texts go by id', () => {
  const { message, parts } = assembled([
    { type: 'text-start', id: 'a' },
    { type: 'text-start', id: 'b' },
    { type: 'text-delta', id: 'a', delta: '1' },
    { type: 'text-delta', id: 'b', delta: '2' },
    { type: 'text-delta', id: 'a', delta: '3' },
    { type: 'text-end', id: 'a' },
    { type: 'text-end', id: 'b' },
  ]);
  assert.deepEqual(
    message.parts.map((part) => 'text' in part && part.text),
    ['13', '2'],
  );
  assert.deepEqual(
    parts.map((part) => part.kind === 'text' && part.text),
    ['13', '2'],
  );
});

test('an id may be used again after its end, or started again while open', () => {
  const { message } = assembled([
    ...said('one'),
    ...said('two'),
    { type: 'text-start', id: 't' },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'three' },
  ]);
  assert.deepEqual(
    message.parts.map((part) => 'text' in part && [part.text, part.state]),
    [
      ['one', 'done'],
      ['two', 'done'],
      ['', 'done'],
      ['three', 'done'],
    ],
  );
});

test('delta without start, end without start, missing ends, textDelta', () => {
  const { message } = assembled([
    { type: 'text-delta', id: 'a', textDelta: 'old name' },
    { type: 'text-end', id: 'nobody' },
    { type: 'reasoning-delta', id: 'a', delta: 'thinking' },
    { type: 'text-delta', id: 'b', delta: null },
  ]);
  assert.deepEqual(
    message.parts.map((part) => 'text' in part && [part.type, part.text, part.state]),
    [
      ['text', 'old name', 'done'],
      ['reasoning', 'thinking', 'done'],
      ['text', '', 'done'],
    ],
  );
});

test('unknown types and unknown finish reasons change nothing', () => {
  const { message, assembly, logged } = assembled([{ type: 'hologram', x: 1 }, ...said('ok'), finish('because')]);
  assert.equal(message.parts.length, 1);
  assert.equal(assembly.finishReason, 'because');
  assert.deepEqual(logged, ['unknown hologram']);
});

test('output and approvals for an unknown call are logged and left out', () => {
  const { message, logged } = assembled([
    output('nobody', 1),
    { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'nobody' },
    { type: 'tool-approval-response', approvalId: 'z', approved: true },
    { type: 'tool-input-delta', toolCallId: 'nobody', inputTextDelta: 'x' },
  ]);
  assert.deepEqual([message.parts.length, logged.length], [0, 4]);
});

test('two error chunks for one bad call: one part, the first words stay', () => {
  const { message } = assembled([
    { type: 'tool-input-error', toolCallId: 'c', toolName: 'x', input: 'bad', errorText: 'not valid', dynamic: true },
    { type: 'tool-output-error', toolCallId: 'c', errorText: 'An error occurred.', dynamic: true },
  ]);
  assert.deepEqual(message.parts, [
    { type: 'dynamic-tool', toolName: 'x', toolCallId: 'c', state: 'output-error', input: 'bad', errorText: 'not valid' },
  ]);
});

test('a call that starts as static and ends as dynamic keeps its first part', () => {
  const { message } = assembled([
    { type: 'tool-input-start', toolCallId: 'c', toolName: 'x', dynamic: false },
    called('c', 'x', { a: 1 }, { dynamic: true }),
    output('c', 1, { dynamic: true }),
  ]);
  assert.deepEqual(message.parts, [{ type: 'tool-x', toolCallId: 'c', state: 'output-available', input: { a: 1 }, output: 1 }]);
});

test('a name that begins with tool- keeps it', () => {
  assert.equal(callIn(assembled([called('c', 'tool-box')]).parts).name, 'tool-box');
});

test('one id while the input streams and another when it is whole are one call', () => {
  const { message, parts } = assembled([
    { type: 'tool-input-start', toolCallId: 'tmp', toolName: 'x' },
    { type: 'tool-input-delta', toolCallId: 'tmp', inputTextDelta: '{}' },
    called('real', 'x', {}),
    output('real', 1),
  ]);
  assert.deepEqual(
    message.parts.map((part) => 'toolCallId' in part && [part.toolCallId, part.state]),
    [['real', 'output-available']],
  );
  assert.equal(callIn(parts).status, 'done');
});

test('preliminary outputs are replaced and do not end the call', () => {
  const chunks = [called('c', 'x'), output('c', 'half', { preliminary: true })];
  const half = assembled(chunks);
  assert.deepEqual(half.message.parts[0], {
    type: 'tool-x',
    toolCallId: 'c',
    state: 'output-available',
    input: {},
    output: 'half',
    preliminary: true,
  });
  assert.equal(callIn(half.parts).status, 'running');
  const whole = assembled([...chunks, output('c', 'whole')]);
  assert.deepEqual(whole.message.parts[0], { type: 'tool-x', toolCallId: 'c', state: 'output-available', input: {}, output: 'whole' });
  assert.deepEqual([callIn(whole.parts).status, callIn(whole.parts).output.length], ['done', 1]);
});

test('reset-step takes back what the step has shown, and its open blocks', () => {
  const { message, parts } = assembled([
    step,
    ...said('kept'),
    step,
    { type: 'text-start', id: 'gone' },
    { type: 'text-delta', id: 'gone', delta: 'never mind' },
    called('c', 'x'),
    { type: 'reset-step' },
    { type: 'text-delta', id: 'gone', delta: 'again' },
  ]);
  assert.deepEqual(
    message.parts.map((part) => ('text' in part ? part.text : part.type)),
    ['step-start', 'kept', 'step-start', 'again'],
  );
  assert.deepEqual(
    parts.map((part) => part.kind === 'text' && part.text),
    ['kept', 'again'],
  );
});

test('reset-step without step marks takes everything back', () => {
  const { message, parts } = assembled([...said('a'), { type: 'reset-step' }]);
  assert.deepEqual([message.parts, parts], [[], []]);
});

test('a data part is updated by id and type; transient data is not stored', () => {
  const { message } = assembled([
    { type: 'data-x', id: '1', data: 1 },
    { type: 'data-y', id: '1', data: 'other' },
    { type: 'data-x', id: '1', data: 2 },
    { type: 'data-x', data: 3 },
    { type: 'data-x', id: '2', data: 'secret', transient: true },
  ]);
  assert.deepEqual(message.parts, [
    { type: 'data-x', id: '1', data: 2 },
    { type: 'data-y', id: '1', data: 'other' },
    { type: 'data-x', data: 3 },
  ]);
});

test('metadata is merged deeply and touches no prototype', () => {
  const evil = JSON.parse(
    '{"type":"finish","messageMetadata":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"b":2}}',
  ) as WireChunk;
  const { message } = assembled([
    { type: 'start', messageMetadata: { a: { x: 1 }, list: [1] } },
    { type: 'message-metadata', messageMetadata: { a: { y: 2 }, list: [2] } },
    evil,
  ]);
  assert.deepEqual(message.metadata, { a: { x: 1, y: 2 }, list: [2], b: 2 });
  assert.equal('polluted' in {}, false);
});

test('a call of an earlier response is found by a continuation that has no step mark yet', () => {
  const before: UiMessage = {
    id: 'm',
    role: 'assistant',
    parts: [{ type: 'step-start' }, { type: 'tool-x', toolCallId: 'c', state: 'approval-responded', input: {} }],
  };
  const { message } = assembled([start('m'), output('c', 'ran'), step, ...said('ok')], before);
  assert.deepEqual(
    message.parts.map((part) => ('state' in part ? part.state : part.type)),
    ['step-start', 'output-available', 'step-start', 'done'],
  );
});

test('a model that uses the id of a call again in a later step makes another call', () => {
  const { message, parts } = assembled([
    step,
    called('c', 'x', { n: 1 }),
    output('c', 1),
    step,
    called('c', 'x', { n: 2 }),
    output('c', 2),
  ]);
  assert.deepEqual(
    message.parts.flatMap((part) => ('output' in part ? [part.output] : [])),
    [1, 2],
  );
  assert.deepEqual([callIn(parts, 0).input, callIn(parts, 1).input], [{ n: 1 }, { n: 2 }]);
});
