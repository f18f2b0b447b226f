import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, over, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

test('401: stored credentials are tried, then the user is asked once; they go to this origin only', async (t) => {
  const seen: (string | undefined)[] = [];
  const agent = await fakeAgent(t, {
    card: { securitySchemes: { k: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    before: (request, response) => {
      if (request.method !== 'POST') return false;
      const key = request.headers['x-key'] as string | undefined;
      seen.push(key);
      if (key === 'right') return false;
      response.writeHead(401).end('who are you?');
      return true;
    },
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': (_, reply) => {
        reply.record(status('working', 'TEXT_CONTENT', [text('Hi.')]));
        reply.record(over());
        reply.end();
      },
    },
  });
  const kept = new Map<string, string>();
  const session = talk(t, agent.url, {
    secrets: { get: async () => 'old', set: async (name, value) => void (value === undefined ? kept.delete(name) : kept.set(name, value)) },
  });
  const ask = await session.asked();
  assert.equal(ask.kind === 'question' && ask.fields[0]?.kind, 'secret');
  session.answer(ask, { kind: 'fields', values: { secret: ['right'] } });
  await session.opened();
  assert.equal(textOf(await session.prompt('hi')), 'Hi.');
  assert.deepEqual(seen.slice(0, 3), [undefined, 'old', 'right']);
  assert.deepEqual([...kept.values()], ['right']);
});

test('403 is not asked about; the words of the server are shown', async (t) => {
  const agent = await fakeAgent(t, {
    before: (request, response) => {
      if (request.method !== 'POST') return false;
      response.writeHead(403).end('not for you');
      return true;
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turn = await session.prompt('hi');
  assert.equal(turn.status, 'failed');
  assert.match(turn.error?.message ?? '', /not for you/);
});

test('the words of a refusal are taken out of its JSON, at the end of a turn and where a credential is asked for again', async (t) => {
  const bodies = [
    { error: { code: -32000, message: 'no such command' } },
    { error: 'no such command' },
    { detail: 'no such command' },
    { error_description: 'no such command', scope: 'x' },
    { detail: [{ loc: ['body', 'command'], msg: 'no such command', type: 'missing' }] },
    { errors: [{ code: 7, message: 'no such command' }] },
    { error: { code: -32000, message: '{"error":{"code":400,"message":"no such command","status":"INVALID"}}' } },
  ];
  for (const [status, body] of bodies.flatMap((one) => [[400, one] as const, [401, one] as const])) {
    const agent = await fakeAgent(t, {
      card: { securitySchemes: { k: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
      before: (request, response) => {
        if (request.method !== 'POST') return false;
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        return true;
      },
    });
    const session = talk(t, agent.url, { secrets: { get: async () => undefined, set: async () => {} } });
    if (status === 401) {
      const ask = await session.asked();
      assert.equal(ask.kind === 'question' && ask.fields[0]?.body, 'no such command');
    } else {
      await session.opened();
      assert.match((await session.prompt('hi')).error?.message ?? '', /^no such command$|: no such command$/);
    }
  }
});

test('503 with a time to wait is waited for once', async (t) => {
  let refused = 0;
  const agent = await fakeAgent(t, {
    before: (request, response, body) => {
      if (!body.includes('message/stream') || refused > 0) return false;
      refused += 1;
      response.writeHead(503, { 'retry-after': '0' }).end();
      return request.method === 'POST';
    },
    on: {
      'message/stream': (_, reply) => {
        reply.record(over());
        reply.end();
      },
    },
  });
  assert.equal((await talk(t, agent.url).prompt('hi')).status, 'done');
  assert.equal(refused, 1);
});

test('a redirect to another origin is not followed', async (t) => {
  const other = await fakeAgent(t, {});
  const agent = await fakeAgent(t, {
    before: (request, response) => {
      if (request.method !== 'POST') return false;
      response.writeHead(307, { location: `${other.url}/` }).end();
      return true;
    },
  });
  const session = talk(t, agent.url, { headers: { authorization: 'Bearer mine' } });
  const turn = await session.prompt('hi');
  assert.equal(turn.status, 'failed');
  assert.equal(other.asked.length, 0);
});

test('no agent at the address: the link closes with a reason', async (t) => {
  const agent = await fakeAgent(t, {
    before: (_, response) => {
      response.writeHead(404).end('nothing here');
      return true;
    },
  });
  const now = await talk(t, agent.url).opened();
  assert.equal(now.link.state, 'closed');
  assert.match(now.link.state === 'closed' ? now.link.reason : '', /no A2A agent/);
});

test('broken records are left out, and the rest of the stream is heard', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('submitted'));
        reply.raw('data: {"jsonrpc": \n\n: ping\n\ndata: 7\n\nevent: x\nid: 9\n');
        reply.record({ kind: 'status-update', taskId: 5 });
        reply.record({ kind: 'never-heard-of' });
        reply.record(status('working', 'TEXT_CONTENT', [text('Still here.')]));
        reply.record(over());
        reply.end();
      },
    },
  });
  const turn = await talk(t, agent.url).prompt('hi');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Still here.']);
});
