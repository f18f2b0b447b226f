import type { Session, ToolCall, Turn } from '../../../src/session/model.ts';
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

/** A session of 1,000 turns, each a question, an edit and an answer in markdown. */
export function manyTurns(): Session {
  const { now } = new Store(newSession('many', { protocol: 'bench', name: 'bench' }, '/project'));
  const turns = Array.from({ length: 1_000 }, (_, at): Turn => {
    const call: ToolCall = {
      id: `call${at}`,
      name: 'Edit',
      title: `Edit src/file${at}.ts`,
      kind: 'edit',
      status: 'done',
      inputText: '',
      output: [{ kind: 'diff', diff: { path: `/project/src/file${at}.ts`, before: 'let a = 1;\n', after: 'const a = 1;\n' } }],
      locations: [],
    };
    const text = `## Step ${at}\n\nIt is **done**: see \`src/file${at}.ts\`.\n\n- one\n- two\n\n\`\`\`ts\nconst a = ${at};\n\`\`\`\n`;
    return {
      id: `turn${at}`,
      startedAt: at,
      endedAt: at + 1,
      prompt: [{ type: 'text', text: `request ${at}` }],
      parts: [
        { kind: 'call', id: call.id, call },
        { kind: 'text', id: `text${at}`, text },
      ],
      status: 'done',
    };
  });
  return { ...now, turns };
}
