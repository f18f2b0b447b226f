import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Turn } from '../../../src/session/model.ts';
import {
  called,
  finish,
  type Message,
  output,
  type Reply,
  type Route,
  said,
  start,
  step,
  stepEnd,
  type WireChunk,
} from '../../fakes/aiSdk.ts';
import { call, echoTool, type TalkOptions, talk, textOf } from './talk.ts';

// What servers get wrong. Each keeps the conversation: the next message goes out with a history a server takes, and is answered.

const tool = echoTool('look');
const answer: Route = (reply) => reply.all(start('next'), step, ...said('Still here.'), stepEnd, finish('stop'));

const isClosed = (message: Message): boolean =>
  message.parts.length > 0 &&
  message.parts.every(
    (part) => part.state === undefined || ['done', 'output-available', 'output-error', 'output-denied'].includes(String(part.state)),
  );

interface Case {
  readonly bad: (reply: Reply) => void;
  readonly status: Turn['status'];
  readonly text: string;
  /** Roles of the history that goes with the next message. */
  readonly roles?: readonly string[];
}
const cases: Readonly<Record<string, Case>> = {
  'chunks nobody knows': {
    bad: (reply) =>
      reply.all(start('m'), { type: 'hologram', size: 3 }, step, ...said('A'), { type: 'finish-hologram' }, stepEnd, finish('stop')),
    status: 'done',
    text: 'A',
  },
  'events that are no JSON': {
    bad: (reply) =>
      void reply
        .open()
        .send(start('m'), step)
        .raw('data: {"type":"text-de\n\ndata: [1]\n\ndata: null\n\n')
        .send(...said('B'), finish('stop'))
        .done(),
    status: 'done',
    text: 'B',
  },
  'members of the wrong kind': {
    bad: (reply) =>
      reply.all(
        start('m'),
        step,
        { type: 'text-delta', id: 7, delta: [] },
        { type: 'tool-input-available', toolCallId: {} },
        ...said('C'),
        finish('stop'),
      ),
    status: 'done',
    text: 'C',
  },
  'input nested 20,000 deep': {
    bad: (reply) =>
      void reply
        .open()
        .send(start('m'), step)
        .raw(
          `data: {"type":"tool-input-available","toolCallId":"c","toolName":"look","input":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}\n\n`,
        )
        .send(...said('K'), stepEnd, finish('stop'))
        .done(),
    status: 'done',
    text: 'K',
  },
  'an error that is no text': {
    bad: (reply) => reply.all(start('m'), step, ...said('X'), { type: 'error', errorText: { message: 'out of tokens', code: 7 } }),
    status: 'failed',
    text: 'X',
  },
  'no step marks': { bad: (reply) => reply.all(start('m'), ...said('D'), finish('stop')), status: 'done', text: 'D' },
  'another message id in the middle': {
    bad: (reply) => reply.all(start('m'), step, ...said('E', 'a'), start('other'), ...said('F', 'b'), stepEnd, finish('stop')),
    status: 'done',
    text: 'E|F',
  },
  'finish twice': { bad: (reply) => reply.all(start('m'), step, ...said('G'), finish('stop'), finish('stop')), status: 'done', text: 'G' },
  'no finish': {
    bad: (reply) =>
      void reply
        .open()
        .send(start('m'), step, ...said('H'))
        .end(),
    status: 'done',
    text: 'H',
  },
  'an error after finish': {
    bad: (reply) => reply.all(start('m'), step, ...said('I'), stepEnd, finish('stop'), { type: 'error', errorText: 'late' }),
    status: 'failed',
    text: 'I',
  },
  'a call that never becomes one': {
    bad: (reply) =>
      reply.all(
        start('m'),
        step,
        ...said('J'),
        { type: 'tool-input-start', toolCallId: 'c', toolName: 'look' },
        { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{"pa' },
      ),
    status: 'done',
    text: 'J',
  },
  '200 without a stream': { bad: (reply) => reply.json(200, { text: 'hello' }), status: 'failed', text: '', roles: ['user', 'user'] },
  'an answer without a word': {
    bad: (reply) => reply.all(start('m'), step, stepEnd, finish('stop')),
    status: 'done',
    text: '',
    roles: ['user', 'user'],
  },
  'an empty body': { bad: (reply) => reply.open().end(), status: 'done', text: '', roles: ['user', 'user'] },
};

for (const [name, { bad, status, text, roles = ['user', 'assistant', 'user'] }] of Object.entries(cases)) {
  test(`${name}: the conversation goes on`, async (t) => {
    const { server, prompt } = await talk(t, {
      tools: [tool],
      options: { resumeUrl: 'none' },
      routes: { '/api/chat': (reply, asked, n) => (n === 1 ? bad(reply) : answer(reply, asked, n)) },
    });
    const first = await prompt('one');
    assert.deepEqual([first.status, textOf(first)], [status, text], first.error?.message);
    const second = await prompt('two');
    assert.deepEqual([second.status, textOf(second), server.asked.length], ['done', 'Still here.', 2]);
    const messages = server.bodies('/api/chat')[1]?.messages ?? [];
    assert.deepEqual(
      messages.map((message) => message.role),
      roles,
    );
    assert.ok(messages.every(isClosed), JSON.stringify(messages));
  });
}

test('calls without end: stopped at the bound by the user, the conversation goes on', async (t) => {
  const {
    server,
    say,
    asked,
    answer: reply,
    ended,
    prompt,
  } = await talk(t, {
    tools: [tool],
    options: { maxAutoPosts: '3' },
    routes: {
      '/api/chat': (out, one, n) =>
        n <= 4 ? out.all(start('m'), step, called(`c${n}`, 'look', { path: 'x' }), stepEnd, finish('tool-calls')) : answer(out, one, n),
    },
  });
  const id = say('go');
  reply(await asked(), 'reject');
  assert.equal((await ended(id)).status, 'done');
  assert.equal((await prompt('two')).status, 'done');
  const messages = server.bodies('/api/chat').at(-1)?.messages ?? [];
  assert.deepEqual([messages.length, messages.every(isClosed)], [3, true]);
});

test('calls without end in one response that is held open: the user is asked at the bound, and may stop', async (t) => {
  let calls = 0;
  const {
    server,
    say,
    asked,
    answer: reply,
    ended,
    prompt,
    until,
  } = await talk(t, {
    tools: [tool],
    options: { maxAutoPosts: '3', toolFlow: 'held' },
    routes: {
      '/api/chat': (out, one, n) => {
        if (n > 1) return answer(out, one, n);
        held = out.open().send(start('m'), step, called(`c${calls++}`, 'look', { path: 'x' }));
        return undefined;
      },
      '/api/chat/tool-result': (out, { body }) => {
        out.json(200, { ok: true });
        held?.send(output(body.tool_call_id ?? '', 1), stepEnd, step, called(`c${calls++}`, 'look', { path: 'x' }));
      },
    },
  });
  let held: Reply | undefined;
  const id = say('go');
  const first = await asked();
  assert.equal(server.bodies('/api/chat/tool-result').length, 4);
  reply(first, 'allow');
  await until((session) => session.asks.some((ask) => ask.id !== first.id));
  assert.equal(server.bodies('/api/chat/tool-result').length, 7);
  reply(await asked(), 'reject');
  assert.equal((await ended(id)).status, 'cancelled');
  await held?.closed;
  assert.equal(server.bodies('/api/chat/tool-result').length, 7);
  assert.equal((await prompt('two')).status, 'done');
  assert.ok((server.bodies('/api/chat').at(-1)?.messages ?? []).every(isClosed));
});

test('404 at every address for results, for as long as the stream is open: the result goes with the next request', async (t) => {
  const { server, say, until, ended } = await talk(t, {
    tools: [tool],
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (reply, asked, n) => {
        if (n > 1) return answer(reply, asked, n);
        reply.open().send(start('m'), step, called('c', 'look', { path: 'x' }));
        const wait = setInterval(() => {
          if (server.asked.filter((one) => one.path.endsWith('/tool-result')).length < 6) return;
          clearInterval(wait);
          reply.send(stepEnd, finish('tool-calls')).done();
        }, 2);
        return undefined;
      },
    },
  });
  const id = say('go');
  await until((session) => session.turns[0]?.status === 'done');
  assert.equal(textOf(await ended(id)), 'Still here.');
  const last = server.bodies('/api/chat')[1]?.messages.at(-1);
  assert.deepEqual([last?.role, last?.parts.at(-1)?.state], ['assistant', 'output-available']);
});

/** A user is asked by a tool of ours, or by the server. */
const questions: Readonly<Record<string, { readonly chunks: readonly WireChunk[]; readonly say: 'main' | 'allow' }>> = {
  'a question': { chunks: [called('c', 'ask_person', { question: 'Which?', options: ['main'] })], say: 'main' },
  'an approval': {
    chunks: [called('c', 'delete_file', { path: 'x' }), { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' }],
    say: 'allow',
  },
};
for (const [what, { chunks, say: word }] of Object.entries(questions)) {
  test(`the server goes away while a user thinks about ${what}: the answer is kept, and Retry gives it once`, async (t) => {
    let gone = true;
    const options: TalkOptions = {
      routes: {
        '/api/chat': (reply, asked, n) => {
          if (n === 1) return reply.all(start('m'), step, ...chunks, stepEnd, finish('tool-calls'));
          if (gone) return void reply.response.destroy();
          return word === 'allow'
            ? reply.all(start('m'), output('c', 'gone'), ...said('Still here.'), finish('stop'))
            : answer(reply, asked, n);
        },
      },
    };
    const { server, say, asked, answer: reply, ended, retry, now } = await talk(t, options);
    const id = say('go');
    const ask = await asked();
    reply(ask, word === 'allow' ? 'allow' : { kind: 'fields', values: { answer: ['main'] } });
    const failed = await ended(id);
    assert.deepEqual([failed.status, failed.error?.next?.includes('retry'), now().asks.length], ['failed', true, 0]);
    gone = false;
    const again = await retry();
    assert.deepEqual([again.status, textOf(again), now().asks.length], ['done', 'Still here.', 0], again.error?.message);
    assert.deepEqual([call(again, 'c').status, now().turns.length], ['done', 1]);
    const last = server.bodies('/api/chat').at(-1);
    assert.deepEqual([last?.messages.length, last?.messages.at(-1)?.role], [2, 'assistant']);
    const part = last?.messages.at(-1)?.parts.at(-1);
    if (word === 'allow') assert.deepEqual([part?.state, part?.approval], ['approval-responded', { id: 'a', approved: true }]);
    else assert.deepEqual(part?.output, { answer: 'main' });
  });
}

test('the held stream breaks while a user thinks: the answer goes with a new request', async (t) => {
  let held: Reply | undefined;
  const {
    server,
    say,
    asked,
    answer: reply,
    ended,
    now,
  } = await talk(t, {
    options: { toolFlow: 'held' },
    routes: {
      '/api/chat': (out, one, n) => {
        if (n > 1) return answer(out, one, n);
        held = out.open().send(start('m'), step, called('c', 'ask_person', { question: 'Which?' }));
        return undefined;
      },
    },
  });
  const id = say('go');
  const ask = await asked();
  held?.cut();
  while (server.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(now().asks.length, 1, 'the question stays');
  reply(ask, { kind: 'fields', values: { answer: ['main'] } });
  const turn = await ended(id);
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c').status], ['done', 'Still here.', 'done']);
  assert.deepEqual(server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1)?.output, { answer: 'main' });
});
