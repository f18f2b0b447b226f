import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { ModelError, type ModelPiece } from '../../../src/agent/models/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { call, echoTool, open, person, textOf } from '../../protocols/ai-sdk/talk.ts';
import { type Chunk, chunksIn, ID, post, served, types, user } from './aiSdkServed.ts';

const tools = { look: { description: 'Looks.', parameters: { type: 'object', properties: {} } } };
const told = (chunks: readonly Chunk[]) =>
  chunks.flatMap(({ type, toolCallId, toolName, inputTextDelta }) =>
    toolCallId ? [[type, inputTextDelta ?? toolName ?? toolCallId]] : [],
  );

/** A call in the pieces a model gives it in. */
function* callPieces(id: string, name: string, input: string): Generator<ModelPiece> {
  yield { type: 'call.started', id, name };
  for (const text of input.match(/.{1,8}/g) ?? []) yield { type: 'call.delta', id, text };
  yield { type: 'call', call: { id, name, input } };
}

/** A client that reads until it has seen `until`, then is gone without a word. */
function leaving(url: string, body: object, until: string): Promise<readonly Chunk[]> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response: IncomingMessage) => {
      let text = '';
      response.on('data', (data: Buffer) => {
        text += data.toString();
        if (!text.includes(until)) return;
        request.destroy();
        // Behind another request the server has noticed.
        fetch(url).then(() => resolve(chunksIn(text)), reject);
      });
      response.on('error', () => {});
    });
    request.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)));
    request.end(JSON.stringify(body));
  });
}

/** A model whose answer goes on when the test says so. */
function inTwo(first: string, second: string) {
  let goOn: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let aborted: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    aborted = resolve;
  });
  let ended: () => void = () => {};
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });
  async function* line(_: unknown, signal: AbortSignal): AsyncGenerator<ModelPiece> {
    yield { type: 'text', text: first };
    signal.addEventListener('abort', () => aborted());
    await Promise.race([gate, stopped]);
    yield { type: 'text', text: second };
    setImmediate(ended);
  }
  return { line, goOn, stopped, over };
}

async function resumed(url: string): Promise<{ readonly status: number; readonly chunks: Promise<readonly Chunk[]> }> {
  const response = await fetch(`${url}/${ID}/stream`);
  return { status: response.status, chunks: response.text().then(chunksIn) };
}
const body = { id: ID, messages: [user('go')], tools };
const words = (chunks: readonly Chunk[]) => chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');

test("inputs are told as they come: the client's, and our own when it is their turn", async (t) => {
  const { url } = await served(t, [
    async function* () {
      yield* callPieces('k1', 'look', '{"n":12345678}');
      yield* callPieces('k2', 'look', '{}');
      yield* callPieces('k3', 'ReadFile', '{"path":"a.txt"}');
    },
  ]);
  const { chunks } = await post(url, body);
  // The third is one of ours: it runs when the client's are done, and the client waits for every call it knows of.
  assert.deepEqual(told(chunks), [
    ['tool-input-start', 'look'],
    ['tool-input-delta', '{"n":123'],
    ['tool-input-delta', '45678}'],
    ['tool-input-available', 'look'],
    ['tool-input-start', 'look'],
    ['tool-input-delta', '{}'],
    ['tool-input-available', 'look'],
  ]);
});

test('Parley shows the input of a call while it comes', async (t) => {
  const { url, cwd } = await served(t, [
    async function* () {
      yield* callPieces('k1', 'look', '{"path":"a.txt"}');
    },
    'Seen.',
  ]);
  const live = open(url, { tools: [echoTool('look')] }, newSession('s', { protocol: 'ai-sdk', name: 'x' }, cwd));
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  const { prompt, events } = person(live);
  const turn = await prompt();
  assert.deepEqual([textOf(turn), call(turn, 'k1').inputText], ['Seen.', '{"path":"a.txt"}']);
  assert.ok(events.some((event) => event.type === 'call.inputDelta'));
});

test('a call that never became one is told to be none, for clients that cannot take it back', async (t) => {
  const { url } = await served(t, [
    async function* () {
      yield { type: 'call.started', id: 'k1', name: 'look' };
      yield { type: 'call.delta', id: 'k1', text: '{"pa' };
      throw new ModelError('service', 'broken', { retry: true, reason: 'Overloaded', retryAfter: 0.01 });
    },
    'Without.',
  ]);
  const { chunks } = await post(url, body);
  assert.deepEqual(
    told(chunks).map(([type]) => type),
    ['tool-input-start', 'tool-input-delta', 'tool-input-error'],
  );
  assert.equal(words(chunks), 'Without.');
});

test('a client that was cut comes back to the whole response and hears the rest; there is one turn', async (t) => {
  const answer = inTwo('One ', 'two.');
  const { url, model } = await served(t, [answer.line]);
  const before = await leaving(url, body, 'One ');
  const back = await resumed(url);
  const second = await resumed(url);
  answer.goOn();
  const chunks = await back.chunks;
  assert.deepEqual([back.status, words(chunks), chunks[0], types(chunks).at(-1)], [200, 'One two.', before[0], 'finish']);
  assert.equal(words(await second.chunks), 'One two.');
  assert.deepEqual([(await resumed(url)).status, model.requests.length], [204, 1]);
});

test('a response that ended while the client was away is there when it is back, once', async (t) => {
  const answer = inTwo('One ', 'two.');
  const { url } = await served(t, [answer.line, 'Next.']);
  await leaving(url, body, 'One ');
  answer.goOn();
  await answer.over;
  const back = await resumed(url);
  assert.deepEqual([words(await back.chunks), types(await back.chunks).at(-1)], ['One two.', 'finish']);
  assert.equal((await resumed(url)).status, 204);
  assert.equal(words((await post(url, body)).chunks), 'Next.');
});

test('nobody comes back: the turn is stopped, and nothing is left to resume', async (t) => {
  const answer = inTwo('One ', 'two.');
  const { url } = await served(t, [answer.line], { awayLimit: 30 });
  await leaving(url, body, 'One ');
  await answer.stopped;
  assert.equal((await resumed(url)).status, 204);
});

test('nothing new begins while nobody listens', async (t) => {
  let goOn: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { url, cwd, model } = await served(t, [
    async function* () {
      yield { type: 'text', text: 'I look. ' };
      await gate;
      yield* callPieces('k1', 'ReadFile', '{"path":"a.txt"}');
    },
    'Seen.',
  ]);
  writeFileSync(path.join(cwd, 'a.txt'), 'a');
  await leaving(url, body, 'I look.');
  goOn();
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(model.requests.length, 1);
  const { chunks } = await resumed(url);
  assert.deepEqual([words(await chunks), model.requests.length], ['I look. Seen.', 2]);
});

test('stop ends the turn at once; an unknown conversation has none', async (t) => {
  const answer = inTwo('One ', 'two.');
  const { url } = await served(t, [answer.line]);
  const all = post(url, body);
  while ((await fetch(`${url}/${ID}/stop`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).status !== 200)
    await new Promise((resolve) => setImmediate(resolve));
  const { chunks } = await all;
  assert.deepEqual(types(chunks).slice(-2), ['abort', 'finish']);
  const unknown = await fetch(`${url}/other/stop`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  assert.deepEqual([unknown.status, (await fetch(`${url}/%E0%A4%A/stream`)).status], [404, 204]);
});

test('Parley stops at once, though a closed connection is waited for', async (t: TestContext) => {
  const answer = inTwo('One ', 'two.');
  const { url, cwd } = await served(t, [answer.line], { awayLimit: 2 ** 31 - 1 });
  const live = open(url, {}, newSession('s', { protocol: 'ai-sdk', name: 'x' }, cwd));
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  const { say, stop, until, ended } = person(live);
  const id = say('go');
  await until((session) => session.turns[0]?.parts.length === 1);
  stop();
  assert.equal((await ended(id)).status, 'cancelled');
  await answer.stopped;
});

for (const when of ['after', 'before'] as const)
  test(`a window that is closed while an allowed command runs hears its end, which comes ${when} the next window`, async (t) => {
    const { url, cwd, model } = await served(t, [
      { calls: [['Shell', { command: 'while [ ! -e go ]; do sleep 0.05; done; echo finished' }]] },
      'It has run.',
    ]);
    const first = open(url, {}, newSession('s', { protocol: 'ai-sdk', name: 'x' }, cwd));
    await first.start();
    const before = person(first);
    before.say('run it');
    const ask = await before.asked();
    before.answer(ask, 'allow');
    await before.until(
      (session) =>
        session.asks.length === 0 &&
        session.turns[0]?.parts.some((part) => part.kind === 'call' && part.call.status === 'running') === true,
    );
    await fetch(url);
    const session = JSON.parse(JSON.stringify(before.now())) as ReturnType<typeof before.now>;
    await first.stop();
    first.dispose();
    const end = async () => {
      writeFileSync(path.join(cwd, 'go'), '');
      while (model.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    if (when === 'before') await end();
    const second = open(url, {}, session);
    second.interrupt();
    await second.restart();
    t.after(async () => {
      await second.stop();
      second.dispose();
    });
    const after = person(second);
    if (when === 'after') {
      await after.until((one) => one.turns.at(-1)?.status === 'running');
      await end();
    }
    const { turns } = await after.until((one) => one.turns.at(-1)?.status === 'done');
    assert.match(textOf(turns.at(-1)!), /It has run/);
  });
