import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID, post, served, user } from './aiSdkServed.ts';

const text = { type: 'text', text: 'hi' };
const inAnswer = (part: object) => [user('hi'), { id: 'a', role: 'assistant', parts: [part] }, { ...user('and'), id: 'u2' }];
const call = { type: 'tool-Shell', toolCallId: 'x', input: {} };

// Each of these `validateUIMessages` of the AI SDK refuses in versions 5, 6 and 7.
const refused: readonly (readonly [string, readonly object[], RegExp])[] = [
  ['no part', [{ id: 'u', role: 'user', parts: [] }], /has no part/],
  ['an unknown part', [{ id: 'u', role: 'user', parts: [{ type: 'banana' }] }], /no part of type \\"banana\\"/],
  ['a part named like a member of every object', [{ id: 'u', role: 'user', parts: [{ type: 'constructor' }] }], /no part of type/],
  ['text without a text', [{ id: 'u', role: 'user', parts: [{ type: 'text' }] }], /messages\.0\.parts\.0\.text/],
  ['no id', [{ role: 'user', parts: [text] }], /messages\.0\.id/],
  ['a file without an address', [{ id: 'u', role: 'user', parts: [{ type: 'file', mediaType: 'image/png' }] }], /parts\.0\.url/],
  ['a call without an id', inAnswer({ ...call, toolCallId: undefined, state: 'output-available' }), /messages\.1\.parts\.0\.toolCallId/],
  ['a call in an unknown state', inAnswer({ ...call, state: 'weird' }), /no state \\"weird\\"/],
  ['a tool without a name', inAnswer({ ...call, type: 'dynamic-tool', state: 'input-available' }), /has no name/],
  ['an output before the end', inAnswer({ ...call, state: 'input-available', output: 1 }), /parts\.0\.output/],
  ['an error without words', inAnswer({ ...call, state: 'output-error' }), /parts\.0\.errorText/],
  ['an answer without a verdict', inAnswer({ ...call, state: 'approval-responded', approval: { id: 'p' } }), /approval\.approved/],
  ['text in an unknown state', [{ id: 'u', role: 'user', parts: [{ ...text, state: 'weird' }] }], /parts\.0\.state/],
];

for (const [name, messages, words] of refused) {
  test(`${name} is refused in plain words, and the model hears nothing`, async (t) => {
    const { url, model } = await served(t, ['Answered.']);
    const answer = await post(url, { id: ID, messages });
    assert.deepEqual([answer.status, model.requests.length], [400, 0], answer.text);
    assert.match(answer.text, words);
  });
}

const taken: readonly (readonly [string, readonly object[]])[] = [
  ['data of the client', [{ id: 'u', role: 'user', parts: [text, { type: 'data-weather', data: { at: 1 } }] }]],
  ['an empty id', [{ id: '', role: 'user', parts: [text] }]],
  ['an answer without parts', [user('hi'), { id: 'a', role: 'assistant', parts: [] }, user('and')]],
  ['sources', inAnswer({ type: 'source-document', sourceId: 's', mediaType: 'text/plain', title: 'T' })],
  ['a thought', inAnswer({ type: 'reasoning', text: 'Hm', state: 'done', providerMetadata: { p: { signature: 's' } } })],
  ['parts of version 7', inAnswer({ type: 'reasoning-file', mediaType: 'image/png', url: 'data:,' })],
  ['a call whose input was cut off', inAnswer({ ...call, state: 'input-streaming', input: undefined })],
  ['a call that was stopped while it was asked about', inAnswer({ ...call, state: 'output-error', errorText: 'E', approval: { id: 'p' } })],
  ['a denied call', inAnswer({ ...call, state: 'output-denied', approval: { id: 'p', approved: false, reason: 'No' } })],
  [
    'a call of a tool that is known by name only',
    inAnswer({ ...call, type: 'dynamic-tool', toolName: 'x', state: 'output-available', output: 1 }),
  ],
];

for (const [name, messages] of taken) {
  test(`${name}: taken as the AI SDK takes it`, async (t) => {
    const { url } = await served(t, ['Answered.']);
    const answer = await post(url, { id: ID, messages });
    assert.deepEqual([answer.status, answer.text.includes('Answered.')], [200, true], answer.text);
  });
}
