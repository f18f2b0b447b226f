import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { openRpc, type RpcOptions, unanswered } from '../../src/transport/jsonrpc.ts';
import { ScriptedChannel, settled } from './scriptedChannel.ts';

function open(options: Partial<RpcOptions> = {}) {
  const channel = new ScriptedChannel();
  const rpc = openRpc(channel, { log: silentLog, wireId: (request) => String(request.id), ...options });
  return { channel, rpc, connection: rpc.connection };
}

test('ids are text on the wire, and answers are matched in any order', async () => {
  const { channel, connection } = open();
  const one = connection.sendRequest('one', { a: 1 });
  const two = connection.sendRequest('two');
  const [first, second] = channel.out;
  assert.equal(typeof first?.id, 'string');
  assert.deepEqual(first, { jsonrpc: '2.0', id: first?.id, method: 'one', params: { a: 1 } });
  assert.equal('params' in (second ?? {}), false);
  channel.say({ jsonrpc: '2.0', id: second?.id, result: 2 }, { jsonrpc: '2.0', id: first?.id, result: 1 });
  assert.deepEqual(await Promise.all([one, two]), [1, 2]);
});

test('a request of theirs with the id of one of ours is a request, and gets its answer', async () => {
  const { channel, connection } = open();
  connection.onRequest((_method, params) => ({ got: params }));
  const mine = connection.sendRequest('mine');
  const id = channel.out[0]?.id;
  channel.say({ jsonrpc: '2.0', id, method: 'theirs', params: { x: 1 } });
  await settled();
  assert.deepEqual(channel.out[1], { jsonrpc: '2.0', id, result: { got: { x: 1 } } });
  channel.say({ jsonrpc: '2.0', id, result: 'answer' });
  assert.equal(await mine, 'answer');
});

test('a second answer, and an answer to nothing, change nothing', async () => {
  const warned: string[] = [];
  const { channel, connection } = open({ log: { ...silentLog, warn: (text) => warned.push(text) } });
  const mine = connection.sendRequest('mine');
  const id = channel.out[0]?.id;
  channel.say({ jsonrpc: '2.0', id, result: 1 }, { jsonrpc: '2.0', id, result: 2 }, { jsonrpc: '2.0', id: 'never', result: 3 });
  assert.equal(await mine, 1);
  assert.equal(warned.length, 2);
});

test('what is nested 20,000 deep arrives without what is too deep, and a request with it is answered', async () => {
  const warned: string[] = [];
  const { channel, connection } = open({ log: { ...silentLog, warn: (text) => warned.push(text) } });
  connection.onRequest((_method, params) => ({ length: JSON.stringify(params).length }));
  const deep = `${'{"a":['.repeat(10_000)}1${']}'.repeat(10_000)}`;
  channel.say(`{"jsonrpc":"2.0","id":"x","method":"theirs","params":{"deep":${deep},"near":[[1]]}}`);
  await settled();
  const [answer] = channel.out;
  const { length } = Object(answer?.result) as { length: number };
  assert.ok(length > 500 && length < 3000, String(length));
  assert.equal(warned.length, 1);
});

test('a long message is dealt with in a turn of its own, and nothing overtakes it', async () => {
  const got: number[] = [];
  const { channel } = open({
    first: (message) => {
      got.push(Object((message as { params?: unknown }).params).at);
      return true;
    },
  });
  const told = (at: number, text = '') => ({ jsonrpc: '2.0', method: 'told', params: { at, text } });
  channel.say(told(1), told(2, 'x'.repeat(1_000_000)), told(3));
  assert.deepEqual(got, [1]);
  await settled();
  assert.deepEqual(got, [1, 2, 3]);
});

test('messages that wait are dealt with over several turns when they take long', async () => {
  const rounds: number[] = [];
  let round = 0;
  const { channel } = open({
    first: () => {
      rounds.push(round);
      for (const until = performance.now() + 5; performance.now() < until; );
      return true;
    },
  });
  channel.say({ jsonrpc: '2.0', method: 'long', params: 'x'.repeat(1_000_000) });
  channel.say(...Array.from({ length: 8 }, () => ({ jsonrpc: '2.0', method: 'told' })));
  for (; rounds.length < 9; round += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(new Set(rounds).size > 2, rounds.join());
});

test('what is no message is reported and never ends the connection', async () => {
  const junk: string[] = [];
  const { channel, connection } = open({ onJunk: (text, why) => junk.push(`${why}: ${text}`) });
  channel.say('Welcome to the agent!', '[]', '42', 'null', '{"jsonrpc":"2.0"}', '{"id":"1"}', '[{"jsonrpc":"2.0","method":"event"}]');
  const mine = connection.sendRequest('mine');
  channel.say({ jsonrpc: '2.0', id: channel.out[0]?.id, result: 1 });
  assert.equal(await mine, 1);
  assert.deepEqual(
    junk.map((one) => one.split(':')[0]),
    ['notJson', 'notAMessage', 'notAMessage', 'notAMessage', 'notAMessage', 'notAMessage', 'notAMessage'],
  );
});

test('a failure whose message is an object, or that is only a text, is told in words', async () => {
  const { channel, connection } = open();
  for (const [error, code, message] of [
    [{ code: 5, message: { message: 'No credit' } }, 5, '{"message":"No credit"}'],
    [{ code: '5' }, -32001, ''],
    ['No credit', -32001, 'No credit'],
  ] as const) {
    const asked = connection.sendRequest('mine');
    channel.say({ jsonrpc: '2.0', id: channel.out.at(-1)?.id, error });
    await assert.rejects(asked, { code, message });
  }
});

test('a failure without an id fails the only request that waits', async () => {
  const { channel, connection } = open();
  const mine = connection.sendRequest('mine');
  channel.say({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid request' } });
  await assert.rejects(mine, /Invalid request/);
});

test('a failure without an id is judged after everything that stands before it on the wire', async () => {
  const stray: number[] = [];
  const { channel, connection, rpc } = open({
    onStray: (failure) => stray.push(failure.code),
    onRequest: () => ({}),
    first: (message) => {
      const isEvent = 'method' in message && message.method === 'began';
      if (isEvent) rpc.underWay();
      return isEvent;
    },
  });
  const asked = connection.sendRequest('prompt', {});
  await settled();
  // The request holds the connection's queue, so the event behind it has not been seen when the failure arrives.
  channel.say({ jsonrpc: '2.0', id: 'x', method: 'ask' });
  channel.say({ jsonrpc: '2.0', method: 'began' });
  channel.say({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } });
  await settled();
  assert.deepEqual(stray, [-32700]);
  channel.say({ jsonrpc: '2.0', id: channel.out[0]?.id, result: 'done' });
  assert.equal(await asked, 'done');
});

test('a request that was seen at work stays so while another comes and goes', async () => {
  const stray: number[] = [];
  const { channel, connection, rpc } = open({ onStray: (failure) => stray.push(failure.code) });
  const prompt = connection.sendRequest('prompt', {});
  rpc.underWay();
  const steer = connection.sendRequest('steer', {});
  await settled();
  channel.say({ jsonrpc: '2.0', id: channel.out[1]?.id, result: 'taken' });
  assert.equal(await steer, 'taken');
  channel.say({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } });
  await settled();
  assert.deepEqual(stray, [-32700]);
  channel.say({ jsonrpc: '2.0', id: channel.out[0]?.id, result: 'done' });
  assert.equal(await prompt, 'done');
});

test('a failure without an id is a diagnostic when it could be about something else', async () => {
  const stray: number[] = [];
  const { channel, connection } = open({ onStray: (failure) => stray.push(failure.code) });
  connection.onRequest(() => 'answer');
  const failure = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };
  channel.say(failure);
  const one = connection.sendRequest('one');
  channel.say({ jsonrpc: '2.0', id: 'theirs', method: 'request' });
  await settled();
  channel.say(failure);
  const two = connection.sendRequest('two');
  channel.say(failure);
  assert.deepEqual(stray, [-32700, -32700, -32700]);
  for (const sent of channel.out.filter((message) => message.method)) channel.say({ jsonrpc: '2.0', id: sent.id, result: 'ok' });
  assert.deepEqual(await Promise.all([one, two]), ['ok', 'ok']);
});

test('a notification taken on the short cut does not overtake the answer before it, nor is it overtaken', async () => {
  const seen: string[] = [];
  const { channel, connection } = open({
    first: (message) => {
      if (!('method' in message) || message.method !== 'event') return false;
      seen.push(`event ${(message as { params?: unknown }).params}`);
      return true;
    },
  });
  connection.onRequest(async (method) => {
    seen.push(method);
    return null;
  });
  const prompt = connection.sendRequest('prompt').then(async () => {
    await Promise.resolve();
    seen.push('answer');
  });
  const event = (n: number) => ({ jsonrpc: '2.0', method: 'event', params: n });
  channel.say(event(1), { jsonrpc: '2.0', id: channel.out[0]?.id, result: 1 }, event(2));
  channel.say({ jsonrpc: '2.0', id: 'a', method: 'first' }, event(3), { jsonrpc: '2.0', id: 'b', method: 'second' }, event(4));
  await prompt;
  await settled();
  assert.deepEqual(seen, ['event 1', 'answer', 'event 2', 'first', 'event 3', 'second', 'event 4']);
});

test('a request that is still open and comes again gets one answer', async () => {
  const { channel, connection } = open();
  let release: (value: string) => void = () => {};
  connection.onRequest(
    () =>
      new Promise<string>((resolve) => {
        release = resolve;
      }),
  );
  const request = { jsonrpc: '2.0', id: 'again', method: 'request' };
  channel.say(request, request);
  await settled();
  release('done');
  await settled();
  assert.deepEqual(channel.out, [{ jsonrpc: '2.0', id: 'again', result: 'done' }]);
  channel.say(request);
  await settled();
  release('and again');
  await settled();
  assert.equal(channel.out.length, 2);
});

test('a request settled elsewhere can be left without an answer', async () => {
  const { channel, connection } = open();
  connection.onRequest(() => unanswered);
  channel.say({ jsonrpc: '2.0', id: 'settled', method: 'request' });
  await settled();
  assert.deepEqual(channel.out, []);
});

test('cancelling a token sends nothing by default', async () => {
  const { channel, connection } = open();
  let cancel: () => void = () => {};
  const token = {
    isCancellationRequested: false,
    onCancellationRequested: (run: () => void) => {
      cancel = run;
      return { dispose() {} };
    },
  };
  const mine = connection.sendRequest('mine', {}, token as never);
  cancel();
  await settled();
  assert.equal(channel.sent.length, 1);
  channel.say({ jsonrpc: '2.0', id: channel.out[0]?.id, result: 1 });
  await mine;
});

test('a handler that throws on the short cut costs one message, not the connection', async () => {
  const errors: string[] = [];
  const { channel } = open({
    log: { ...silentLog, error: (text) => errors.push(text) },
    first: () => {
      throw new Error('ours');
    },
  });
  channel.say({ jsonrpc: '2.0', method: 'event', params: {} }, { jsonrpc: '2.0', method: 'event', params: {} });
  assert.equal(errors.length, 2);
  assert.match(errors[0] ?? '', /ours/);
});

test('when the channel closes, what arrived before is dealt with and every waiting request rejects', async () => {
  const { channel, connection, rpc } = open();
  const first = connection.sendRequest('first');
  const second = connection.sendRequest('second');
  channel.say({ jsonrpc: '2.0', id: channel.out[0]?.id, result: 'in time' });
  channel.close({ reason: 'gone', failure: 'ended', code: 0, stderr: '' });
  assert.equal(await first, 'in time');
  await assert.rejects(second);
  assert.throws(() => connection.sendRequest('third'));
  rpc.dispose();
  assert.equal(channel.listeners, 0);
});
