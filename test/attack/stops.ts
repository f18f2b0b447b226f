import { appendFileSync } from 'node:fs';

/**
 * One turn of the event loop in milliseconds: by the clock or in processor time, whichever is less. The clock counts what else runs on the machine,
 * processor time counts the helper threads of the garbage collector.
 */
export interface Stop {
  readonly ms: number;
  readonly what: string;
}

/** Where `npm run attack` gathers the longest stop of each process. */
const FILE = process.env.PARLEY_ATTACK_STOPS;
let longest: Stop = { ms: 0, what: '' };

export function noteStop(stop: Stop): void {
  if (stop.ms > longest.ms) longest = stop;
}

if (FILE !== undefined) process.once('exit', () => appendFileSync(FILE, `${JSON.stringify(longest)}\n`));

/** Runs something and notes the longest turn of the event loop meanwhile; resolves with its milliseconds. */
export async function longestStop(what: string, run: () => Promise<unknown>): Promise<number> {
  let most = 0;
  let isOver = false;
  let before = process.cpuUsage();
  let began = performance.now();
  const beat = () => {
    const { user, system } = process.cpuUsage(before);
    most = Math.max(most, Math.min((user + system) / 1000, performance.now() - began));
    before = process.cpuUsage();
    began = performance.now();
    if (!isOver) setImmediate(beat);
  };
  setImmediate(beat);
  try {
    await run();
  } finally {
    isOver = true;
  }
  noteStop({ ms: most, what });
  return most;
}
