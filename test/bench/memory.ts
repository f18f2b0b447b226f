/** What a session of 2,000 tool calls weighs in the host: the growth of the heap beside the same session as JSON. */

import { newSession } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';

const CALLS = 2_000;
const PER_TURN = 50;

const collect = (globalThis as { gc?: () => void }).gc;
if (!collect) throw new Error('run this with --expose-gc');
const heap = (): number => {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
};

const before = heap();
const store = new Store(newSession('bench', { protocol: 'bench', name: 'bench' }, '/work'));
for (let at = 0; at < CALLS; at += 1) {
  const turnId = `turn${Math.floor(at / PER_TURN)}`;
  const callId = `call${at}`;
  if (at % PER_TURN === 0) store.apply({ type: 'turn.began', turnId, at, prompt: [{ type: 'text', text: `request ${at}` }] });
  const text = `${`line ${at} of a file, as an agent reads it\n`.repeat(12)}`;
  store.apply({
    type: 'part.added',
    turnId,
    part: {
      kind: 'call',
      id: callId,
      call: {
        id: callId,
        name: 'Read',
        title: `Read src/file${at}.ts`,
        kind: 'read',
        status: 'running',
        inputText: '',
        output: [],
        locations: [],
      },
    },
  });
  for (const piece of ['{"path": ', `"src/file${at}.ts"`, '}']) store.apply({ type: 'call.inputGrew', turnId, callId, text: piece });
  store.apply({
    type: 'call.changed',
    turnId,
    callId,
    change: {
      status: 'done',
      output: [{ kind: 'content', content: { type: 'text', text } }],
      locations: [{ path: `/work/src/file${at}.ts` }],
    },
  });
  if (at % PER_TURN === PER_TURN - 1) store.apply({ type: 'turn.ended', turnId, at, status: 'done' });
}
const grown = (heap() - before) / 1e6;
const json = JSON.stringify(store.now).length / 1e6;
console.log(
  `a session of ${CALLS.toLocaleString('en')} tool calls: ${grown.toFixed(1)} MB of heap in the host; as JSON ${json.toFixed(1)} MB; ratio ${(grown / json).toFixed(2)}`,
);
