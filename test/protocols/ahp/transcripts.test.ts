import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '../../../src/conversation/machine.ts';
import { type AhpSetup, type AhpState, newAhp } from '../../../src/protocols/ahp/clientState.ts';
import { ahpMachine } from '../../../src/protocols/ahp/machine.ts';
import { testNames, testTranscripts } from '../../conversation/transcripts.ts';
import { randomFrom } from '../../random.ts';

const SESSION = 'gpt:/n';
const CHAT = 'ahp-chat:/n';
const LIMITS: AhpSetup['limits'] = { silence: 30_000, contents: 5_000, reconnect: [300, 1_000], offerRestart: 10_000, restart: 30_000 };
const AGENT = { provider: 'gpt', displayName: 'GPT', models: [{ id: 'default', provider: 'gpt', name: 'Default' }] };
const reply = (call: string, result: unknown): Input => ({ on: 'reply', call, result });
const snapshot = (resource: string, state: unknown, fromSeq = 0) => ({ snapshot: { resource, state, fromSeq } });

/** A session that was opened and has said nothing yet. `setup` may also give what the host holds: `agent`, `session`, `chat`. */
function start(setup: Readonly<Record<string, unknown>>): { readonly state: AhpState; readonly inputs: readonly (string | Input)[] } {
  const { agent = {}, session = {}, chat = {}, ...rest } = setup as Readonly<Record<string, object>>;
  const given: AhpSetup = {
    provider: 'gpt',
    folder: 'file:///w',
    resume: null,
    shown: [],
    newId: 'n',
    clientId: 'me',
    client: { name: 'Parley', version: '1' },
    tools: [],
    limits: LIMITS,
    ...rest,
  };
  const root = { agents: [{ ...AGENT, ...agent }] };
  const facts = { provider: 'gpt', title: '', lifecycle: 'ready', defaultChat: CHAT, chats: [], ...session };
  const held = { resource: CHAT, title: '', status: 1, modifiedAt: '', origin: { kind: 'user' }, turns: [], ...chat };
  return {
    state: newAhp('i', given),
    inputs: [
      'start',
      reply('initialize', { protocolVersion: '1.0.0', serverSeq: 0, snapshots: [{ resource: 'ahp-root:/', state: root, fromSeq: 0 }] }),
      ...(given.resume ? [] : [reply(`create ${SESSION}`, null)]),
      reply('session', snapshot(SESSION, facts)),
      reply('chat', snapshot(CHAT, held)),
      reply('commands', { items: [] }),
    ],
  };
}

let seq = 0;
const transcripts = testTranscripts<AhpState>({
  folder: 'test/protocols/ahp/cases',
  machine: ahpMachine,
  start: (setup) => {
    seq = 0;
    return start(setup);
  },
  link: 'host',
  inputs: {
    /** `chat TYPE {…}`: an action on the chat; `mine` and `refusal` stand beside its fields. */
    chat: (type, value) => action(CHAT, `chat/${type}`, value),
    session: (type, value) => action(SESSION, `session/${type}`, value),
    terminal: (type, value) => action('ahp-terminal:/n/a', `terminal/${type}`, value),
  },
  describe: (effect) => {
    if (effect.do !== 'notify' || effect.method !== 'dispatchAction') return undefined;
    const {
      channel,
      clientSeq,
      action: sent,
    } = effect.params as {
      readonly channel: string;
      readonly clientSeq: number;
      readonly action: { readonly type: string };
    };
    const { type, ...fields } = sent;
    return `dispatch ${clientSeq} ${channel === CHAT ? '' : `${channel} `}${type} ${JSON.stringify(fields)}`;
  },
});

function action(channel: string, type: string, value: unknown): Input {
  const { mine, refusal, ...fields } = value as Readonly<Record<string, unknown>>;
  seq += 1;
  const params = {
    channel,
    action: { type, ...fields },
    serverSeq: seq,
    ...(mine === undefined ? {} : { origin: { clientId: 'me', clientSeq: mine } }),
    ...(refusal === undefined ? {} : { rejectionReason: refusal }),
  };
  return { on: 'message', link: 'host', method: 'action', params };
}

test('attack: whatever a host says, nothing throws, and what was asked is settled when it is gone', () => {
  const random = randomFrom(7);
  const junk: readonly unknown[] = [null, undefined, 0, -1, 1e308, '', 'x', '__proto__', [], {}, [null], { markdown: 'm' }, true];
  const one = (): unknown => junk[random(junk.length)];
  const types = [
    'turnStarted',
    'responsePart',
    'delta',
    'reasoning',
    'toolCallStart',
    'toolCallReady',
    'toolCallConfirmed',
    'toolCallComplete',
  ];
  types.push('toolCallContentChanged', 'inputRequested', 'inputCompleted', 'turnComplete', 'turnCancelled', 'error', 'truncated', 'usage');
  const ids = ['t', 'u', 'c', '__proto__'];
  const id = (): unknown => (random(4) === 0 ? one() : ids[random(ids.length)]);
  const question = { id: 'q', kind: 'single-select', message: 'Which?', options: [{ id: '1', label: 'A' }] };
  const fields = (): Readonly<Record<string, unknown>> => ({
    turnId: id(),
    toolCallId: id(),
    partId: id(),
    message: random(3) === 0 ? one() : { text: 'go' },
    part: random(2) === 0 ? one() : { kind: 'markdown', id: id(), content: 'x' },
    content: random(2) === 0 ? 'x' : one(),
    request: random(3) === 0 ? one() : { id: id(), message: one(), questions: [question, one()].slice(random(2)) },
    invocationMessage: one(),
    toolInput: random(2) === 0 ? one() : 'ls',
    options: random(2) === 0 ? one() : [{ id: 'y', label: 'Y', kind: 'approve' }],
    approved: one(),
    response: random(2) === 0 ? one() : 'accept',
    result: random(2) === 0 ? one() : { success: one(), content: [one()] },
    duration: one(),
  });
  for (let run = 0; run < 300; run += 1) {
    const { state, inputs } = start({});
    const open = new Set<string>();
    const step = (input: Input) => {
      for (const effect of ahpMachine(state, input, 0)) {
        if (effect.do !== 'emit') continue;
        if (effect.event.type === 'ask.opened') open.add(effect.event.ask.id);
        if (effect.event.type === 'ask.closed') open.delete(effect.event.askId);
      }
    };
    for (const input of inputs) step(typeof input === 'string' ? { on: 'start' } : input);
    for (let at = 0; at < 40; at += 1) step(action(CHAT, `chat/${types[random(types.length)]}`, fields()));
    step({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    for (let tries = 0; tries < LIMITS.reconnect.length; tries += 1) {
      step({ on: 'timer', timer: 'reconnect' });
      step({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    }
    assert.deepEqual([state.phase, open.size], ['over', 0]);
  }
});

testNames(transcripts, 'an edit is asked about when both sides of it were read; what comes meanwhile waits behind it', '/w/a');
