import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Credentials } from '../../../src/protocols/a2a/credentials.ts';
import type { AdapterContext } from '../../../src/protocols/adapter.ts';
import { asks, call, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);

for (const code of [429, 503])
  test(`${code}, again and again: what was sent is sent once more, then the user is told`, async (t) => {
    let refused = 0;
    const agent = await fakeAgent(t, {
      before: (_, response, body) => {
        if (!body.includes('message/stream')) return false;
        refused += 1;
        response.writeHead(code, { 'retry-after': '0' }).end('still busy');
        return true;
      },
    });
    const turn = await talk(t, agent.url).prompt('hi');
    assert.deepEqual([turn.status, /still busy/.test(turn.error?.message ?? ''), refused], ['failed', true, 2]);
  });

test('a lost task is not asked for again before its time', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        setTimeout(() => reply.cut(), 10);
      },
      'tasks/resubscribe': (_, reply) => reply.cut(),
      'commands/get': (_, reply) => reply.json({ commands: [] }),
    },
  });
  const session = talk(t, agent.url, { timing: { retries: [0, 3_600_000] } });
  session.begin('go');
  await agent.until('tasks/resubscribe');
  // More than enough for a try that is not held back.
  for (let at = 0; at < 50; at += 1) await fetch(`${agent.url}/.well-known/agent-card.json`).then((card) => card.text());
  assert.equal(agent.requests('tasks/resubscribe').length, 1);
});

test('a task that vanished between two prompts: the user is told, and the new task is told the past with the prompt, once', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': ({ params }, reply, at) => {
        if ((params.message as Json).taskId !== undefined) return reply.error(-32001, 'Task not found');
        reply.record({ ...says(at === 0 ? 'Hello.' : 'Again.'), taskId: `t${at}` });
        reply.record({ ...over('input-required'), taskId: `t${at}` });
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  await session.prompt('one');
  const turn = await session.prompt('two');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Again.']);
  assert.match(turn.parts.map((part) => (part.kind === 'notice' ? part.notice.text : '')).join(), /begins a new task/);
  const sent = agent.requests('message/stream').map(({ params }) => params.message as { readonly taskId?: string; readonly parts: Json[] });
  assert.deepEqual(
    sent.map(({ taskId }) => taskId),
    [undefined, 't0', undefined],
  );
  assert.match(sent[2]?.parts.map((part) => String(part.text)).join('\n') ?? '', /User: one\nAgent: Hello\.[\s\S]*two$/);
});

test('a prompt that was begun with is not sent again, whatever error ends it', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        reply.record(says('Begun.'));
        if (at === 0) reply.record(over('input-required'));
        else
          reply.raw(
            `event: error\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Task not found' } })}\n\n`,
          );
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  await session.prompt('one');
  assert.equal((await session.prompt('two')).status, 'failed');
  assert.equal(agent.requests('message/stream').length, 2);
});

test('the agent says by tasks/get that it knows the task no more: the turn ends with words, and the link stays', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        setTimeout(() => reply.cut(), 10);
      },
      'tasks/resubscribe': (_, reply) => reply.error(-32004, 'There is nothing to subscribe to'),
      'tasks/get': (_, reply) => reply.error(-32001, 'Task not found'),
    },
  });
  const session = talk(t, agent.url);
  const turn = await session.prompt('go');
  assert.deepEqual([turn.status, /begins a new task/.test(turn.error?.message ?? '')], ['failed', true]);
  assert.deepEqual([agent.requests('tasks/get').length, session.now().link.state], [1, 'ready']);
});

test('a last record that no blank line follows is heard', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(says('All of it.'));
        reply.raw(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: over() })}`);
        reply.end();
      },
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'All of it.']);
  assert.equal(agent.requests('tasks/resubscribe').length, 0);
});

test('neither the headers of the settings nor a secret go to another origin', () => {
  const headers = { authorization: 'Bearer mine' };
  const credentials = new Credentials({} as unknown as AdapterContext, 'https://agent.example', headers);
  const to = (url: string) => credentials.sign({ method: 'POST', url }).request.headers;
  assert.deepEqual(to('https://agent.example/rpc'), headers);
  for (const url of ['https://elsewhere.example/rpc', 'http://agent.example/rpc', 'https://agent.example:8443/'])
    assert.equal(to(url), undefined);
});

test('an agent that was restarted while it was asked does not know its task: it is said in words, and the next prompt begins another', async (t) => {
  let restarted = false;
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': ({ params }, reply, at) => {
        if (restarted && (params.message as Json).taskId === 't1') return reply.error(-32001, 'Task not found: t1');
        if (at === 0) for (const one of [task('submitted'), call('PENDING', asks), over('input-required')]) reply.record(one);
        else for (const one of [says('Hello.'), over()]) reply.record({ ...one, taskId: 't2' });
        reply.end();
      },
      'tasks/get': (_, reply) => reply.error(-32001, 'Task not found: t1'),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  restarted = true;
  session.answer(ask, option(ask, 'allow_once'));
  const { status: how, error } = await session.ended(turnId);
  assert.equal(how, 'failed');
  assert.match(error?.message ?? '', /does not know this conversation any more.*begins a new task/);
  assert.doesNotMatch(error?.message ?? '', /t1|-32001/);
  const next = await session.prompt('And now?');
  assert.deepEqual([next.status, textOf(next)], ['done', 'Hello.']);
});
