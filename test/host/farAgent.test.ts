import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Approval } from '../../src/session/model.ts';
import { callsOf } from '../../src/session/select.ts';
import { fakeAgent, shipped, status } from '../fakes/a2a.ts';
import { type ForwardProxy, startProxy } from '../fakes/proxy.ts';
import { option, type Talk, talk } from '../protocols/a2a/talk.ts';

/** Longer than any idle connection lasts in the editor's own agents, its servers' and `fetch`. */
const IDLE = 6_500;

interface Conversation {
  readonly session: Talk;
  readonly turnId: string;
  readonly ask: Approval;
}

/**
 * An agent that does as the Gemini CLI server does: when the connection of the prompt closes, the waiting call is gone. The conversation is left
 * alone with its approval for a while, as by a user who is at lunch, and without signs of life in between.
 */
describe('an agent beyond the editor’s proxies and certificates', () => {
  const undo: (() => unknown)[] = [];
  const t = { after: (done: () => unknown) => void undo.push(done) };
  const ports = new Map<string, number>();
  const talks = new Map<string, Conversation>();
  let proxy: ForwardProxy;

  const setting = async (name: string, value: unknown) => vscode.workspace.getConfiguration('http').update(name, value, true);

  /** Starts an agent that listens on `host` and is spoken to as `name`. */
  async function begin(what: string, host: string, secure: boolean, name = host): Promise<void> {
    const read = (end: string) => readFileSync(`${process.env.PARLEY_FIXTURES}/agent.test.${end}`, 'utf8');
    let gone = false;
    const agent = await fakeAgent(t, {
      host,
      ...(secure ? { secure: { cert: read('crt'), key: read('key') } } : {}),
      card: { name: 'Gemini SDLC Agent', url: '/', capabilities: { streaming: true } },
      on: {
        'message/stream': (_, reply, at) => {
          if (at === 0) {
            reply.response.req.socket.once('close', () => {
              gone = true;
            });
            reply.record(shipped('awaiting_approval', { confirmationDetails: { type: 'exec', command: 'ls' } }));
          } else reply.record(shipped(gone ? 'cancelled' : 'success', gone ? {} : { response: { resultDisplay: 'a.txt' } }));
          reply.record(status('input-required', '', [], { final: true, meta: { coderAgent: { kind: 'state-change' } } }));
          reply.end();
        },
      },
    });
    const url = new URL(agent.url);
    ports.set(`${name}:${url.port}`, Number(url.port));
    const session = talk(t, `${url.protocol}//${name}:${url.port}`, {
      timing: { ping: 600_000 },
      // What is not encrypted has been agreed to.
      secrets: { get: async () => 'yes', set: async () => {} },
    });
    const turnId = session.begin('list');
    talks.set(what, { session, turnId, ask: await session.approval() });
  }

  before(async () => {
    proxy = await startProxy((asked) => {
      const port = /:(\d+)(\/|$)/.exec(asked.replace(/^https?:\/\//, ''))?.[1];
      return ports.get(`agent.test:${port}`) ?? Number(port);
    });
    await setting('noProxy', ['127.0.0.2']);
    await setting('proxy', proxy.url);
    await begin('on this machine', '127.0.0.1', false);
    await begin('direct', '127.0.0.2', false);
    await begin('direct, https', '127.0.0.2', true);
    await begin('through a proxy', '127.0.0.1', false, 'agent.test');
    await begin('through a proxy, https', '127.0.0.1', true, 'agent.test');
    await new Promise((resolve) => setTimeout(resolve, IDLE));
  });
  after(async () => {
    await setting('proxy', undefined);
    await setting('noProxy', undefined);
    for (const done of undo.reverse()) await done();
    proxy?.close();
  });

  for (const what of ['on this machine', 'direct', 'direct, https', 'through a proxy', 'through a proxy, https']) {
    it(`${what}: an approval answered late is heard, and the call runs`, async () => {
      const { session, turnId, ask } = talks.get(what) as Conversation;
      session.answer(ask, option(ask, 'allow_once'));
      const turn = await session.ended(turnId);
      assert.deepEqual([turn.status, callsOf(turn)[0]?.status], ['done', 'done'], JSON.stringify(turn.error));
    });
  }

  it('the proxy was asked for the far ones only', () => {
    const hosts = new Set(proxy.asked.map((one) => /agent\.test|127\.0\.0\.\d/.exec(one)?.[0]));
    assert.deepEqual([...hosts], ['agent.test']);
    assert.ok(proxy.asked.some((one) => one.startsWith('POST http://agent.test')));
    assert.ok(proxy.asked.some((one) => one.startsWith('CONNECT agent.test')));
  });
});
