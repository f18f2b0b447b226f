import { appendFileSync, closeSync, openSync, readSync } from 'node:fs';

/**
 * One turn of the event loop in milliseconds: by the clock or in processor time of its thread, whichever is less. The clock counts what else runs on
 * the machine. Where the system tells no processor time of a thread, that of the process stands for it, with the helpers of the garbage collector.
 */
export interface Stop {
  readonly ms: number;
  readonly what: string;
}

/** Where `npm run attack` gathers the longest stops of each process, a line of JSON for each. */
const FILE = process.env.PARLEY_ATTACK_STOPS;
/** How many it prints. */
export const LONGEST_STOPS = 10;
let longest: readonly Stop[] = [];

export function noteStop(stop: Stop): void {
  longest = [...longest, stop].sort((a, b) => b.ms - a.ms).slice(0, LONGEST_STOPS);
}

if (FILE !== undefined) process.once('exit', () => appendFileSync(FILE, longest.map((stop) => `${JSON.stringify(stop)}\n`).join('')));

/** Runs something and notes the longest turn of the event loop meanwhile; resolves with its milliseconds. */
export async function longestStop(what: string, run: () => Promise<unknown>): Promise<number> {
  const processor = processorTime();
  let most = 0;
  let isOver = false;
  let before = processor.now();
  let began = performance.now();
  const beat = () => {
    if (isOver) return;
    const now = processor.now();
    most = Math.max(most, Math.min(now - before, performance.now() - began));
    before = now;
    began = performance.now();
    setImmediate(beat);
  };
  setImmediate(beat);
  try {
    await run();
  } finally {
    // The turn that ended it counts as well.
    most = Math.max(most, Math.min(processor.now() - before, performance.now() - began));
    isOver = true;
    processor.close();
  }
  noteStop({ ms: most, what });
  return most;
}

/** Milliseconds of processor time of this thread, or of its process. */
export function processorTime(): { readonly now: () => number; readonly close: () => void } {
  if (process.platform !== 'linux') {
    const now = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    };
    return { now, close: () => {} };
  }
  const file = openSync('/proc/thread-self/schedstat', 'r');
  const bytes = Buffer.alloc(64);
  const now = () => Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)).split(' ')[0]) / 1e6;
  return { now, close: () => closeSync(file) };
}
