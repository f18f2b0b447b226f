import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '../../../src/conversation/machine.ts';
import { a2aMachine } from '../../../src/protocols/a2a/machine.ts';
import { newA2a, TIMING } from '../../../src/protocols/a2a/state.ts';
import type { Session } from '../../../src/session/model.ts';
import { fakeAgent, over, status, task, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

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

/** Tries to subscribe again under a clock of the test's own, each of them for so long. Gives how often it was tried. */
function tries(lasting: number, stands: boolean): number {
  const timing = { ...TIMING, retries: Array.from({ length: 20 }, () => 0), giveUp: 60_000 };
  const state = newA2a('i', { cwd: '/w', resumeKey: '', starts: false, timing }, []);
  let now = 0;
  let count = 0;
  let link = '';
  const feed = (input: Input) => {
    for (const effect of a2aMachine(state, input, now)) if (effect.do === 'open') link = effect.link;
  };
  const peer = { name: '', endpoint: '', wire: '0.3', streaming: true, push: false, commandContext: false, dialect: 'rfc' } as const;
  feed({ on: 'start' });
  const agent = {
    peer: { ...peer, remarks: [], schemes: {}, security: [] },
    commands: null,
    notices: [],
    push: false,
    harmless: [],
    folder: null,
  };
  feed({ on: 'reply', call: 'connect', result: agent });
  feed({ on: 'intent', intent: { type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] } });
  feed({ on: 'message', link, method: 'record', params: task('working') });
  feed({ on: 'closed', link, why: { reason: 'It broke.', failure: 'cut' } });
  while (Object.keys(state.asks).length === 0) {
    feed({ on: 'timer', timer: 'retry' });
    count += 1;
    if (stands) feed({ on: 'message', link, method: 'opened', params: null });
    now += lasting;
    feed({ on: 'closed', link, why: { reason: 'It broke.', failure: 'cut' } });
  }
  return count;
}

test('an agent that cannot be reached is tried for so long, however many tries are left', () => {
  assert.equal(tries(25_000, false), 3);
});

test('the time a subscription stood is none without one', () => {
  assert.equal(tries(25_000, true), 20);
});
