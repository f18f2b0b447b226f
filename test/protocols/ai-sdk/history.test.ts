import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeOpenCalls, fromTurns, posted } from '../../../src/protocols/ai-sdk/history.ts';
import type { UiMessage, UiPart } from '../../../src/protocols/ai-sdk/schema.ts';
import type { Turn } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { called, finish, output, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { echoTool, noticesOf, open, person, talk, textOf } from './talk.ts';

const PLAIN = { v5: false, errorsAsOutput: false };
const tool = (state: string, more: object = {}): UiPart => ({ type: 'tool-x', toolCallId: 'c', state, input: { a: 1 }, ...more }) as UiPart;
const assistant = (...parts: UiPart[]): UiMessage => ({ id: 'm', role: 'assistant', parts });
const user = (id: string): UiMessage => ({ id, role: 'user', parts: [{ type: 'text', text: id }] });

test('every state that is not terminal, followed by a user message, is posted as output-error without approval', () => {
  const open: UiPart[] = [
    tool('input-streaming', { rawInput: '{"a":', input: undefined }),
    tool('input-available'),
    tool('output-available', { output: 'half', preliminary: true }),
    tool('approval-requested', { approval: { id: 'a', signature: 's' } }),
    tool('approval-responded', { approval: { id: 'a', approved: true } }),
  ];
  for (const part of open) {
    const messages = [assistant(part)];
    closeOpenCalls(messages);
    const [closed] = messages[0]?.parts ?? [];
    assert.deepEqual(JSON.parse(JSON.stringify(closed)), {
      type: 'tool-x',
      toolCallId: 'c',
      state: 'output-error',
      input: closed === open[0] ? {} : { a: 1 },
      errorText: 'Cancelled: the user sent a new message.',
    });
  }
});

test('a preliminary output that no final one follows is posted as output-error, beside a call of ours too', async (t) => {
  const { server, prompt } = await talk(t, {
    tools: [echoTool('look')],
    routes: {
      '/api/chat': (reply, _, n) => {
        const half = [start('m'), step, called('s', 'search'), output('s', 'half', { preliminary: true })];
        if (n === 1) return reply.all(...half, stepEnd, finish('stop'));
        if (n === 2) return reply.all(...half.slice(1), called('c', 'look', { path: 'x' }), stepEnd, finish('tool-calls'));
        return reply.all(...said('ok'), finish('stop'));
      },
    },
  });
  await prompt('one');
  await prompt('two');
  const states = (n: number, at: number) =>
    server
      .bodies('/api/chat')
      [n]?.messages[at]?.parts.filter((part) => part.toolCallId !== undefined)
      .map((part) => [part.state, part.errorText, part.preliminary]);
  assert.deepEqual(states(1, 1), [['output-error', 'Cancelled: the user sent a new message.', undefined]]);
  assert.deepEqual(states(2, 3), [
    ['output-error', 'The server ended its answer without the result.', undefined],
    ['output-available', undefined, undefined],
  ]);
});

test('terminal states and their metadata are left alone', () => {
  const parts = [
    tool('output-available', { output: 1, callProviderMetadata: { p: { sig: 'x' } }, resultProviderMetadata: { q: 1 } }),
    tool('output-error', { errorText: 'e' }),
    tool('output-denied', { approval: { id: 'a', approved: false, reason: 'r' } }),
  ];
  const messages = [assistant(...structuredClone(parts))];
  closeOpenCalls(messages);
  assert.deepEqual(messages[0]?.parts, parts);
});

test('version 5 gets no state, type or member it does not know', () => {
  const messages = [
    assistant(
      tool('approval-requested', { approval: { id: 'a' } }),
      tool('approval-responded', { approval: { id: 'a', approved: false, reason: 'no' } }),
      tool('output-denied', { approval: { id: 'a', approved: false, reason: 'never' } }),
      tool('output-available', { output: 1, approval: { id: 'a', approved: true } }),
      { type: 'dynamic-tool', toolName: 'dyn', toolCallId: 'd', state: 'output-available', input: {}, output: 2 },
    ),
  ];
  const written = posted(messages, { v5: true, errorsAsOutput: false })[0]!;
  assert.deepEqual(JSON.parse(JSON.stringify(written.parts)), [
    { type: 'tool-x', toolCallId: 'c', state: 'output-error', input: { a: 1 }, errorText: 'The user declined this action.' },
    { type: 'tool-x', toolCallId: 'c', state: 'output-error', input: { a: 1 }, errorText: 'no' },
    { type: 'tool-x', toolCallId: 'c', state: 'output-error', input: { a: 1 }, errorText: 'never' },
    { type: 'tool-x', toolCallId: 'c', state: 'output-available', input: { a: 1 }, output: 1 },
    { type: 'tool-dyn', toolCallId: 'd', state: 'output-available', input: {}, output: 2 },
  ]);
  assert.equal(messages[0]?.parts[2], posted(messages, PLAIN)[0]?.parts[2], 'the history itself keeps what came');
});

test('version 5 is learned from a refusal, and the request made again', async (t) => {
  const { server, say, asked, answer, ended } = await talk(t, {
    routes: {
      '/api/chat': (reply, { body }, n) => {
        if (n === 1)
          return reply.all(
            start('m'),
            step,
            called('c', 'rm'),
            { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' },
            stepEnd,
            finish(),
          );
        if (JSON.stringify(body.messages).includes('approval')) return reply.json(422, { error: 'unknown variant' });
        return reply.all(start('m'), step, ...said('ok'), finish());
      },
    },
  });
  const id = say('go');
  answer(await asked(), 'reject');
  assert.equal((await ended(id)).status, 'done');
  assert.equal(server.asked.length, 3);
});

test('an assistant message without parts is not posted', () => {
  assert.deepEqual(
    posted([user('1'), assistant(), user('2')], PLAIN).map((message) => message.role),
    ['user', 'user'],
  );
});

test('files of the assistant in old turns are left out, those of the user stay', () => {
  const file = (): UiPart => ({ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' });
  const messages = [{ ...user('1'), parts: [file()] }, assistant(file()), user('2'), user('3'), assistant(file()), user('4')];
  assert.deepEqual(
    posted(messages, PLAIN).map((message) => message.parts.length),
    [1, 1, 1, 1, 1],
  );
});

test('unknown metadata goes back unchanged', async (t) => {
  const metadata = { acme: { signature: 'abc', list: [1, null], deep: { x: true } } };
  const { server, prompt } = await talk(t, {
    tools: [echoTool('look')],
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(
              { type: 'start', messageId: 'm', messageMetadata: { any: metadata } },
              step,
              { type: 'reasoning-start', id: 'r', providerMetadata: metadata },
              { type: 'reasoning-end', id: 'r' },
              called('c', 'look', { path: 'x' }, { providerMetadata: metadata }),
              called('s', 'theirs'),
              output('s', 1, { providerMetadata: metadata }),
              stepEnd,
              finish(),
            )
          : reply.all(start('m'), step, ...said('ok'), finish()),
    },
  });
  await prompt();
  const message = server.bodies('/api/chat')[1]?.messages[1] as unknown as UiMessage;
  assert.deepEqual(message.metadata, { any: metadata });
  const [, reasoning, ours, theirs] = message.parts as unknown as Record<string, unknown>[];
  assert.deepEqual(
    [reasoning?.providerMetadata, ours?.callProviderMetadata, theirs?.resultProviderMetadata],
    [metadata, metadata, metadata],
  );
});

test('a restored conversation is posted from what the session shows, and keeps its id', async (t) => {
  const routes = {
    '/api/chat': (reply: import('../../fakes/aiSdk.ts').Reply, _: unknown, n: number) =>
      n === 1
        ? reply.all(start('m'), step, called('c', 'look', { path: 'x' }), stepEnd, finish())
        : reply.all(start('m'), step, ...said('ok'), stepEnd, finish('stop')),
  };
  const first = await talk(t, { tools: [echoTool('look')], routes });
  await first.prompt('remember this');
  const live = open(`${first.server.url}/api/chat`, { tools: [echoTool('look')] }, first.now());
  const key = first.now().resumeKey ?? assert.fail();
  await live.start({ key, history: false });
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  const again = person(live);
  live.send({ type: 'prompt', turnId: 'later', content: [{ type: 'text', text: 'go on' }] });
  assert.equal(textOf(await again.ended('later')), 'ok');
  const body = first.server.bodies('/api/chat')[2]!;
  assert.equal(body.id, key);
  assert.deepEqual(
    body.messages.map((message) => [message.role, message.parts.map((part) => part.type)]),
    [
      ['user', ['text']],
      ['assistant', ['step-start', 'tool-look', 'step-start', 'text']],
      ['user', ['text']],
    ],
  );
  assert.deepEqual(body.messages[1]?.parts[1]?.state, 'output-available');
});

test('thoughts are left out of a restored conversation, interrupted calls are errors', () => {
  const turn: Turn = {
    id: 't',
    startedAt: 0,
    prompt: [{ type: 'text', text: 'q' }],
    status: 'failed',
    parts: [
      { kind: 'thought', id: 'p', text: 'hm' },
      {
        kind: 'call',
        id: 'c',
        call: {
          id: 'c',
          name: 'x',
          title: 'x',
          kind: 'other',
          status: 'cancelled',
          inputText: '',
          input: { a: 1 },
          output: [],
          locations: [],
        },
      },
      { kind: 'text', id: 'q', text: 'so' },
    ],
  };
  const [, message] = fromTurns([turn], () => 'id');
  assert.deepEqual(
    message?.parts.map((part) => part.type),
    ['step-start', 'tool-x', 'step-start', 'text'],
  );
  assert.equal(message?.parts[1] && 'errorText' in message.parts[1] && message.parts[1].errorText, 'Cancelled.');
});

test('options that cannot be used are named; plain http to another machine is warned about', async () => {
  const live = open(
    'http://chat.example.test/api/chat',
    { options: { toolFlow: 'sideways', colour: 'red', body: '[1]' } },
    newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/w'),
  );
  await live.start();
  const { until } = person(live);
  const { notices } = await until((session) => session.link.state === 'ready');
  const words = notices.map((notice) => notice.text).join('\n');
  for (const expected of [/toolFlow cannot be "sideways"/, /no option "colour"/, /body is no JSON object/, /not encrypted/])
    assert.match(words, expected);
  await live.stop();
  live.dispose();
});

test('where the words and what tools find go is said once for each server; nothing is said of this machine', async () => {
  const memory = new Map();
  const told = async (url: string) => {
    const live = open(url, { memory }, newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/w'));
    await live.start();
    const { notices } = await person(live).until((session) => session.link.state === 'ready');
    await live.stop();
    live.dispose();
    return notices.map((notice) => notice.level);
  };
  assert.deepEqual(await told('https://chat.example.test/api/chat'), ['info']);
  assert.deepEqual(await told('https://chat.example.test/api/chat'), []);
  assert.deepEqual(await told('http://127.0.0.1:1/api/chat'), []);
});

test('a history beyond 5 MB is warned about once', async (t) => {
  const { live, ended, prompt } = await talk(t, { routes: { '/api/chat': (reply) => reply.all(...said('ok'), finish()) } });
  live.send({ type: 'prompt', turnId: 'big', content: [{ type: 'image', mime: 'image/png', data: 'A'.repeat(6 * 1024 * 1024) }] });
  assert.match(noticesOf(await ended('big')).join(), /grown beyond 5 MB/);
  assert.deepEqual(noticesOf(await prompt()), []);
});
