import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect, Input } from '../../src/conversation/machine.ts';
import { type AhpState, newAhp } from '../../src/protocols/ahp/clientState.ts';
import { ahpMachine } from '../../src/protocols/ahp/machine.ts';
import { answers } from '../../src/protocols/ahp/schema.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { assertBrief, assertLinear } from './linear.ts';

/** The room of hosts: a host of agents that lies to the client of the sixth protocol, floods it, or says nothing. */

const SESSION = 'gpt:/n';
const CHAT = 'ahp-chat:/n';
const LIMITS = { silence: 30_000, contents: 5_000, reconnect: [300], offerRestart: 10_000, restart: 30_000 };

/** A client of ours, what it has its driver do, and what a window shows. */
class Client {
  readonly state: AhpState;
  readonly effects: Effect[] = [];
  session: Session = newSession('s', { protocol: 'ahp', name: 'GPT' }, '/w');
  #seq = 0;

  constructor() {
    this.state = newAhp('i', {
      provider: 'gpt',
      folder: 'file:///w',
      resume: null,
      shown: [],
      newId: 'n',
      clientId: 'me',
      client: { name: 'Parley', version: '1' },
      window: 'w',
      tools: [],
      limits: LIMITS,
    });
    this.take({ on: 'start' });
  }

  take(input: Input): void {
    for (const effect of ahpMachine(this.state, input, 0)) {
      this.effects.push(effect);
      if (effect.do === 'emit') this.session = reduce(this.session, effect.event);
    }
  }
  reply(call: string, result: unknown): void {
    this.take({ on: 'reply', call, result });
  }
  /** An action of the host on the chat; its number goes up unless one is given. */
  act(type: string, fields: object, serverSeq: number = ++this.#seq): void {
    this.take({ on: 'message', link: 'host', method: 'action', params: { channel: CHAT, action: { type, ...fields }, serverSeq } });
  }
  get events(): readonly SessionEvent[] {
    return this.effects.flatMap((effect) => (effect.do === 'emit' ? [effect.event] : []));
  }
}
const initialize = (more: object = {}) => ({
  protocolVersion: '1.0.0',
  serverSeq: 0,
  snapshots: [{ resource: 'ahp-root://', state: { agents: [{ provider: 'gpt', displayName: 'GPT', models: [] }] }, fromSeq: 0 }],
  ...more,
});
const shown = (resource: string, state: object, fromSeq = 0) => ({ snapshot: { resource, state, fromSeq } });
const chatState = (more: object = {}) => ({ resource: CHAT, title: '', status: 1, modifiedAt: '', turns: [], ...more });

function ready(chat: object = {}): Client {
  const client = new Client();
  client.reply('initialize', initialize());
  client.reply(`create ${SESSION}`, null);
  client.reply('session', shown(SESSION, { provider: 'gpt', title: '', lifecycle: 'ready', defaultChat: CHAT, chats: [] }));
  client.reply('chat', shown(CHAT, chatState(chat)));
  assert.equal(client.session.link.state, 'ready');
  return client;
}
const turnStarted = (client: Client, turnId = 't') => client.act('chat/turnStarted', { turnId, startedAt: '', message: { text: 'go' } });
const asks = { invocationMessage: 'x', toolInput: 'ls', confirmationTitle: 'Run ls?' };
/** A call that asks. */
const asking = (client: Client, id = 'c') => {
  client.act('chat/toolCallStart', { turnId: 't', toolCallId: id, toolName: 'Shell' });
  client.act('chat/toolCallReady', { turnId: 't', toolCallId: id, ...asks });
};
const completed = (client: Client) => client.act('chat/toolCallComplete', { turnId: 't', toolCallId: 'c', result: { success: true } });

test('a host of a version that nobody offered, or of none, is left with a sentence', () => {
  for (const protocolVersion of ['2.0.0', '0.8.1', '10.0.0', '', 'latest', null, 1]) {
    const client = new Client();
    client.reply('initialize', initialize({ protocolVersion }));
    assert.equal(client.session.link.state, 'closed', String(protocolVersion));
    assert.ok(!client.effects.some((effect) => effect.do === 'request' && effect.method === 'createSession'));
  }
  for (const protocolVersion of ['1.1.0', '1.0.0', '0.9.0', '1.2']) {
    const client = new Client();
    client.reply('initialize', initialize({ protocolVersion }));
    assert.equal(client.session.link.state, 'opening', protocolVersion);
  }
});

test('a host that never answers is given up: while it opens, when it is left, and a command it does not stop', () => {
  const silent = new Client();
  silent.take({ on: 'timer', timer: 'silence' });
  assert.equal(silent.session.link.state, 'closed');
  const left = ready();
  left.take({ on: 'leave' });
  left.take({ on: 'timer', timer: 'silence' });
  assert.ok(left.effects.some((effect) => effect.do === 'close'));
  const client = ready();
  client.take({ on: 'intent', intent: { type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] } });
  client.take({ on: 'intent', intent: { type: 'cancel' } });
  client.take({ on: 'timer', timer: 'restart' });
  assert.equal(client.session.turns[0]?.status, 'cancelled');
});

test('an approval for a settled call is asked by nothing, whatever numbers its action bears', () => {
  for (const settle of [
    completed,
    (client: Client) => client.act('chat/toolCallConfirmed', { turnId: 't', toolCallId: 'c', approved: false }),
    (client: Client) => client.act('chat/turnComplete', { turnId: 't', duration: 1 }),
  ]) {
    const client = ready();
    turnStarted(client);
    asking(client);
    assert.equal(client.session.asks.length, 1);
    settle(client);
    assert.equal(client.session.asks.length, 0);
    for (const seq of [0, -1, 1, 2 ** 53, 1e300]) {
      client.act('chat/toolCallReady', { turnId: 't', toolCallId: 'c', ...asks }, seq);
      client.act('chat/toolCallDelta', { turnId: 't', toolCallId: 'c', content: 'rm' }, seq);
    }
    assert.equal(client.session.asks.length, 0);
  }
});

test('a call that changes while it asks is asked about again: no answer to the old one counts for it', () => {
  const client = ready();
  turnStarted(client);
  asking(client);
  const [old] = client.session.asks;
  client.act('chat/toolCallReady', { turnId: 't', toolCallId: 'c', ...asks, toolInput: 'rm -rf ~' });
  const [ask] = client.session.asks;
  assert.ok(old && ask && ask.id !== old.id && client.session.asks.length === 1);
  const sent = client.effects.length;
  client.take({ on: 'intent', intent: { type: 'answer', askId: old.id, answer: { kind: 'option', optionId: 'parley.allow' } } });
  assert.equal(client.effects.length, sent);
});

test('snapshots that contradict what was told leave one turn running, one ask a call, and nothing twice', () => {
  const client = ready();
  turnStarted(client);
  asking(client);
  const call = { toolCallId: 'c', toolName: 'Shell', displayName: '', status: 'pending-confirmation', ...asks };
  const lies: readonly object[] = [
    {},
    { activeTurn: { id: 't', startedAt: '', message: {}, responseParts: [] } },
    { activeTurn: { id: 'u', startedAt: '', message: {}, responseParts: [{ kind: 'toolCall', toolCall: call }] } },
    { activeTurn: { id: 't', startedAt: '', message: {}, responseParts: [1, 2].map(() => ({ kind: 'toolCall', toolCall: call })) } },
    { turns: [1, 2].map(() => ({ id: 't', startedAt: '', message: {}, responseParts: [], state: 'complete' })) },
  ];
  for (const lie of lies) {
    client.take({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    client.take({ on: 'timer', timer: 'reconnect' });
    client.reply('reconnect', {
      type: 'snapshot',
      snapshots: [
        { resource: SESSION, state: { provider: 'gpt', title: '', defaultChat: CHAT }, fromSeq: -7 },
        { resource: CHAT, state: chatState(lie), fromSeq: 1e300 },
      ],
    });
    const { turns, asks: open, link } = client.session;
    assert.equal(link.state, 'ready', JSON.stringify(lie));
    assert.ok(turns.filter(({ status }) => status === 'running').length <= 1);
    assert.equal(new Set(turns.map(({ id }) => id)).size, turns.length);
    assert.equal(new Set(open.map(({ callId }) => callId)).size, open.length);
  }
});

test('requests without an end are answered as not allowed, and all are settled when the host is gone', () => {
  for (const ask of [
    asking,
    (client: Client, id: string) => client.act('chat/inputRequested', { turnId: 't', request: { id, message: 'x', questions: [] } }),
  ]) {
    const clients = [ready(), ready(), ready(), ready(), ready(), ready(), ready(), ready()];
    let next = 0;
    for (const client of clients) turnStarted(client);
    assertLinear(
      'requests of a host',
      500,
      (size) => () => {
        const client = clients[next++] ?? assert.fail();
        for (let at = 0; at < size; at += 1) ask(client, `c${at}`);
      },
      false,
    );
    const client = clients[6] ?? assert.fail();
    assert.ok(client.session.asks.length <= 200, `${client.session.asks.length} asks`);
    const allowed = client.effects.some(
      (effect) => effect.do === 'notify' && /"approved":true|"response":"accept"/.test(JSON.stringify(effect)),
    );
    assert.equal(allowed, false);
    client.take({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    client.take({ on: 'timer', timer: 'reconnect' });
    client.take({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    assert.deepEqual([client.session.link.state, client.session.asks.length], ['closed', 0]);
  }
});

test('a history of tens of thousands of turns, and a list of as many sessions, are read as far as anybody reads them', () => {
  const turn = (at: number) => ({ id: `t${at}`, state: 'complete', message: { text: 'go' }, responseParts: [] });
  let client: Client | undefined;
  const turns = Array.from({ length: 100_000 }, (_, at) => turn(at));
  assertBrief('a history of 100,000 turns', () => {
    client = ready({ turns });
  });
  assert.equal(client?.session.turns.length, 1000);
  assert.equal(client.session.turns.at(-1)?.id, 't99999');
  client.take({ on: 'closed', link: 'host', why: { reason: 'gone' } });
  client.take({ on: 'timer', timer: 'reconnect' });
  const snapshots = [
    { resource: SESSION, state: { provider: 'gpt', title: '', defaultChat: CHAT }, fromSeq: 1 },
    { resource: CHAT, state: chatState({ turns: Array.from({ length: 1200 }, (_, at) => turn(98_810 + at)) }), fromSeq: 1 },
  ];
  client.reply('reconnect', { type: 'snapshot', snapshots });
  assert.deepEqual([client.session.turns.length, client.session.turns[0]?.id], [1010, 't99000'], 'earlier turns stay');
  const items = Array.from({ length: 100_000 }, (_, at) => (at % 2 ? { resource: `gpt:/${at}`, provider: 'gpt' } : null));
  assertBrief('a list of 100,000 sessions', () => {
    assert.equal(answers.listSessions.parse({ items }).items.length, 1000);
  });
  let looks = 0;
  const agents = Array.from({ length: 100_000 }, () => ({
    get provider() {
      looks += 1;
      return 'gpt';
    },
    displayName: 'x',
    models: [],
  }));
  const lost = new Client();
  assertBrief('a host of 100,000 agents', () => {
    lost.reply('initialize', initialize({ snapshots: [{ resource: 'ahp-root://', state: { agents }, fromSeq: 0 }] }));
  });
  assert.equal(looks, 0, 'their number is enough');
  const flood = Array.from({ length: 100_000 }, (_, at) => ({
    channel: CHAT,
    action: { type: 'chat/usage', turnId: 't', usage: {} },
    serverSeq: at,
  }));
  assert.equal(answers.reconnect.safeParse({ type: 'replay', actions: flood }).success, false);
});
