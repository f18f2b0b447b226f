import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { later, Refuse } from '../../fakes/acp.ts';
import { scene } from './scene.ts';

// Promises of the adapter beside the conversation: lists, copies, deletions. The machine takes no part in them, so they are no transcripts.

test('the record of conversations: pages, other folders left out; deleting one that is gone; a copy', async (t) => {
  const { agent, start, cwd } = await scene(t);
  agent.is({ agentCapabilities: { sessionCapabilities: { list: {}, delete: {}, fork: true } } });
  agent.handlers['session/list'] = ({ cursor }) =>
    cursor
      ? { sessions: [{ sessionId: 's2', cwd: `${cwd}/`, title: null }] }
      : {
          sessions: [
            { sessionId: 's1', cwd, title: 'One', updatedAt: '2026-01-02T03:04:05Z' },
            { sessionId: 'x', cwd: '/elsewhere' },
          ],
          nextCursor: 'p2',
        };
  agent.handlers['session/delete'] = () => new Refuse(-32002, 'Resource not found');
  agent.handlers['session/fork'] = () => ({ sessionId: 'copy' });
  const driven = start();
  const { link } = await driven.ready();
  assert.ok(link.state === 'ready' && link.offers.history && link.offers.forget && link.offers.fork);
  assert.deepEqual(await driven.live.history(), [
    { key: 's1', title: 'One', at: Date.UTC(2026, 0, 2, 3, 4, 5) },
    { key: 's2', title: 's2' },
  ]);
  await driven.live.forget('s1');
  assert.equal(await driven.live.fork(), 'copy');
});

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
  await assert.rejects(copied, /Stopped/);
});
