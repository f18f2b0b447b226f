import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../src/protocols/kimi-wire/index.ts';
import { wire } from '../../../src/protocols/kimi-wire/machine.ts';
import { QUIRKS } from '../../../src/protocols/kimi-wire/quirks.ts';
import { newWire, type WireSetup } from '../../../src/protocols/kimi-wire/state.ts';
import { testNames, testTranscripts, transcriptTitles } from '../../conversation/transcripts.ts';

const FOLDER = 'test/protocols/kimi-wire/cases';
const DEFAULTS: WireSetup = {
  command: 'kimi',
  args: [],
  cwd: '/code',
  key: 'K',
  history: false,
  client: { name: 'test', version: '1.0' },
  tools: [],
  limits: LIMITS,
  asksOff: false,
};

// Cases of Wire: `event TYPE {…}` and `text "…"` come from the agent, `request ID TYPE {…}` is asked by it.
const transcripts = testTranscripts({
  folder: FOLDER,
  machine: wire,
  link: 'agent',
  start: (setup) => ({
    state: newWire('i', { ...DEFAULTS, ...setup }),
    inputs: ['start', 'reply initialize {"protocol_version":"1.10","server":{"name":"Fake","version":"1"}}'],
  }),
  inputs: {
    event: (type, payload) => ({ on: 'message', link: 'agent', method: 'event', params: { type, payload: payload ?? {} } }),
    text: (_name, text) => ({
      on: 'message',
      link: 'agent',
      method: 'event',
      params: { type: 'ContentPart', payload: { type: 'text', text } },
    }),
    request: (name, payload) => {
      const [id = '', type = ''] = name.split(' ');
      return { on: 'asked', link: 'agent', id, method: 'request', params: { type, payload } };
    },
  },
  // The timers of the handshake are in the way of every case; those that are about them name them.
  describe: (effect) =>
    effect.do === 'timer' && effect.after === null && /^(note|silence|closing|record|grace)/.test(effect.timer) ? null : undefined,
});

testNames(transcripts, 'what an approval is about: edits by hunk, MCP tools, a command known only from its call, plain words', '/a');

test('every quirk names a transcript', () => {
  const titles = transcriptTitles(FOLDER);
  for (const { id, transcript } of QUIRKS) assert.ok(titles.includes(transcript), `${id}: there is no transcript "${transcript}"`);
});
