import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { JournalHead, JournalWriter } from '../../src/live/journal/writer.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';

export const head = (id: string, cwd = '/w'): JournalHead => ({ id, profile: 'p', agent: { protocol: 'x', name: 'A' }, cwd, at: 1 });
export const fresh = (id: string): Session => newSession(id, head(id).agent, head(id).cwd);

/** What a short turn consists of; its answer is `answerOf` the number. */
export function turnEvents(turn: number): readonly SessionEvent[] {
  const turnId = `t${turn}`;
  const delta = (text: string): SessionEvent => ({ type: 'text.delta', turnId, kind: 'text', partId: `p${turn}`, text });
  return [
    { type: 'turn.started', turnId, at: turn, prompt: [{ type: 'text', text: `question ${turn}` }] },
    ...answerOf(turn)
      .split(/(?<= )/)
      .map(delta),
    { type: 'turn.ended', turnId, at: turn, status: 'done' },
  ];
}

export function answerOf(turn: number): string {
  return `the answer to ${turn} is "中😀" \\ and \u001e not \n more`;
}

/** The turns that are there with question, answer and end. */
export function wholeTurns(session: Session | undefined): readonly string[] {
  return (session?.turns ?? [])
    .filter((turn) => {
      const number = Number(turn.id.slice(1));
      const [question] = turn.prompt;
      const [answer] = turn.parts;
      return (
        turn.status === 'done' &&
        question?.type === 'text' &&
        question.text === `question ${number}` &&
        answer?.kind === 'text' &&
        answer.text === answerOf(number)
      );
    })
    .map((turn) => turn.id);
}

/** Records events as a live session does; the state after them comes back. */
export function record(writer: JournalWriter, from: Session, events: readonly SessionEvent[]): Session {
  let session = from;
  for (const event of events) {
    session = reduce(session, event);
    writer.record(event, session);
  }
  return session;
}

export function inFolder(run: (folder: string, journal: Journal) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'journal-'));
    try {
      await run(folder, new Journal(folder, silentLog));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

/** The bytes of a session's file, as a journal of these turns makes them. */
export function bytesOf(id: string, turns: number): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'journal-'));
  try {
    const writer = new Journal(folder, silentLog).create(head(id));
    record(writer, fresh(id), Array.from({ length: turns }, (_, turn) => turnEvents(turn)).flat());
    writer.dispose();
    return readFileSync(path.join(folder, readdirSync(folder).find((name) => name.endsWith('.journal')) ?? ''));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
