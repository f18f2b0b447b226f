import * as z from 'zod/mini';
import { parseJson } from '../base/json.ts';
import { eventOf } from '../live/journal/schema.ts';
import { newSession, reduce } from '../session/reduce.ts';

const line = z.union([
  z.object({ event: z.unknown() }),
  z.object({ intent: z.looseObject({ type: z.string() }) }),
  z.object({ exit: z.number() }),
  // The protocol inspector puts the messages between the events.
  z.object({ message: z.looseObject({}) }),
]);

/**
 * Shows a recording as its run was shown, and gives the exit code of that run; one that was made by the inspector has none and gives the code of its
 * turns. A recording that is cut off, of a run that was killed or in a file that lost its end, is shown as far as it goes and gives 1. Throws for a
 * line that belongs to no recording.
 */
export function replay(text: string, print: (value: unknown) => void, warn: (text: string) => void): number {
  const lines = text.split('\n');
  if (text.trim() === '') throw new Error('the recording is empty');
  let session = newSession('replay', { protocol: 'replay', name: 'replay' }, '/');
  let exit: number | undefined;
  let [isRun, isCut] = [false, false];
  for (const [at, one] of lines.entries()) {
    if (one.trim() === '') continue;
    const read = line.safeParse(jsonOf(one));
    const event = read.success && 'event' in read.data ? eventOf(read.data.event) : undefined;
    if (!read.success || ('event' in read.data && !event)) {
      // The last line ends without a line end only where the run was killed.
      isCut = at > 0 && at === lines.length - 1;
      if (isCut) break;
      throw new Error(`line ${at + 1} of the recording is none`);
    }
    // The inspector saves neither.
    if ('intent' in read.data || event?.type.startsWith('link.')) isRun = true;
    if ('exit' in read.data) exit = read.data.exit;
    if (!event) continue;
    print({ event });
    session = reduce(session, event);
  }
  print({ session });
  // The headless host writes the exit code last.
  if (isCut || (exit === undefined && isRun)) {
    warn(`The recording is cut off: ${isCut ? `line ${lines.length} is not whole` : 'the exit code of its run is missing'}`);
    return 1;
  }
  return exit ?? (session.turns.every((turn) => turn.status === 'done' || turn.status === 'cancelled') ? 0 : 1);
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
