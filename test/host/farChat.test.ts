import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { newSession } from '../../src/session/reduce.ts';
import { called, FakeChat, finish, output, type Reply, said, start, step } from '../fakes/aiSdk.ts';
import { type ForwardProxy, startProxy } from '../fakes/proxy.ts';
import { open, person, textOf } from '../protocols/ai-sdk/talk.ts';

/** Milliseconds; longer than idle connections last in the editor's own agents. */
const SILENCE = 6_500;

describe('a chat server beyond the editor’s proxy', () => {
  let server: FakeChat;
  let proxy: ForwardProxy;
  let held: Reply | undefined;
  const setting = async (value: unknown) => vscode.workspace.getConfiguration('http').update('proxy', value, true);

  before(async () => {
    server = new FakeChat({
      '/api/chat': (reply) => {
        held = reply.open().send(start('m'), step, called('c', 'ask_person', { question: 'Which branch?' }));
      },
      '/api/chat/tool-result': (reply, { body }) => {
        reply.json(200, { ok: true });
        held?.send(output('c', body.result), step, ...said('Thank you.'), finish('stop')).done();
      },
    });
    await server.start();
    proxy = await startProxy(() => Number(new URL(server.url).port));
    await setting(proxy.url);
  });
  after(async () => {
    await setting(undefined);
    await server.stop();
    proxy.close();
  });

  it('a stream that is silent while a user thinks stays open, and the answer reaches the server', async () => {
    const url = `http://agent.test:${new URL(server.url).port}/api/chat`;
    const agreed = new Map([[`plain:${new URL(url).origin}`, 'yes']]);
    const live = open(
      url,
      { options: { toolFlow: 'held' }, secrets: agreed },
      newSession(randomUUID(), { protocol: 'ai-sdk', name: 'x' }, '/w'),
    );
    await live.start();
    const { say, asked, answer, ended } = person(live);
    const id = say('go');
    const ask = await asked();
    await new Promise((resolve) => setTimeout(resolve, SILENCE));
    answer(ask, { kind: 'fields', values: { answer: ['main'] } });
    const turn = await ended(id);
    await live.stop();
    live.dispose();
    assert.deepEqual([turn.status, textOf(turn), server.bodies('/api/chat').length], ['done', 'Thank you.', 1], turn.error?.message);
    assert.deepEqual(server.bodies('/api/chat/tool-result')[0]?.result, { answer: 'main' });
    assert.equal(proxy.asked.filter((one) => one.startsWith('POST http://agent.test')).length, 2);
  });
});
