import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Tool, ToolAnswer } from '../../../src/protocols/ports.ts';
import { called, finish, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk } from './talk.ts';

const MINUTE = 60_000;
const route: Route = (reply, _, n) =>
  n === 1
    ? reply.all(start('m'), step, called('c', 'slow', { path: 'x' }), stepEnd, finish('tool-calls'))
    : reply.all(start('m'), step, ...said('ok'), stepEnd, finish('stop'));

/** A tool that answers when the test says so, under a clock that the test moves. */
async function slow(t: TestContext, confirm?: Tool['confirm']) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let begun: () => void = () => {};
  const running = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let finishNow: (answer: ToolAnswer) => void = () => {};
  let stopped = false;
  const tool = echoTool('slow', (_, signal) => {
    signal.addEventListener('abort', () => {
      stopped = true;
    });
    begun();
    return new Promise((resolve) => {
      finishNow = resolve;
    });
  });
  const talking = await talk(t, { tools: [confirm ? { ...tool, confirm } : tool], routes: { '/api/chat': route } });
  return { ...talking, running, isStopped: () => stopped, finish: (text: string) => finishNow({ ok: true, text }) };
}

const postedPart = (server: Awaited<ReturnType<typeof slow>>['server']) => server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1);

test('a tool that takes longer than 60 s is stopped, and the model hears so', async (t) => {
  const { server, say, ended, running, isStopped } = await slow(t);
  const id = say('go');
  await running;
  t.mock.timers.tick(MINUTE - 1);
  assert.equal(isStopped(), false);
  t.mock.timers.tick(1);
  const turn = await ended(id);
  assert.deepEqual([isStopped(), turn.status, call(turn, 'c').status], [true, 'done', 'failed']);
  assert.deepEqual([postedPart(server)?.state, /longer than 60 s/.test(String(postedPart(server)?.errorText))], ['output-error', true]);
});

test('no limit while a user is asked', async (t) => {
  const {
    server,
    say,
    asked,
    answer,
    ended,
    now,
    running,
    finish: done,
  } = await slow(t, () => ({
    title: 'Sure?',
    kind: 'other',
    detail: { type: 'text', text: '' },
  }));
  const id = say('go');
  const ask = await asked();
  t.mock.timers.tick(60 * MINUTE);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(now().asks.length, 1);
  answer(ask, 'allow');
  await running;
  done('late');
  assert.equal((await ended(id)).status, 'done');
  assert.equal(postedPart(server)?.output, 'late');
});

test('what is no answer at all is an error result', async (t) => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  for (const nonsense of [undefined, null, circular, { ok: true, text: circular }, { ok: true, text: 10n }, { ok: true }]) {
    const tool = echoTool('slow', async () => nonsense as unknown as ToolAnswer);
    const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': route } });
    const turn = await prompt();
    const part = server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1);
    assert.deepEqual([turn.status, call(turn, 'c').status, part?.state], ['done', 'failed', 'output-error']);
    assert.equal(typeof part?.errorText, 'string');
  }
});
