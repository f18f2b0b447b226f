import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent, type Json, type Reply, shipped, task } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

const GEMINI: Json = { name: 'Gemini SDLC Agent', capabilities: { streaming: true } };
const line = (id: number) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: shipped('executing') })}\n\n`;

// The Gemini CLI server listens for the end of the socket and for nothing else: one that is reset leaves its command running.
test('stopped while something of a running command is still unread: the server hears the end of the socket', async (t) => {
  let open: Reply | undefined;
  let stop: () => void = () => {};
  const heard: string[] = [];
  const agent = await fakeAgent(t, {
    card: GEMINI,
    before: (request, response) => {
      if (request.url !== '/now') return false;
      // Written, and not read yet: this process is busy with the stop.
      open?.response.write(line(1), stop);
      response.end();
      return true;
    },
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': (_, reply) => {
        open = reply;
        const { socket } = reply.response;
        socket?.on('end', () => heard.push('end'));
        socket?.on('error', () => heard.push('reset'));
        socket?.on('close', () => heard.push('closed'));
        reply.record(task('submitted'));
        reply.record(shipped('executing'));
      },
      'tasks/get': (_, reply) => reply.json(task('input-required')),
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  await session.until('the command', ({ turns }) => JSON.stringify(turns[0]?.parts).includes('"running"'));
  stop = () => session.live.send({ type: 'cancel' });
  await fetch(`${agent.url}/now`).then((answer) => answer.text());
  const turn = await session.ended(turnId);
  assert.equal(turn.status, 'cancelled');
  assert.equal(heard[0], 'end');
  assert.ok(turn.parts.every((part) => part.kind !== 'notice'));
});

test('a server that does not close its side when it is stopped: the user is told that the command may still run', async (t) => {
  const agent = await fakeAgent(t, {
    card: GEMINI,
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': (_, reply) => {
        // Whoever asked is not heard any more.
        reply.response.socket?.removeAllListeners('end');
        reply.record(task('submitted'));
        reply.record(shipped('executing'));
      },
      'tasks/get': (_, reply) => reply.json(task('working')),
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  await session.until('the command', ({ turns }) => JSON.stringify(turns[0]?.parts).includes('"running"'));
  session.live.send({ type: 'cancel' });
  const turn = await session.ended(turnId);
  assert.match(turn.parts.map((part) => (part.kind === 'notice' ? part.notice.text : '')).join(), /may still be at work/);
});
