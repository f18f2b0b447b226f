import { LIMITS } from '../../../src/protocols/kimi-wire/index.ts';
import { wire } from '../../../src/protocols/kimi-wire/machine.ts';
import { newWire, type WireSetup, type WireState } from '../../../src/protocols/kimi-wire/state.ts';
import type { TranscriptProtocol } from '../../conversation/transcripts.ts';

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
export const wireCases: TranscriptProtocol<WireState> = {
  name: 'kimi-wire',
  folder: 'test/protocols/kimi-wire/cases',
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
};
