import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { fakeAgent, over, shipped, task } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const waits = shipped('awaiting_approval', { confirmationDetails: { type: 'exec', command: 'ls', rootCommand: 'ls' } });

test('a sign of life without an answer does not hold up the decision, and the connection of the turn stays', async (t) => {
  const hanging: ServerResponse[] = [];
  let hangs = false;
  let signs = 0;
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
    before: (request, response) => {
      if (request.method !== 'GET' || !hangs) return false;
      signs += 1;
      if (signs > 1) return false;
      hanging.push(response);
      return true;
    },
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) {
          for (const one of [task('submitted'), waits, over('input-required')]) reply.record(one);
          hangs = true;
          return reply.end();
        }
        reply.record(shipped('executing'));
        // The command runs on while its connection is kept alive again.
        hanging[0]?.end('{}');
        const look = setInterval(() => {
          if (signs < 2) return;
          clearInterval(look);
          for (const one of [shipped('success'), over('input-required')]) reply.record(one);
          reply.end();
        }, 5);
        t.after(() => clearInterval(look));
      },
    },
  });
  const session = talk(t, agent.url, { timing: { ping: 20, answer: 600_000 } });
  await session.opened();
  const turnId = session.begin('go');
  const ask = await session.approval();
  while (hanging.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.equal(turn.status, 'done');
  const [first, decision] = agent.requests('message/stream');
  assert.notEqual(decision?.socket, first?.socket);
  assert.ok(first && !agent.dropped.includes(first.socket), 'closing it would stop what was allowed');
});
