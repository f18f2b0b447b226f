import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { asks, call, data, fakeAgent, type Json, over, task } from '../../fakes/a2a.ts';
import { option, type Talk, talk } from './talk.ts';

const told = { tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', input_parameters: { keptAs_is: 1 }, ...asks };
const waits = task('input-required', {
  status: { state: 'input-required', message: { kind: 'message', role: 'agent', messageId: 'q', parts: [data(told)] } },
});
/** Sooner than any wait here is over, and later than an answer on a busy machine. */
const SOON = { ping: 20, verify: 600 };
const HASTY = { ping: 10, verify: 50 };

/** An agent that asks once and does what it is told. Decisions go through `door` first, which gives true where it kept one for itself. */
async function asking(
  t: Parameters<typeof fakeAgent>[0],
  door: (at: number, response: Parameters<NonNullable<Parameters<typeof fakeAgent>[1]['before']>>[1]) => boolean,
) {
  const heard: unknown[] = [];
  let at = 0;
  const agent = await fakeAgent(t, {
    before: (_, response, body) => body.includes('selected_option_id') && door(at++, response),
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': ({ params }, reply) => {
        const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
        if (part?.data) heard.push(part.data.selected_option_id);
        const said = [task('submitted'), call('PENDING', asks), over('input-required')];
        const done = [call(heard[0] === 'cancel' ? 'CANCELLED' : 'SUCCEEDED'), over()];
        for (const one of part?.data ? done : said) reply.record(one);
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(waits),
      'tasks/cancel': (_, reply) => reply.json(task('canceled')),
    },
  });
  return { ...agent, heard, posted: () => at };
}

async function allow(session: Talk) {
  await session.opened();
  const turnId = session.begin('go');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  return { turnId, ask };
}

const held = (session: Talk) =>
  session.until('word of what it waits for', (now) => /has not been sent yet/.test(now.turns[0]?.activity ?? ''));
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const notices = (session: Talk) => session.now().turns[0]?.parts.flatMap((part) => (part.kind === 'notice' ? part.notice.text : [])) ?? [];

for (const status of [503, 429]) {
  test(`${status}: a decision that waits for a busy server is not asked about again; what it waits for is told, and it goes out once`, async (t) => {
    const agent = await asking(t, (at, response) => at === 0 && Boolean(response.writeHead(status, { 'retry-after': '1' }).end('busy')));
    const session = talk(t, agent.url, { timing: SOON });
    const { turnId } = await allow(session);
    const { turns } = await held(session);
    assert.match(turns[0]?.activity ?? '', /busy and asks to wait 1 s/);
    const turn = await session.ended(turnId);
    assert.deepEqual([turn.status, callsOf(turn)[0]?.status, agent.heard], ['done', 'done', ['proceed_once']]);
    assert.deepEqual([notices(session), agent.requests('tasks/get').length], [[], 0]);
  });

  test(`${status}: Stop while an allowed call waits for a busy server: it is never sent`, async (t) => {
    const agent = await asking(t, (at, response) => at === 0 && Boolean(response.writeHead(status, { 'retry-after': '1' }).end('busy')));
    const session = talk(t, agent.url, { timing: { ...SOON, cancelWithin: 5000 } });
    const { turnId } = await allow(session);
    await held(session);
    session.live.send({ type: 'cancel' });
    assert.equal((await session.ended(turnId)).status, 'cancelled');
    await after(1300);
    assert.deepEqual([agent.heard, agent.posted()], [[], 1]);
  });
}

test('a decision that waits for a busy server is said to wait, and nothing else', async (t) => {
  const agent = await asking(t, (at, response) => at === 0 && Boolean(response.writeHead(503, { 'retry-after': '2' }).end('busy')));
  const session = talk(t, agent.url, { timing: SOON });
  const { turnId } = await allow(session);
  await held(session);
  const said: string[] = [];
  const listener = session.live.store.onChange(() => said.push(session.now().turns[0]?.activity ?? ''));
  t.after(() => listener.dispose());
  await after(1000);
  assert.deepEqual(
    said.filter((one) => !/has not been sent yet/.test(one)),
    [],
  );
  session.live.send({ type: 'cancel' });
  await session.ended(turnId);
});

test('401: a decision that waits for credentials is not asked about again, and goes out once with them', async (t) => {
  const agent = await asking(t, (at, response) => at === 0 && Boolean(response.writeHead(401).end('who?')));
  const session = talk(t, agent.url, { timing: SOON });
  const { turnId } = await allow(session);
  await held(session);
  await after(900);
  const [question, ...more] = session.now().asks;
  assert.ok(question?.kind === 'question' && more.length === 0, 'only the credentials are asked for');
  session.answer(question, { kind: 'fields', values: { secret: ['s3'] } });
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, agent.heard, notices(session)], ['done', ['proceed_once'], []]);
});

test('401: Stop while an allowed call waits for credentials: the question goes, and it is never sent', async (t) => {
  const agent = await asking(t, (at, response) => at === 0 && Boolean(response.writeHead(401).end('who?')));
  const session = talk(t, agent.url, { timing: { ...SOON, cancelWithin: 5000 } });
  const { turnId } = await allow(session);
  const { asks: open } = await held(session);
  session.live.send({ type: 'cancel' });
  assert.equal((await session.ended(turnId)).status, 'cancelled');
  assert.deepEqual(session.now().asks, []);
  const [question] = open;
  if (question) session.answer(question, { kind: 'fields', values: { secret: ['s3'] } });
  await after(100);
  assert.deepEqual([agent.heard, agent.posted()], [[], 1]);
});

for (const status of [503, 429, 401])
  test(`a decision without an answer is asked about again and told; the old one is let go of before a ${status} could send it once more`, async (t) => {
    let refuse = () => {};
    const closed: number[] = [];
    const agent = await asking(t, (at, response) => {
      if (at > 0) return false;
      response.once('close', () => closed.push(at));
      refuse = () => void response.writeHead(status, { 'retry-after': '0' }).end('busy');
      return true;
    });
    const session = talk(t, agent.url, { timing: HASTY });
    const { turnId, ask } = await allow(session);
    const { asks: open } = await session.until('the question once more', (now) => now.asks.some((one) => one.id !== ask.id));
    assert.match(notices(session).join(), /did not reach the agent\. Your previous answer was sent/);
    refuse();
    await after(200);
    assert.deepEqual([agent.heard, session.now().asks], [[], open], 'nothing goes out, and nothing else is asked');
    const [again] = open;
    assert.ok(again?.kind === 'approval');
    session.answer(again, option(again, 'reject_once'));
    const turn = await session.ended(turnId);
    await after(100);
    assert.deepEqual([agent.heard, closed], [['cancel'], [0]]);
    assert.deepEqual([turn.status, callsOf(turn)[0]?.status], ['done', 'rejected']);
  });
