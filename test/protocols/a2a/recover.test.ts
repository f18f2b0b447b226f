import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackOff } from '../../../src/protocols/a2a/backOff.ts';
import type { Memory } from '../../../src/protocols/a2a/memory.ts';
import { resubscribe } from '../../../src/protocols/a2a/recover.ts';
import type { AdapterContext } from '../../../src/protocols/adapter.ts';
import type { Session } from '../../../src/session/model.ts';
import { fakeAgent, over, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

/** Tries to subscribe under a clock of the test's own; every try ends with an error, and is counted. */
async function tried(many: number, oneTry: (opened: () => void, pass: (ms: number) => void) => void): Promise<readonly [string, number]> {
  let now = 0;
  let tries = 0;
  const pass = (ms: number) => {
    now += ms;
  };
  const rpc = {
    call: async () => task('working'),
    stream: async (_: string, __: object, ___: unknown, { opened }: { opened: () => void }) => {
      tries += 1;
      oneTry(opened, pass);
      throw new Error('It broke.');
    },
  };
  const end = await resubscribe({
    scene: { now: () => now, signal: new AbortController().signal, log: { info: () => {} } } as unknown as AdapterContext,
    memory: { task: { id: 't1' }, rpc } as unknown as Memory,
    timing: { retries: Array.from({ length: many }, () => 0), giveUp: 60_000, answer: 1000 },
    signal: new AbortController().signal,
    backOff: new BackOff(),
    hear: (open) => open(() => {}, new AbortController().signal).catch((error: unknown) => error),
    stands: () => {},
    caughtUp: () => {},
    resting: () => false,
    progress: () => 0,
  });
  return [end, tries];
}

test('an agent that cannot be reached is tried for so long, however many tries are left', async () => {
  assert.deepEqual(await tried(20, (_, pass) => pass(25_000)), ['lost', 3]);
});

test('the time a subscription stood is none without one', async () => {
  const stood = await tried(20, (opened, pass) => {
    opened();
    pass(25_000);
  });
  assert.deepEqual(stood, ['lost', 20]);
});

test('an agent that goes on with every subscription, however often it breaks, is subscribed to again', async (t) => {
  const words = ['One ', 'two ', 'three ', 'four ', 'five.'];
  const says = (at: number) => status('working', 'TEXT_CONTENT', [text(words[at] ?? '')], { messageId: `w${at}` });
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('working'));
        // What is cut at once may never be read.
        void session.until('the task', ({ resumeKey }) => resumeKey?.includes('t1') === true).then(() => reply.cut());
      },
      'tasks/get': (_, reply) => reply.json(task('working')),
      'tasks/resubscribe': (_, reply, at) => {
        reply.record(task('working'));
        reply.record(says(at));
        const said = ({ turns: [turn] }: Session) => turn !== undefined && textOf(turn).includes(words[at] ?? '');
        if (at < words.length - 1) return void session.until('the words', said).then(() => reply.cut());
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url, { timing: { retries: [0, 0] } });
  const asked: string[] = [];
  session.live.store.onChange(() => asked.push(...session.now().asks.map(({ title }) => title)));
  const turn = await session.prompt('count');
  assert.deepEqual([turn.status, textOf(turn), asked], ['done', words.join(''), []]);
});
