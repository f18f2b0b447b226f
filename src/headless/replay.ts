import * as z from 'zod/mini';
import { parseJson } from '../base/json.ts';
import { eventOf } from '../live/journal/schema.ts';
import { newSession, reduce } from '../session/reduce.ts';

const line = z.union([
  z.object({ event: z.unknown() }),
  z.object({ intent: z.looseObject({ type: z.string() }) }),
  // The protocol inspector puts the messages between the events.
  z.object({ message: z.looseObject({}) }),
]);

/** Shows a recording as its run was shown. Gives the exit code that run had for its turns. Throws for a line that belongs to no recording. */
export function replay(text: string, print: (value: unknown) => void): number {
  let session = newSession('replay', { protocol: 'replay', name: 'replay' }, '/');
  for (const [at, one] of text.split('\n').entries()) {
    if (one.trim() === '') continue;
    const read = line.safeParse(parseJson(one));
    const event = read.success && 'event' in read.data ? eventOf(read.data.event) : undefined;
    if (!read.success || ('event' in read.data && !event)) throw new Error(`line ${at + 1} of the recording is none`);
    if (!event) continue;
    print({ event });
    session = reduce(session, event);
  }
  print({ session });
  return session.turns.every((turn) => turn.status === 'done' || turn.status === 'cancelled') ? 0 : 1;
}
