import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, fakeAgent, type Json, over, shipped, status, task, text, URI } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

test('the shipped server under another name is known by the commands it serves', async (t) => {
  const agent = await fakeAgent(t, {
    card: { name: 'My Gemini', capabilities: { streaming: true } },
    before: (request, response) => {
      if (request.url !== '/listCommands') return false;
      response.end(JSON.stringify({ commands: [{ name: 'memory', description: 'x', arguments: [], subCommands: [] }] }));
      return true;
    },
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) reply.record(shipped('awaiting_approval', { confirmationDetails: { type: 'exec', command: 'ls' } }));
        reply.record(over('input-required'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const now = await session.opened();
  assert.deepEqual(now.notices, []);
  const turnId = session.begin('go');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
  const [first] = agent.requests('message/stream').map(({ params }) => (params.message as Json).metadata as Json);
  assert.deepEqual(first?.coderAgent, { kind: 'agent-settings', workspacePath: session.cwd });
});

test('the same record twice on one stream is shown once', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        for (const words of ['Hello ', 'world']) {
          const record = status('working', 'TEXT_CONTENT', [text(words)]);
          reply.record(record);
          reply.record(record);
        }
        reply.record(over());
        reply.end();
      },
    },
  });
  assert.equal(textOf(await talk(t, agent.url).prompt('hi')), 'Hello world');
});

test('what would change a file or run outside the workspace says so where it is asked', async (t) => {
  const outside: Json = { ...(asks.confirmation_request as Json), file_edit_details: undefined };
  const requests = [
    asks,
    { confirmation_request: { ...outside, execute_details: { command: 'ls', working_directory: '/etc' } } },
    { confirmation_request: { ...outside, execute_details: { command: 'ls', working_directory: '.' } } },
  ];
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        const request = at % 2 === 0 ? requests[at / 2] : undefined;
        if (request) reply.record(call('PENDING', { ...request, tool_call_id: `k${at}` }));
        reply.record(over(request ? 'input-required' : 'completed'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const titles: string[] = [];
  for (const _ of requests) {
    const turnId = session.begin('go');
    const ask = await session.approval();
    titles.push(ask.title);
    session.answer(ask, option(ask, 'allow_once'));
    await session.ended(turnId);
  }
  assert.deepEqual(titles, ['write_file (outside the workspace)', 'write_file (outside the workspace)', 'write_file']);
});

test('which model answers, and on which tier, is seen beside what can be chosen', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        const meta = { [URI]: { kind: 'TEXT_CONTENT', model: at === 0 ? 'gemini-9' : 'gemini-10', user_tier: 'free-tier' } };
        reply.record(status('working', 'TEXT_CONTENT', [text('x')], { meta }));
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const seen = () => (session.now().options ?? []).map((one) => (one.kind === 'choice' ? [one.about, one.current] : one.id));
  await session.prompt('hi');
  assert.deepEqual(seen(), [['model', 'gemini-9 · free-tier']]);
  await session.prompt('again');
  assert.deepEqual(seen(), [['model', 'gemini-10 · free-tier']]);
});
