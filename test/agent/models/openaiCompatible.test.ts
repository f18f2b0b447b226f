import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ModelEndpoint } from '../../../src/agent/models/model.ts';
import { type HistoryMessage, ModelError, type ModelPiece, type ModelRequest } from '../../../src/agent/models/model.ts';
import { answerFrom } from '../../../src/agent/models/openaiCompatible.ts';
import { type Reply, startService } from '../fakeService.ts';

const tools = [
  { name: 'ReadFile', description: 'Read', parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } },
];
const user = (text: string): HistoryMessage => ({ role: 'user', parts: [{ type: 'text', text }] });
const request: ModelRequest = { cwd: '/', system: 'Be good.', history: [user('hi')], tools };

async function gather(endpoint: ModelEndpoint, given: ModelRequest = request): Promise<ModelPiece[]> {
  const pieces: ModelPiece[] = [];
  for await (const piece of answerFrom(endpoint, given, new AbortController().signal)) pieces.push(piece);
  return pieces;
}

async function failure(t: TestContext, reply: Reply): Promise<ModelError> {
  const service = await startService(t, [reply]);
  const error = await gather({ baseUrl: service.url, name: 'm', contextSize: 1000 }).catch((caught: unknown) => caught);
  assert.ok(error instanceof ModelError, String(error));
  return error;
}

const join = (pieces: readonly ModelPiece[], type: 'text' | 'thought' | 'cut'): string =>
  pieces.map((piece) => (piece.type === type ? piece.text : '')).join('');

test('thoughts, text and usage come through, and the key goes out', async (t) => {
  const service = await startService(t, [
    {
      thought: 'let me think',
      text: 'Hello there, 你好',
      usage: { prompt_tokens: 30, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 10 } },
    },
  ]);
  const pieces = await gather({ baseUrl: `${service.url}/`, name: 'm', apiKey: 'secret', contextSize: 1000 });
  assert.equal(join(pieces, 'thought'), 'let me think');
  assert.equal(join(pieces, 'text'), 'Hello there, 你好');
  assert.ok(pieces.filter((piece) => piece.type === 'text').length > 1, 'streamed in pieces');
  assert.deepEqual(pieces.at(-1), { type: 'used', usage: { input: 30, cached: 10, output: 5 } });
  assert.deepEqual(service.keys, ['Bearer secret']);
  assert.deepEqual(service.bodies[0]?.messages, [
    { role: 'system', content: 'Be good.' },
    { role: 'user', content: 'hi' },
  ]);
  assert.equal(service.bodies[0]?.tools?.[0]?.function.name, 'ReadFile');
});

test('thoughts between tags in the text are thoughts', async (t) => {
  const service = await startService(t, [{ text: '<think>let me see</think>The answer is < 3' }]);
  const pieces = await gather({ baseUrl: service.url, name: 'm', contextSize: 1000 });
  assert.equal(join(pieces, 'thought'), 'let me see');
  assert.equal(join(pieces, 'text').trim(), 'The answer is < 3');
});

test('an answer that was cut says so', async (t) => {
  const service = await startService(t, [{ text: 'Once upon', finish: 'length' }]);
  const pieces = await gather({ baseUrl: service.url, name: 'm', contextSize: 1000 });
  assert.equal(join(pieces, 'text'), 'Once upon');
  assert.match(join(pieces, 'cut'), /was cut/);
});

test('parallel calls whose arguments arrive mixed come one after the other, each whole', async (t) => {
  const inputs = ['{"path":"src/first.ts"}', '{"path":"src/second/longer.ts"}'];
  const service = await startService(t, [{ calls: inputs.map((input) => ({ name: 'ReadFile', input })), mixed: true }]);
  const pieces = await gather({ baseUrl: service.url, name: 'm', contextSize: 1000 });
  const order = pieces.flatMap((piece) =>
    piece.type === 'call.started' ? [`begin ${piece.id}`] : piece.type === 'call' ? [`end ${piece.call.id}`] : [],
  );
  assert.deepEqual(order, ['begin call_0', 'end call_0', 'begin call_1', 'end call_1']);
  for (const [at, input] of inputs.entries()) {
    assert.equal(pieces.map((piece) => (piece.type === 'call.delta' && piece.id === `call_${at}` ? piece.text : '')).join(''), input);
  }
});

test('broken arguments and unknown tools are handed on as they are', async (t) => {
  const service = await startService(t, [
    {
      calls: [
        { name: 'ReadFile', input: '{"path": "a' },
        { name: 'Nonsense', input: '{}' },
      ],
    },
  ]);
  const pieces = await gather({ baseUrl: service.url, name: 'm', contextSize: 1000 });
  const calls = pieces.flatMap((piece) => (piece.type === 'call' ? [[piece.call.name, piece.call.input]] : []));
  assert.deepEqual(calls, [
    ['ReadFile', '{"path": "a'],
    ['Nonsense', '{}'],
  ]);
});

test('calls and results of earlier steps go back, broken arguments as an empty object', async (t) => {
  const service = await startService(t, [{ text: 'ok' }]);
  const history: HistoryMessage[] = [
    user('q'),
    { role: 'assistant', text: '', calls: [{ id: 'c1', name: 'ReadFile', input: '{"pa' }] },
    { role: 'tool', callId: 'c1', name: 'ReadFile', isError: true, message: 'not JSON', text: '' },
  ];
  await gather({ baseUrl: service.url, name: 'm', contextSize: 1000 }, { ...request, history });
  const [, , assistant, result] = service.bodies[0]?.messages ?? [];
  assert.deepEqual(assistant?.tool_calls, [{ id: 'c1', type: 'function', function: { name: 'ReadFile', arguments: '{}' } }]);
  assert.deepEqual(result, { role: 'tool', tool_call_id: 'c1', content: 'not JSON' });
});

test('429 may be tried again, after the time the service names', async (t) => {
  const error = await failure(t, { status: 429, headers: { 'retry-after': '7' }, message: 'slow down' });
  assert.deepEqual([error.kind, error.retry, error.retryAfter, error.status], ['service', true, 7, 429]);
  assert.match(error.message, /slow down/);
});

test('401 is about the key and is not tried again', async (t) => {
  const error = await failure(t, { status: 401, message: 'bad key' });
  assert.deepEqual([error.kind, error.retry], ['login', false]);
  assert.match(error.message, /Configure Model/);
});

test('404 names the model and the settings', async (t) => {
  const error = await failure(t, { status: 404, message: 'model not found' });
  assert.deepEqual([error.kind, error.retry], ['service', false]);
  assert.match(error.message, /“m”.*parley\.model\.name/);
});

test('400 about images means that the model cannot', async (t) => {
  assert.equal((await failure(t, { status: 400, message: 'image input is not supported' })).kind, 'model_cannot');
});

test('a connection that is cut may be tried again', async (t) => {
  const error = await failure(t, { text: 'half an ans', cut: true });
  assert.deepEqual([error.kind, error.retry], ['service', true]);
});

test('nobody listening: one sentence with the address and what to do, no second try', async () => {
  const error = await gather({ baseUrl: 'http://127.0.0.1:9/v1', name: 'm', contextSize: 1000 }).catch((caught: unknown) => caught);
  assert.ok(error instanceof ModelError);
  assert.equal(error.retry, false);
  assert.match(error.message, /127\.0\.0\.1:9.*parley\.model\.baseUrl/s);
});

test('an abort reaches the service and is thrown as such', async (t) => {
  const service = await startService(t, [{ text: 'and then', hang: true }]);
  const stop = new AbortController();
  const why = new Error('stop');
  await assert.rejects(async () => {
    for await (const piece of answerFrom({ baseUrl: service.url, name: 'm', contextSize: 1000 }, request, stop.signal)) {
      if (piece.type === 'text') stop.abort(why);
    }
  }, why);
  const dropped = async (): Promise<void> => {
    while (service.aborted() === 0) await new Promise((resolve) => setImmediate(resolve));
  };
  await dropped();
  assert.equal(service.bodies.length, 1);
});
