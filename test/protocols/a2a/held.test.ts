import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { HttpClient } from '../../../src/transport/http.ts';
import { fakeAgent, type Json, shipped, status } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const command: Json = { confirmationDetails: { type: 'exec', title: 'List', command: 'ls' } };
const rest = () => status('input-required', '', [], { final: true, meta: { coderAgent: { kind: 'state-change' } } });

/** Settles when a connection that nobody holds, idle since after the call, was closed from this side for being idle. */
async function idleTimePassed(t: Pick<TestContext, 'after'>): Promise<void> {
  const other = await fakeAgent(t, {});
  const ordinary = new HttpClient();
  t.after(() => ordinary.dispose());
  const answer = await ordinary.request({ method: 'GET', url: `${other.url}/.well-known/agent-card.json` });
  await answer.text();
  while (other.dropped.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('an approval waits for longer than idle connections live: the one that its turn came over stands, and carries the answer', async (t) => {
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
    on: {
      'message/stream': (_, reply, at) => {
        reply.record(at === 0 ? shipped('awaiting_approval', command) : shipped('success', command));
        reply.record(rest());
        reply.end();
      },
    },
  });
  // No signs of life meanwhile: whoever closes it does so because it is idle.
  const session = talk(t, agent.url, { timing: { ping: 60_000 } });
  const turnId = session.begin('go');
  const ask = await session.approval();
  await idleTimePassed(t);
  const [prompt] = agent.requests('message/stream');
  assert.ok(!agent.dropped.includes(prompt?.socket ?? 0), 'the connection of the turn was closed');
  session.answer(ask, option(ask, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
  assert.equal(agent.requests('message/stream')[1]?.socket, prompt?.socket);
});

test('a second connection, which carried an answer beside the open stream of the turn, stands as long while the next approval waits', async (t) => {
  let first: { record(result: unknown): void; end(): void } | undefined;
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true }, securitySchemes: { b: { type: 'http', scheme: 'bearer' } } },
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) {
          first = reply;
          return reply.record(shipped('awaiting_approval', command, 'g1'));
        }
        reply.record(shipped('success', command, `g${at}`));
        if (at === 1) reply.record(shipped('awaiting_approval', command, 'g2'));
        reply.record(rest());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url, { timing: { ping: 60_000 } });
  const turnId = session.begin('go');
  const one = await session.approval();
  session.answer(one, option(one, 'allow_once'));
  const { asks } = await session.until('the next', (now) => now.asks.some((ask) => ask.id !== one.id));
  await idleTimePassed(t);
  const [prompt, answer] = agent.requests('message/stream');
  assert.notEqual(answer?.socket, prompt?.socket, 'the first stream is open');
  assert.deepEqual(agent.dropped, [], 'a connection was closed');
  first?.end();
  const [two] = asks;
  assert.ok(two?.kind === 'approval');
  session.answer(two, option(two, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, callsOf(turn).map((call) => call.status)], ['done', ['done', 'done']]);
});
