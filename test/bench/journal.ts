/** What the journal costs: per event, per turn, on the disk, and when a long history is opened. */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { JournalWriter } from '../../src/live/journal/writer.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { longestStop } from '../attack/stops.ts';

const HISTORY = 100e6;
const DELTAS = 200;
const folder = mkdtempSync(path.join(tmpdir(), 'journal-bench-'));
const journal = new Journal(folder, silentLog);
const agent = { protocol: 'x', name: 'A' };
const file = (id: string) => path.join(folder, `${id}.journal`);

/** An answer in pieces, a call with an edit, an end: 200 deltas of 40 characters, 8 kB of diff. */
function turnEvents(turn: number): readonly SessionEvent[] {
  const turnId = `t${turn}`;
  const call = {
    id: `c${turn}`,
    name: 'Edit',
    title: 'Edit a.ts',
    kind: 'edit',
    status: 'running',
    inputText: '',
    output: [],
    locations: [],
  } as const;
  const diff = { path: '/w/a.ts', before: 'a line of the file\n'.repeat(200), after: 'a line of another file\n'.repeat(200) };
  const delta = (text: string): SessionEvent => ({ type: 'text.delta', turnId, kind: 'text', partId: `p${turn}`, text });
  return [
    { type: 'turn.started', turnId, at: turn, prompt: [{ type: 'text', text: 'Please change the file.' }] },
    ...Array.from({ length: DELTAS }, () => delta('forty characters of an answer, or nearly')),
    { type: 'part.added', turnId, part: { kind: 'call', id: call.id, call } },
    { type: 'call.changed', turnId, callId: call.id, change: { status: 'done', output: [{ kind: 'diff', diff }] } },
    { type: 'turn.ended', turnId, at: turn, status: 'done' },
  ];
}

function record(writer: JournalWriter, from: Session, events: readonly SessionEvent[], pieces: number): Session {
  let session = from;
  for (const [at, event] of events.entries()) {
    session = reduce(session, event);
    writer.record(event, session);
    // As the quarter seconds of a turn cut it.
    if (at % pieces === 0) writer.flush();
  }
  return session;
}

const create = (id: string) => journal.create({ id, profile: 'p', agent, cwd: '/w', at: 1 });
const rounds = 500;
const writer = create('cost');
let session = newSession('cost', agent, '/w');
const bare = newSession('bare', agent, '/w');
const events = Array.from({ length: rounds }, (_, turn) => turnEvents(turn)).flat();
let began = performance.now();
events.reduce(reduce, bare);
const reducing = performance.now() - began;
began = performance.now();
session = record(writer, session, events, 20);
writer.dispose();
const both = performance.now() - began;
console.log(`recording: ${(((both - reducing) * 1000) / events.length).toFixed(1)} µs an event beside the reducer, ten writes a turn`);
console.log(
  `on disk: ${(statSync(file('cost')).size / rounds / 1000).toFixed(1)} kB a turn; as JSON of the session ${(JSON.stringify(session).length / rounds / 1000).toFixed(1)} kB`,
);

const long = create('long');
let history = newSession('long', agent, '/w');
for (let turn = 0; turn === 0 || turn % 100 !== 0 || statSync(file('long')).size < HISTORY; turn += 1)
  history = record(long, history, turnEvents(turn), 20);
long.dispose();
began = performance.now();
const stop = await longestStop('opening', async () => {
  const opened = await journal.open('long');
  if (opened.kind !== 'opened') throw new Error(opened.kind);
  console.log(
    `opening ${(statSync(file('long')).size / 1e6).toFixed(0)} MB (${opened.session.turns.length} turns): ${(performance.now() - began).toFixed(0)} ms`,
  );
  began = performance.now();
  await opened.writer.compact(true);
  console.log(`compacting it: ${(performance.now() - began).toFixed(0)} ms, ${(statSync(file('long')).size / 1e6).toFixed(0)} MB left`);
  opened.writer.dispose();
});
console.log(`longest stop meanwhile: ${stop.toFixed(0)} ms`);
began = performance.now();
await journal.list();
console.log(`listing: ${(performance.now() - began).toFixed(1)} ms for two conversations`);
rmSync(folder, { recursive: true });
