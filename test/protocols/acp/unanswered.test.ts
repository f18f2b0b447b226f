import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { later } from '../../fakes/acp.ts';
import { scene } from './scene.ts';

const LIMIT = 30_000;

/** Lets the time pass in which an agent has to answer. */
async function passes<T>(t: TestContext, begin: () => Promise<T>): Promise<T> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const begun = await begin();
    t.mock.timers.tick(LIMIT);
    return begun;
  } finally {
    t.mock.timers.reset();
  }
}

test('requests beside the turns that the agent never answers end in words, and are given up', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  agent.is({ agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, fork: {}, delete: {} } } });
  for (const method of ['session/list', 'session/fork', 'session/delete']) agent.handlers[method] = () => later;
  const driven = made.start();
  await driven.ready();
  const asks: readonly (readonly [string, (signal?: AbortSignal) => Promise<unknown>])[] = [
    ['session/list', (signal) => driven.live.history(signal)],
    ['session/fork', (signal) => driven.live.fork(signal)],
    ['session/delete', (signal) => driven.live.forget('old', signal)],
  ];
  for (const [method, run] of asks) {
    let asked: Promise<unknown> = Promise.resolve();
    await passes(t, async () => {
      asked = run();
      asked.catch(() => undefined);
      await agent.got(method);
    });
    await assert.rejects(asked, /did not answer within 30 s/, method);
    await agent.got('$/cancel_request');
  }
  const stop = new AbortController();
  const copied = driven.live.fork(stop.signal);
  stop.abort();
  await assert.rejects(copied, /Cancelled/);
});

test('a setting the agent never takes goes back to what stands, and that is said', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const modes = {
    currentModeId: 'ask',
    availableModes: [
      { id: 'ask', name: 'Ask' },
      { id: 'yolo', name: 'Yolo' },
    ],
  };
  agent.handlers['session/new'] = () => ({ sessionId: 's', modes });
  agent.handlers['session/set_mode'] = () => later;
  const driven = made.start();
  await driven.ready();
  await passes(t, async () => {
    driven.live.send({ type: 'setMode', modeId: 'yolo' });
    await agent.got('session/set_mode');
  });
  const now = await driven.until('words', (session) => session.notices.some((one) => /did not answer within 30 s/.test(one.text)));
  assert.equal(now.mode?.current, 'ask');
});
