import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { fakeAgent, type Json } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const commands = [
  { name: 'init', description: 'Writes GEMINI.md', arguments: [], subCommands: [] },
  {
    name: 'restore',
    description: 'Restores',
    arguments: [],
    subCommands: [{ name: 'restore list', description: 'Lists', arguments: [], subCommands: [] }],
  },
  {
    name: 'memory',
    description: 'Memory',
    arguments: [],
    subCommands: [
      {
        name: 'memory add',
        description: 'Adds',
        arguments: [{ name: 'fact', description: 'What to keep', isRequired: true }],
        subCommands: [],
      },
    ],
  },
];

/** The shipped server, which tells of its commands and runs them outside of JSON-RPC. */
function shippedServer(run: (asked: { command: string; args: string[] }, response: ServerResponse) => void) {
  const ran: { command: string; args: string[] }[] = [];
  return {
    ran,
    script: {
      card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
      before: (request: IncomingMessage, response: ServerResponse, body: string) => {
        if (request.url === '/listCommands') response.end(JSON.stringify({ commands }));
        else if (request.url === '/executeCommand') {
          const asked = JSON.parse(body) as { command: string; args: string[] };
          ran.push(asked);
          run(asked, response);
        } else return false;
        return true;
      },
    },
  };
}
const json = (response: ServerResponse, data: unknown) =>
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ name: 'x', data }));

test('commands over REST: nested ones by their own name, required arguments asked for, the text as one argument', async (t) => {
  const { ran, script } = shippedServer((_, response) => json(response, { type: 'message', messageType: 'info', content: 'Kept.' }));
  const agent = await fakeAgent(t, script);
  const session = talk(t, agent.url);
  const memory = (await session.opened()).commands.find((one) => one.name === 'memory');
  assert.deepEqual(
    memory?.children?.map((one) => [one.name, one.hint]),
    [['add', '<fact>']],
  );
  const turnId = session.begin('/memory add');
  const ask = await session.asked();
  assert.match(ask.kind === 'question' ? (ask.fields[0]?.label ?? '') : '', /fact: What to keep/);
  session.answer(ask, { kind: 'fields', values: { fact: ['buy milk'] } });
  assert.equal(textOf(await session.ended(turnId)), 'Kept.');
  const dismissed = session.begin('/memory add');
  session.answer(await session.asked(), { kind: 'cancelled' });
  assert.equal((await session.ended(dismissed)).status, 'cancelled');
  assert.deepEqual(ran, [{ command: 'memory add', args: ['buy milk'] }]);
});

test('init is asked about first; its badly framed records are read line by line', async (t) => {
  const record = (id: string | undefined, text: string, final = false): Json => ({
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    result: {
      kind: 'status-update',
      taskId: 't9',
      contextId: 'c9',
      final,
      status: {
        state: final ? 'completed' : 'working',
        message: { role: 'agent', messageId: `m${text}`, parts: [{ kind: 'text', text }] },
      },
      metadata: { coderAgent: { kind: 'text-content' } },
    },
  });
  const { ran, script } = shippedServer((_, response) => {
    response.setHeader('content-type', 'text/event-stream');
    for (const one of [record('t9', 'Looking. '), record(undefined, 'Writing. '), record('t9', 'Done.', true)]) {
      response.write(`data: ${JSON.stringify(one)}\n`);
    }
    response.end();
  });
  const agent = await fakeAgent(t, script);
  const session = talk(t, agent.url);
  await session.opened();
  const refused = session.begin('/init');
  const first = await session.approval();
  session.answer(first, option(first, 'reject_once'));
  assert.equal((await session.ended(refused)).status, 'cancelled');
  assert.deepEqual(ran, [], 'nothing runs without a yes');
  const turnId = session.begin('/init');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_always'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Looking. Writing. Done.']);
});

test('restore: the checkpoints of the list, which is JSON in a text, are choices; files are set back after a yes only', async (t) => {
  const list = JSON.stringify([
    { messageId: 'm1', checkpoint: '2026-write_file' },
    { messageId: 'm2', checkpoint: '2026-replace' },
  ]);
  const { ran, script } = shippedServer(({ command }, response) =>
    json(response, { type: 'message', messageType: 'info', content: command === 'restore list' ? list : 'Restored.' }),
  );
  const agent = await fakeAgent(t, script);
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('/restore');
  const ask = await session.asked();
  assert.deepEqual(ask.kind === 'question' ? ask.fields[0]?.choices?.map((one) => one.label) : [], ['2026-write_file', '2026-replace']);
  session.answer(ask, { kind: 'fields', values: { checkpoint: ['2026-replace'] } });
  const confirm = await session.until('the confirmation', (now) => now.asks[0]?.kind === 'approval');
  const [sure] = confirm.asks;
  if (sure?.kind === 'approval') session.answer(sure, option(sure, 'allow_always'));
  assert.equal(textOf(await session.ended(turnId)), 'Restored.');
  const no = session.begin('/restore 2026-write_file');
  const again = await session.approval();
  session.answer(again, { kind: 'cancelled' });
  assert.equal((await session.ended(no)).status, 'cancelled');
  assert.deepEqual(ran, [
    { command: 'restore list', args: [] },
    { command: 'restore', args: ['2026-replace'] },
  ]);
});

test('stop while a command asks: the ask is gone, nothing has run', async (t) => {
  const { ran, script } = shippedServer((_, response) => json(response, 'x'));
  const agent = await fakeAgent(t, script);
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('/init');
  await session.approval();
  session.live.send({ type: 'cancel' });
  assert.equal((await session.ended(turnId)).status, 'cancelled');
  assert.deepEqual([session.now().asks, ran], [[], []]);
});

test('a command the server does not run says so', async (t) => {
  const { script } = shippedServer((_, response) => response.writeHead(404).end('{"error":"Command not found: memory"}'));
  const agent = await fakeAgent(t, script);
  const session = talk(t, agent.url);
  await session.opened();
  const turn = await session.prompt('/memory add x');
  assert.deepEqual([turn.status, /executeCommand|not found/.test(turn.error?.message ?? '')], ['failed', true]);
});

test('a command that the server refuses fails with its words, not with its JSON', async (t) => {
  const { script } = shippedServer((_, response) => response.writeHead(400).end(JSON.stringify({ error: 'No workspace is set.' })));
  const agent = await fakeAgent(t, script);
  const session = talk(t, agent.url);
  await session.opened();
  session.live.send({ type: 'command', turnId: 'c', path: ['memory'], args: 'x' });
  const turn = await session.ended('c');
  assert.deepEqual(
    [turn.status, /No workspace is set\./.test(turn.error?.message ?? ''), /[{}]/.test(turn.error?.message ?? '')],
    ['failed', true, false],
  );
});

test('a command may be answered as a stream or as JSON, and says so', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [{ name: 'memory' }] }),
      'command/execute': (_, reply) => reply.json({ status: 1, message: 'Kept.' }),
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  session.live.send({ type: 'command', turnId: 'c', path: ['memory'], args: 'x' });
  await session.ended('c');
  assert.match(agent.requests('command/execute')[0]?.headers.accept ?? '', /text\/event-stream.*application\/json/);
});
