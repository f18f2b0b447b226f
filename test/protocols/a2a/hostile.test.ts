import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { asks, call, data, fakeAgent, type Json, over, shipped, status, task, text, URI } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

test('429 with a short wait is waited for once; with a long one the user is told how long', async (t) => {
  let wait = '0';
  const agent = await fakeAgent(t, {
    before: (request, response, body) => {
      if (request.method !== 'POST' || !body.includes('message/stream') || wait === '') return false;
      response.writeHead(429, { 'retry-after': wait }).end('slow down');
      if (wait === '0') wait = '';
      return true;
    },
    on: {
      'message/stream': (_, reply) => {
        reply.record(status('working', 'TEXT_CONTENT', [text('Here.')]));
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  assert.equal(textOf(await session.prompt('one')), 'Here.');
  wait = '600';
  const turn = await session.prompt('two');
  assert.deepEqual([turn.status, /wait 600 s/.test(turn.error?.message ?? '')], ['failed', true], turn.error?.message);
  wait = new Date(Date.now() + 300_000).toUTCString();
  assert.match((await session.prompt('three')).error?.message ?? '', /wait (29\d|300) s/, 'as a date');
});

test('what the user entered is refused: they are told and asked once more; a third 401 is the end, in the words of the server', async (t) => {
  const seen: (string | undefined)[] = [];
  const agent = await fakeAgent(t, {
    before: (request, response, body) => {
      if (request.method !== 'POST' || !body.includes('message/stream')) return false;
      seen.push(request.headers.authorization);
      response.writeHead(401).end('wrong again');
      return true;
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('hi');
  const first = await session.asked();
  session.answer(first, { kind: 'fields', values: { secret: ['guess'] } });
  const now = await session.until('second ask', ({ asks }) => asks[0] !== undefined && asks[0].id !== first.id);
  assert.match(JSON.stringify(now.asks[0]), /did not accept the key/);
  session.answer(await session.asked(), { kind: 'fields', values: { secret: ['another'] } });
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, session.now().asks.length], ['failed', 0]);
  assert.match(turn.error?.message ?? '', /wrong again/);
  assert.deepEqual(seen, [undefined, 'Bearer guess', 'Bearer another']);
});

test('what the user does not want to enter is not asked for again in that turn', async (t) => {
  const agent = await fakeAgent(t, {
    before: (request, response, body) => {
      if (request.method !== 'POST' || !body.includes('message/stream')) return false;
      response.writeHead(401).end('who?');
      return true;
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('hi');
  session.answer(await session.asked(), { kind: 'cancelled' });
  assert.equal((await session.ended(turnId)).status, 'failed');
  assert.equal(agent.requests('message/stream').length, 0);
});

test('a card that leads to another origin is refused before any secret is sent there', async (t) => {
  const other = await fakeAgent(t, { host: '127.0.0.2' });
  const agent = await fakeAgent(t, { card: { url: other.url.replace('127.0.0.2', 'elsewhere.example') } });
  const session = talk(t, agent.url, { headers: { authorization: 'Bearer mine' } });
  const { link } = await session.opened();
  assert.equal(link.state, 'closed');
  assert.match(link.state === 'closed' ? link.reason : '', /elsewhere\.example/);
  assert.equal(other.asked.length, 0);
});

test('a card that promises streams and answers in one piece; one that names another dialect than it speaks', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (asked, reply, at) => {
        const answered = JSON.stringify(asked.params).includes('proceed_once');
        if (at === 0)
          return reply.json(
            task('completed', { status: { state: 'completed', message: { role: 'agent', parts: [text('All at once.')] } } }),
          );
        // The RFC's extension stands in the card; what comes is the Gemini CLI server's.
        reply.record(answered ? shipped('success', { response: { resultDisplay: 'ok' } }) : shipped('awaiting_approval', exec));
        reply.record(status(answered ? 'completed' : 'input-required', '', [], { final: true }));
        reply.end();
      },
    },
  });
  const exec: Json = { confirmationDetails: { type: 'exec', command: 'ls' } };
  const session = talk(t, agent.url);
  assert.equal(textOf(await session.prompt('one')), 'All at once.');
  const turnId = session.begin('two');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, callsOf(turn)[0]?.status], ['done', 'done']);
  const sent = agent.requests('message/stream').at(-1)?.params.message as { parts: readonly { data: Json }[] };
  assert.deepEqual(sent.parts[0]?.data, { callId: 'g1', outcome: 'proceed_once' }, 'answered as it was asked');
});

test('prompts typed while a turn runs wait their turn: each is sent once, in order, none while an approval waits', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) reply.record(call('PENDING', asks));
        else if (at === 1) reply.record(call('SUCCEEDED'));
        reply.record(over(at === 0 ? 'input-required' : 'completed'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const first = session.begin('one');
  const ask = await session.approval();
  const second = session.begin('two');
  const third = session.begin('three');
  assert.equal(agent.requests('message/stream').length, 1);
  session.answer(ask, option(ask, 'allow_once'));
  for (const turnId of [first, second, third]) assert.equal((await session.ended(turnId)).status, 'done');
  const said = agent
    .requests('message/stream')
    .map((one) => (one.params.message as { parts: readonly { text?: string }[] }).parts[0]?.text);
  assert.deepEqual(said, ['one', undefined, 'two', 'three']);
});

test('a stream of nothing but rubbish is a lost connection with words, and the session goes on', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at > 0) {
          reply.record(over());
          return reply.end();
        }
        reply.raw(`data: ${'['.repeat(50_000)}\n\ndata\n\n:\n\ndata: {"jsonrpc":"2.0","id":1}\n\ndata: "x`);
        reply.raw(Buffer.from([0xff, 0xfe, 0x0a, 0x0a]).toString('latin1'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turn = await session.prompt('go');
  assert.deepEqual([turn.status, turn.error?.message], ['failed', 'The agent returned nothing.']);
  assert.equal((await session.prompt('again')).status, 'done');
});

test('data of a call that is no call, options by the thousand, a depth without end: shown or left out, never fatal', async (t) => {
  let deep: Json = { leaf: true };
  for (let at = 0; at < 500; at += 1) deep = { deep };
  const odd: readonly Json[] = [
    { tool_call_id: '', status: 'PENDING' },
    { tool_call_id: 'a', status: { no: 1 } },
    { tool_call_id: 'b', confirmation_request: { options: Array.from({ length: 2000 }, (_, at) => ({ id: String(at) })) } },
    { request: { callId: 5 }, status: 'executing' },
    deep,
  ];
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        for (const one of odd) reply.record(status('working', 'TOOL_CALL_UPDATE', [data(one)]));
        reply.record({ ...status('working', 'TEXT_CONTENT', [text('Still here.')]), metadata: { [URI]: 'odd' } });
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turn = await session.prompt('go');
  assert.deepEqual([turn.status, textOf(turn), session.now().asks.length], ['done', 'Still here.', 0]);
});
