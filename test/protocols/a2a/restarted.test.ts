import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, type Json, status, text } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

const meta = { coderAgent: { kind: 'text-content' } };

for (const words of [true, false])
  test(`the Gemini CLI server is restarted in the first turn ${words ? 'in the middle of its words' : 'before it said anything'}: the new task is told what was said, and the user that there is one`, async (t) => {
    let tasks = 0;
    const agent = await fakeAgent(t, {
      card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
      before: (request, response) => {
        if (request.url !== '/tasks') return false;
        tasks += 1;
        response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(`t${tasks}`));
        return true;
      },
      on: {
        'tasks/get': (_, reply) => reply.error(-32001, 'Task not found'),
        'message/stream': (_, reply, at) => {
          if (at === 0 && !words) return;
          reply.record({ ...status('working', '', [text('I make a plan.')], { meta }), taskId: `t${tasks}` });
          if (at === 0) return;
          reply.record({ ...status('input-required', '', [], { final: true, meta }), taskId: `t${tasks}` });
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    await session.opened();
    session.begin('Turn debugging on');
    await agent.until('message/stream');
    if (words) await session.until('words', ({ turns }) => turns[0]?.parts.length === 1);
    await session.live.restart();
    const { notices } = await session.opened();
    assert.match(notices.map((one) => one.text).join('\n'), /begins a new task and repeats what was said/);
    assert.equal((await session.prompt('And now?')).status, 'done');
    const message = agent.requests('message/stream').at(-1)?.params.message as Json;
    assert.equal(message.taskId, 't2');
    const said = JSON.stringify(message.parts);
    assert.match(said, /User: Turn debugging on/);
    assert.match(said, /And now\?/);
    assert.equal(/I make a plan/.test(said), words);
  });
