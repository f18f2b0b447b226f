import { newSession } from '../../../src/session/reduce.ts';
import { Store } from '../../../src/session/store.ts';

export const CALLS = 2_000;
const PER_TURN = 50;

/** A session of 2,000 finished tool calls, made event by event. */
export function longSession(): Store {
  const store = new Store(newSession('long', { protocol: 'bench', name: 'bench' }, '/project'));
  for (let at = 0; at < CALLS; at += 1) {
    const turnId = `turn${Math.floor(at / PER_TURN)}`;
    const callId = `call${at}`;
    if (at % PER_TURN === 0) store.apply({ type: 'turn.started', turnId, at, prompt: [{ type: 'text', text: `request ${at}` }] });
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
    for (const piece of ['{"path": ', `"src/file${at}.ts"`, '}']) store.apply({ type: 'call.inputDelta', turnId, callId, text: piece });
    store.apply({
      type: 'call.changed',
      turnId,
      callId,
      change: {
        status: 'done',
        output: [{ kind: 'content', content: { type: 'text', text } }],
        locations: [{ path: `/project/src/file${at}.ts` }],
      },
    });
    if (at % PER_TURN === PER_TURN - 1) store.apply({ type: 'turn.ended', turnId, at, status: 'done' });
  }
  return store;
}
