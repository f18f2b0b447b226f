import { appendFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod/mini';
import type { SessionEvent } from '../session/events.ts';
import { newSession, reduce } from '../session/reduce.ts';

/* A recording: what the session told and what it was sent, one JSON object a line. It is played without an agent. */

const line = z.union([
  z.object({ event: z.looseObject({ type: z.string() }) }),
  z.object({ intent: z.looseObject({ type: z.string() }) }),
  // The protocol inspector puts the messages between the events.
  z.object({ message: z.looseObject({}) }),
]);

/** Writes a line. */
export type Recording = (value: object) => void;

/** Writes each line at once, so that a run that is killed leaves what it has seen. Throws when the file cannot be written. */
export function openRecording(file: string): Recording {
  writeFileSync(file, '', { mode: 0o600 });
  return (value) => appendFileSync(file, `${JSON.stringify(value)}\n`);
}

/** Shows a recording as its run was shown. Gives the exit code that run had for its turns. */
export function replay(text: string, print: (value: unknown) => void): number {
  let session = newSession('replay', { protocol: 'replay', name: 'replay' }, '/');
  for (const [at, one] of text.split('\n').entries()) {
    if (one.trim() === '') continue;
    const read = line.safeParse(JSON.parse(one));
    if (!read.success) throw new Error(`line ${at + 1} of the recording is none`);
    if (!('event' in read.data)) continue;
    print(read.data);
    session = reduce(session, read.data.event as unknown as SessionEvent);
  }
  print({ session });
  return session.turns.every((turn) => turn.status === 'done' || turn.status === 'cancelled') ? 0 : 1;
}
