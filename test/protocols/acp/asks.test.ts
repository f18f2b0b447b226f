import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VisibleProgram } from '../../../src/protocols/ports.ts';
import { Refuse, SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

// The browser's address, secret storage, the login terminal and `signOut` are the adapter's; the steps between them are in cases/forms.txt and
// cases/signIn.txt.

test('60: a user name that looks like a host does not hide where a link leads', async (t) => {
  const made = await scene(t);
  const { driven, finish } = await inTurn(made, { ports: { openLink: async () => true } });
  const url = `https://google.com${'%20'.repeat(1500)}@evil.example/login`;
  const answered = made.agent.ask('elicitation/create', { mode: 'url', sessionId: SESSION, elicitationId: 'e', message: 'Sign in', url });
  const { asks } = await driven.until('an ask', (session) => session.asks.length === 1);
  const [ask] = asks;
  assert.ok(ask?.kind === 'approval' && ask.detail.type === 'text');
  assert.match(ask.detail.text, /^Host: evil\.example\n.*misleading.*\nhttps:\/\/google/);
  driven.live.send({ type: 'answer', askId: ask.id, answer: { kind: 'cancelled' } });
  await answered;
  await finish();
});

const wantsAuth = new Refuse(-32000, 'Authentication required');

test('signing in in a terminal: the named command, or the configured one with arguments behind it', async (t) => {
  const { agent, start, cwd } = await scene(t);
  const ran: VisibleProgram[] = [];
  const runVisibly = async (program: VisibleProgram) => {
    ran.push(program);
    return { code: 0, signal: null };
  };
  agent.is({
    authMethods: [
      {
        id: 'named',
        name: 'Named',
        _meta: { 'terminal-auth': { label: 'Log in', command: '/bin/agent', args: ['login'], env: { A: '1' } } },
      },
      { id: 'own', name: 'Own', type: 'terminal', args: ['--login'] },
    ],
  });
  for (const method of ['named', 'own']) {
    const before = agent.starts.length;
    agent.handlers['session/new'] = () => (agent.starts.length - before > 1 ? { sessionId: SESSION } : wantsAuth);
    const driven = start({ ports: { runVisibly } });
    driven.onAsk(() => ({ kind: 'option', optionId: method }));
    await driven.ready();
  }
  assert.deepEqual(ran[0], { title: 'Log in', command: '/bin/agent', args: ['login'], env: { A: '1' }, cwd });
  assert.equal(ran[1]?.command, process.execPath);
  assert.equal(ran[1]?.args.at(-1), '--login');
  assert.ok(!agent.received.some((frame) => frame.method === 'authenticate'));
});

for (const version of [1, 2] as const)
  test(`version ${version}: signing out is offered where the agent says so; afterwards a prompt leads to signing in again`, async (t) => {
    const { agent, start } = await scene(t);
    agent.version = version;
    const [login, logout] = version === 1 ? ['authenticate', 'logout'] : ['auth/login', 'auth/logout'];
    agent.is(
      version === 1
        ? { agentCapabilities: { auth: { logout: {} } }, authMethods: [{ id: 'oauth', name: 'Log in' }] }
        : {
            protocolVersion: 2,
            info: { name: 'f' },
            capabilities: {},
            authMethods: [{ type: 'agent', methodId: 'oauth', name: 'Log in' }],
          },
    );
    let signedIn = true;
    const becomes = (now: boolean) => () => {
      signedIn = now;
      return {};
    };
    agent.handlers[logout] = becomes(false);
    agent.handlers[login] = becomes(true);
    const taken = version === 1 ? { stopReason: 'end_turn' } : { messageId: 'u1' };
    agent.handlers['session/prompt'] = () => (signedIn ? taken : wantsAuth);
    const driven = start(version === 2 ? { version: '2' } : {});
    const { link } = await driven.ready();
    assert.ok(link.state === 'ready' && link.offers.signOut);
    await driven.live.signOut();
    assert.deepEqual((await agent.got(logout)).params, {});
    const asked: string[] = [];
    driven.onAsk((ask) => {
      asked.push(ask.title);
      return { kind: 'option', optionId: 'oauth' };
    });
    const turnId = driven.begin('hi');
    await agent.got(login);
    await agent.got('session/prompt');
    await agent.got('session/prompt');
    if (version === 2) for (const state of ['running', 'idle']) agent.update({ sessionUpdate: 'state_update', state });
    assert.equal((await driven.ended(turnId)).status, 'done');
    assert.equal(asked.length, 1);
  });

test('signing out is not offered where the agent cannot do it', async (t) => {
  const { start } = await scene(t);
  const driven = start();
  const { link } = await driven.ready();
  assert.ok(link.state === 'ready' && !link.offers.signOut);
  await assert.rejects(driven.live.signOut(), /cannot do this/);
});

test('a key that was entered is kept, and in no trace; signing out forgets it, and the next prompt asks for another', async (t) => {
  const { agent, start } = await scene(t);
  const kept = new Map<string, string>();
  const secrets = {
    get: async (name: string) => kept.get(name),
    set: async (name: string, value: string | undefined) => void (value === undefined ? kept.delete(name) : kept.set(name, value)),
  };
  const link = 'https://keys.example/new';
  agent.is({
    agentCapabilities: { sessionCapabilities: { resume: {} } },
    authMethods: [{ id: 'key', name: 'API key', type: 'env_var', link, vars: [{ name: 'FAKE_STDERR', label: 'Key' }] }],
  });
  let keyed = false;
  agent.handlers['session/new'] = () => (agent.starts.length > 1 ? { sessionId: SESSION } : wantsAuth);
  agent.handlers['session/resume'] = () => (keyed ? {} : wantsAuth);
  agent.handlers['session/prompt'] = () => (keyed ? { stopReason: 'end_turn' } : wantsAuth);
  const driven = start({ ports: { secrets } });
  const bodies: (string | undefined)[] = [];
  let key = 's3cret';
  driven.onAsk((ask) => {
    if (ask.kind === 'approval') return { kind: 'option', optionId: 'key' };
    bodies.push(ask.fields[0]?.body);
    keyed = true;
    return { kind: 'fields', values: { FAKE_STDERR: [key] } };
  });
  const ready = await driven.ready();
  assert.ok(ready.link.state === 'ready' && ready.link.offers.signOut);
  assert.equal((await driven.prompt('one')).status, 'done');
  assert.deepEqual([...kept.values()], ['s3cret']);
  assert.ok(!JSON.stringify([driven.frames, driven.events, driven.logged]).includes('s3cret'), 'it is in no trace, event or log');
  const before = agent.starts.length;
  await start({ ports: { secrets } }).ready();
  assert.equal(agent.starts.length, before + 2, 'a later window starts the agent with it again');
  const starts = agent.starts.length;
  keyed = false;
  key = 'second';
  await driven.live.signOut();
  assert.deepEqual([...kept.values()], []);
  assert.equal(agent.starts.length, starts + 1, 'what runs knows the key no more');
  const { link: after } = driven.now();
  assert.ok(after.state === 'ready' && !after.offers.signOut);
  assert.equal((await driven.prompt('two')).status, 'done');
  assert.deepEqual([...kept.values()], ['second']);
  assert.deepEqual(
    bodies,
    Array.from({ length: 2 }, () => `FAKE_STDERR\n\n${link}`),
  );
  assert.equal((await driven.prompt('three')).status, 'done');
  await driven.live.signOut();
  assert.deepEqual([...kept.values()], []);
});
