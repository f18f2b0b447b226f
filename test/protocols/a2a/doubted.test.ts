import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval } from '../../../src/session/model.ts';
import { asks, call, data, type FakeAgent, fakeAgent, type Json, over, type Reply, type Script, task } from '../../fakes/a2a.ts';
import { option, type Talk, talk } from './talk.ts';

const HASTY = { ping: 10, doubt: 50 };
/** Later than an answer on a busy machine. */
const SLOW = { ping: 20, doubt: 1000 };
const edits = (id: string): Json => ({ tool_call_id: id, ...asks });
const pending = (...ids: readonly string[]): Json => ({
  role: 'agent',
  messageId: 'q',
  kind: 'message',
  parts: ids.map((id) => data({ status: 'PENDING', tool_name: 'write_file', input_parameters: { keptAs_is: 1 }, ...edits(id) })),
});
const rests = (...ids: readonly string[]) => task('input-required', { status: { state: 'input-required', message: pending(...ids) } });

/** An agent that says this to the prompt; decisions are answered by `decided`, by the id of the call. */
async function asking(
  t: Parameters<typeof fakeAgent>[0],
  first: readonly Json[],
  decided: Readonly<Record<string, (reply: Reply) => void>>,
  more: { now: Json; before?: NonNullable<Script['before']> },
) {
  let prompt: Reply | undefined;
  const agent = await fakeAgent(t, {
    ...(more.before ? { before: more.before } : {}),
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': ({ params }, reply) => {
        const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
        if (part?.data) return decided[String(part.data.tool_call_id)]?.(reply);
        prompt = reply;
        for (const one of first) reply.record(one);
      },
      'tasks/get': (_, reply) => reply.json(more.now),
      'tasks/resubscribe': (_, reply) => reply.error(-32004, 'There is no such thing here'),
      'tasks/cancel': (_, reply) => reply.json(task('canceled')),
    },
  });
  return { ...agent, endPrompt: () => prompt?.end() };
}

/** True once the method was asked for so often, false when that does not happen for long. */
async function seen(agent: Pick<FakeAgent, 'requests'>, method: string, times: number): Promise<boolean> {
  const until = Date.now() + 8000;
  while (agent.requests(method).length < times && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
  return agent.requests(method).length >= times;
}

/** Longer than whatever the client was about to do. */
async function later(agent: Pick<FakeAgent, 'url'>): Promise<void> {
  for (let at = 0; at < 30; at += 1) await fetch(`${agent.url}/.well-known/agent-card.json`).then((card) => card.text());
}

const both = (session: Talk) =>
  session.until('both questions', ({ asks: open }) => open.length === 2).then(({ asks: open }) => open as Approval[]);
const allow = (session: Talk, ask: Approval | undefined) => ask && session.answer(ask, option(ask, 'allow_once'));
const finish = (id: string) => (reply: Reply) => {
  reply.record(call('SUCCEEDED', { tool_call_id: id }));
  reply.record(over());
  reply.end();
};

test('a decision behind a command that runs is not doubted: the agent may take one at a time', async (t) => {
  let runs: Reply | undefined;
  let waits: Reply | undefined;
  const shell: Json = {
    tool_name: 'shell',
    confirmation_request: {
      options: asks.confirmation_request && (asks.confirmation_request as Json).options,
      execute_details: { command: 'sleep' },
    },
  };
  const agent = await asking(
    t,
    [task('submitted'), call('PENDING', shell), call('PENDING', edits('k2')), over('input-required')],
    {
      k1: (reply) => {
        runs = reply;
        reply.record(call('EXECUTING', { tool_name: 'shell' }));
      },
      k2: (reply) => {
        waits = reply;
        reply.raw(': hm\n\n');
      },
    },
    { now: rests('k2') },
  );
  const session = talk(t, agent.url, { timing: SLOW });
  await session.opened();
  const turnId = session.begin('go');
  const [first, second] = await both(session);
  allow(session, first);
  await session.until('a running command', ({ turns }) => JSON.stringify(turns[0]?.parts).includes('"running"'));
  allow(session, second);
  await agent.until('message/stream', 3);
  await new Promise((resolve) => setTimeout(resolve, 1400));
  assert.deepEqual([agent.requests('tasks/get').length, session.now().asks], [0, []]);
  runs?.record(call('SUCCEEDED', { tool_name: 'shell' }));
  runs?.end();
  if (waits) finish('k2')(waits);
  assert.equal((await session.ended(turnId)).status, 'done');
});

test('one decision waits for a busy server, another stays without an answer: only that one is asked about again', async (t) => {
  let at = 0;
  const agent = await asking(
    t,
    [task('submitted'), call('PENDING', edits('k1')), call('PENDING', edits('k2')), over('input-required')],
    { k2: (reply) => reply.raw(': hm\n\n') },
    {
      now: rests('k1', 'k2'),
      before: (_, response, body) =>
        body.includes('selected_option_id') && at++ === 0 && Boolean(response.writeHead(503, { 'retry-after': '30' }).end('busy')),
    },
  );
  const session = talk(t, agent.url, { timing: SLOW });
  await session.opened();
  const turnId = session.begin('go');
  const [first, second] = await both(session);
  allow(session, first);
  await session.until('word of what it waits for', (now) => /has not been sent yet/.test(now.turns[0]?.activity ?? ''));
  allow(session, second);
  const { asks: open, turns } = await session.until('a question', ({ asks: [ask] }) => ask !== undefined && ask.id !== second?.id);
  assert.deepEqual(
    open.map((ask) => ask.kind === 'approval' && ask.callId),
    [second?.callId],
  );
  assert.match(turns[0]?.activity ?? '', /has not been sent yet/);
  session.live.send({ type: 'cancel' });
  await session.ended(turnId);
});

test('silence after a decision while the task is at work: nothing is asked again, and the stream of the decision goes on being the one to wait for', async (t) => {
  let silent: Reply | undefined;
  const agent = await asking(
    t,
    [task('submitted'), call('PENDING', edits('k1'))],
    {
      k1: (reply) => {
        silent = reply;
        reply.raw(': hm\n\n');
      },
    },
    { now: task('working', { status: { state: 'working', message: pending('k1') } }) },
  );
  const session = talk(t, agent.url, { timing: HASTY });
  await session.opened();
  const turnId = session.begin('go');
  allow(session, await session.approval());
  assert.ok(await seen(agent, 'tasks/get', 2), 'it is looked at now and then');
  assert.deepEqual(session.now().asks, []);
  agent.endPrompt();
  await later(agent);
  assert.equal(agent.requests('tasks/resubscribe').length, 0, 'no line was lost');
  if (silent) finish('k1')(silent);
  assert.equal((await session.ended(turnId)).status, 'done');
});

for (const [how, rest] of [
  ['the stream of the prompt is still open', []],
  ['another question is open', [call('PENDING', edits('k2')), over('input-required')]],
] as const)
  test(`a decision that is cut off while ${how}: the task is looked at and the user asked again; no line was lost`, async (t) => {
    const agent = await asking(
      t,
      [task('submitted'), call('PENDING', edits('k1')), ...rest],
      { k1: (reply) => reply.cut() },
      { now: rest.length > 0 ? rests('k1', 'k2') : rests('k1') },
    );
    const session = talk(t, agent.url, { timing: { retries: [0, 600_000] } });
    await session.opened();
    const turnId = session.begin('go');
    if (rest.length > 0) {
      agent.endPrompt();
      await both(session);
    }
    const first = await session.approval();
    allow(session, first);
    await session.until('the question once more', ({ asks: open }) =>
      open.some(({ callId, id }) => callId === first.callId && id !== first.id),
    );
    assert.equal(agent.requests('tasks/resubscribe').length, 0);
    session.live.send({ type: 'cancel' });
    await session.ended(turnId);
  });

for (const [how, followed] of [
  ['refused', false],
  ['cut off', true],
] as const)
  test(`a decision that was ${how} is asked about again; that it may have been read is said only where nobody knows`, async (t) => {
    const agent = await asking(
      t,
      [task('submitted'), call('PENDING', edits('k1')), over('input-required')],
      { k1: (reply) => (followed ? reply.cut() : void reply.response.writeHead(403).end('No.')) },
      { now: rests('k1') },
    );
    const session = talk(t, agent.url);
    await session.opened();
    const turnId = session.begin('go');
    const first = await session.approval();
    agent.endPrompt();
    allow(session, first);
    const { turns } = await session.until('the question once more', ({ asks: [ask] }) => ask !== undefined && ask.id !== first.id);
    const told = turns[0]?.parts.map((part) => (part.kind === 'notice' ? part.notice.text : '')).join() ?? '';
    assert.match(told, followed ? /did not reach the agent/ : /did not reach the agent/);
    assert.equal(/may still take effect/.test(told), followed);
    session.live.send({ type: 'cancel' });
    await session.ended(turnId);
  });

test('a stream that was given up is not waited for: when the next one breaks, the task is taken up', async (t) => {
  let at = 0;
  const facts = { now: rests('k1') };
  const agent = await asking(
    t,
    [task('submitted'), call('PENDING', edits('k1')), over('input-required')],
    {
      k1: (reply) => {
        at += 1;
        if (at === 1) return reply.raw(': hm\n\n');
        facts.now = task('completed');
        reply.record(call('EXECUTING'));
        // What is cut at once may never be read.
        void session
          .until('the call at work', ({ turns }) => JSON.stringify(turns[0]?.parts).includes('"running"'))
          .then(() => reply.cut());
      },
    },
    facts,
  );
  const session = talk(t, agent.url, { timing: SLOW });
  await session.opened();
  const turnId = session.begin('go');
  const first = await session.approval();
  agent.endPrompt();
  allow(session, first);
  const { asks: open } = await session.until('the question once more', ({ asks: [ask] }) => ask !== undefined && ask.id !== first.id);
  allow(session, open[0] as Approval);
  assert.equal((await session.ended(turnId)).status, 'done');
  assert.equal(agent.requests('tasks/resubscribe').length, 1);
});
