import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Driver } from '../../src/protocols/driver.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { rpcLink } from '../../src/transport/rpcLink.ts';
import { ScriptedChannel, settled } from '../transport/scriptedChannel.ts';
import { line, newLine } from './lineProtocol.ts';
import { testTranscripts } from './transcripts.ts';

testTranscripts({
  name: 'line',
  folder: 'test/conversation/cases',
  machine: line,
  link: 'agent',
  start: ({ resume }) => ({ state: newLine('i', typeof resume === 'string' ? resume : null), inputs: ['start', 'reply open {"key":"k"}'] }),
});

function open(machine = line) {
  const channel = new ScriptedChannel();
  const events: SessionEvent[] = [];
  const errors: string[] = [];
  const driver = new Driver(machine, newLine('i', null), {
    now: () => 0,
    emit: (event) => events.push(event),
    log: { ...silentLog, error: (text) => errors.push(text) },
    links: { agent: (_params, told) => rpcLink(channel, told, { log: silentLog }) },
  });
  const reply = async (method: string, result: object): Promise<void> => {
    channel.say({ jsonrpc: '2.0', id: channel.out.findLast((message) => message.method === method)?.id, result });
    await settled();
  };
  return { channel, events, errors, driver, reply };
}

test('the toy protocol holds a conversation over a real link: text, approval, stop, end', async () => {
  const { channel, events, driver, reply } = open();
  driver.feed({ on: 'start' });
  await settled();
  await reply('open', { key: 'k' });
  driver.feed({ on: 'intent', intent: { type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] } });
  await settled();
  channel.say({ jsonrpc: '2.0', method: 'text', params: { text: 'Hel' } }, { jsonrpc: '2.0', method: 'text', params: { text: 'lo' } });
  channel.say({ jsonrpc: '2.0', id: 7, method: 'allow', params: { title: 'Run ls' } });
  await settled();
  driver.feed({ on: 'intent', intent: { type: 'cancel' } });
  await settled();
  const sent = channel.out.slice(-2);
  assert.deepEqual(sent, [
    { jsonrpc: '2.0', id: 7, result: { allowed: false } },
    { jsonrpc: '2.0', method: 'stop' },
  ]);
  await reply('say', { status: 'stopped' });
  const session = events.reduce(reduce, newSession('s', { protocol: 'line', name: 'line' }, '/'));
  assert.equal(session.turns[0]?.status, 'cancelled');
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])),
    ['Hello'],
    'what arrives together is joined',
  );
  driver.feed({ on: 'leave' });
  await driver.ended;
  assert.equal(channel.listeners, 0);
});

test('a fault of a machine costs one input, and a request that is lost with it is refused', async () => {
  const { channel, errors, driver } = open((state, input, now) => {
    if (input.on === 'asked') throw new Error('a fault');
    return line(state, input, now);
  });
  driver.feed({ on: 'start' });
  await settled();
  channel.say({ jsonrpc: '2.0', id: 7, method: 'allow', params: {} });
  await settled();
  assert.equal(channel.out.at(-1)?.error?.code, -32603);
  assert.equal(errors.length, 1);
  channel.close({ reason: 'gone', failure: 'ended', stderr: '' });
  await driver.ended;
});

test('a request on a link that is not open fails as unsent', async () => {
  const { driver } = open();
  await assert.rejects(driver.request('agent', 'list'), { failure: { kind: 'unsent', message: 'agent is not open' } });
});
