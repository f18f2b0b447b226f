import { type ChildProcess, fork } from 'node:child_process';
import type { Took } from './stopwatch.ts';

/** One of the programs that are compared. `G`: what the bench gives it to work on; it crosses processes as JSON. */
export type Sides<G> = Readonly<Record<string, (given: G) => Promise<Took>>>;
/** Rounds that are not counted: an editor's process has long been warm when an agent floods it. */
const WARM_UP = 4;

/** In a process that `inTurns` started: runs its side as often as it is asked. False in the bench itself. */
export function isSide<G>(sides: Sides<G>): boolean {
  const side = sides[process.argv[2] ?? ''];
  if (!side) return false;
  process.on('message', (given: G) => {
    side(given).then(
      (took) => process.send?.(took),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  return true;
}

/**
 * Runs each side in a process of its own, as users do: none leaves garbage, shapes of objects or compiled code to another. They take turns, so
 * that what else the machine does falls on all.
 */
export async function inTurns<G>(sides: Sides<G>, given: G, rounds: number): Promise<(name: string) => readonly Took[]> {
  const running = Object.keys(sides).map((name) => ({ name, child: fork(process.argv[1] ?? '', [name]), took: [] as Took[] }));
  for (let round = 0; round < WARM_UP + rounds; round += 1) {
    for (const { child, took } of running) {
      const one = await answer(child, given);
      if (round >= WARM_UP) took.push(one);
    }
  }
  for (const { child } of running) child.kill();
  return (wanted) => running.find(({ name }) => name === wanted)?.took ?? [];
}

function answer<G>(child: ChildProcess, given: G): Promise<Took> {
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error('one side gave no figures'));
    child.once('exit', failed);
    child.once('message', (took) => {
      child.off('exit', failed);
      resolve(took as Took);
    });
    child.send(given as object);
  });
}
