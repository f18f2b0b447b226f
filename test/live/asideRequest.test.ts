import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { askAside, converseAside, noPorts } from '../../src/live/asideRequest.ts';
import type { Approval } from '../../src/session/model.ts';
import { scriptedProtocol } from './scriptedProtocol.ts';

/** A scripted agent that is asked for one text. */
async function asked() {
  const { protocol, last } = scriptedProtocol();
  const session = converseAside({ id: 'x', name: 'X', protocol: 'scripted', args: [], env: {}, headers: {} }, '/w', {
    protocol,
    launch: async () => ({ kind: 'process', command: 'x', args: [], env: {}, cwd: '/w' }),
    ports: noPorts,
    client: { name: 'test', version: '1' },
    log: silentLog,
    now: () => 1,
    newId: () => 'aside',
  });
  const stop = new AbortController();
  const answer = askAside(session, [{ type: 'text', text: 'Say it.' }], 't', stop.signal);
  await new Promise((resolve) => setImmediate(resolve));
  return { session, answer, stop, agent: last() };
}

const text = (partId: string, said: string) => ({ type: 'text.delta', turnId: 't', kind: 'text', partId, text: said }) as const;

test('the answer is the last text of the turn', async () => {
  const { answer, agent } = await asked();
  assert.deepEqual(agent.prompts(), [], 'nothing is sent before the agent is ready');
  agent.ready();
  assert.deepEqual(
    agent.prompts().map((one) => one.type === 'prompt' && one.content),
    [[{ type: 'text', text: 'Say it.' }]],
  );
  agent.say(text('a', 'I look first.'), {
    type: 'part.added',
    turnId: 't',
    part: { kind: 'notice', id: 'n', notice: { level: 'info', text: 'x' } },
  });
  agent.say(text('b', ' This. \n'));
  agent.endTurn();
  assert.deepEqual(await answer, { ok: true, text: 'This.' });
});

test('whatever it asks is refused, also where it offers no refusal', async () => {
  const { answer, agent } = await asked();
  agent.ready();
  const ask: Approval = {
    kind: 'approval',
    id: 'run',
    turnId: 't',
    title: 'Run it',
    detail: { type: 'command', command: 'rm -rf .' },
    options: [
      { id: 'yes', label: 'Yes', effect: 'allow_once' },
      { id: 'no', label: 'No', effect: 'reject_once' },
    ],
  };
  agent.say({ type: 'ask.opened', ask }, { type: 'ask.opened', ask: { ...ask, id: 'bare', options: ask.options.slice(0, 1) } });
  agent.say({ type: 'ask.opened', ask: { kind: 'question', id: 'which', turnId: 't', title: 'Which?', fields: [] } });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    agent.heard.flatMap((intent) => (intent.type === 'answer' ? [[intent.askId, intent.answer]] : [])),
    [
      ['run', { kind: 'option', optionId: 'no' }],
      ['bare', { kind: 'cancelled' }],
      ['which', { kind: 'cancelled' }],
    ],
  );
  agent.say(text('a', 'Done.'));
  agent.endTurn();
  assert.deepEqual(await answer, { ok: true, text: 'Done.' });
});

test('an agent that wants a sign-in, fails, ends or says nothing tells why', async () => {
  const signIn = await asked();
  signIn.agent.say({ type: 'ask.opened', ask: { kind: 'question', id: 'in', title: 'Sign in to X', fields: [] } });
  assert.deepEqual(await signIn.answer, { ok: false, reason: 'Sign in to X', next: ['signIn'] });

  const failing = await asked();
  failing.agent.ready();
  failing.agent.say(text('a', 'Half a'), {
    type: 'turn.ended',
    turnId: 't',
    at: 2,
    status: 'failed',
    error: { message: 'No credit', next: ['retry'] },
  });
  assert.deepEqual(await failing.answer, { ok: false, reason: 'No credit', next: ['retry'] });

  const gone = await asked();
  gone.agent.say({ type: 'link.closed', reason: 'no such option', next: ['showLog'], at: 1 });
  assert.deepEqual(await gone.answer, { ok: false, reason: 'no such option', next: ['showLog'] });

  const silent = await asked();
  silent.agent.ready();
  silent.agent.endTurn();
  assert.deepEqual(await silent.answer, { ok: false, reason: 'The agent does not answer.', next: ['showLog'] });
});

test('one that is stopped gives no answer, and its agent ends with the conversation', async () => {
  const { answer, agent, stop, session } = await asked();
  agent.ready();
  agent.say(text('a', 'Half a'));
  stop.abort();
  assert.equal(await answer, undefined);
  session.dispose();
  assert.equal(agent.disposed, 1);
});
