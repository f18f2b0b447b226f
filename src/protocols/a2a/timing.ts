import type { AdapterContext } from '../adapter.ts';
import type { Memory } from './memory.ts';
import type { Limits } from './rpc.ts';

export interface TurnScene {
  readonly scene: AdapterContext;
  readonly memory: Memory;
  readonly timing: Timing;
}
/** Milliseconds. */
export interface Timing extends Limits {
  /** Between signs of life on the turn connection while an approval waits. */
  readonly ping: number;
  /** Of silence until the user is told that the agent is waited for. */
  readonly silence: number;
  /** That an agent has to end a stream after it was told to stop, and to say that it was. */
  readonly patience: number;
  /** That a stream may stay open after it said that the agent waits, and did not say for what. */
  readonly lastWords: number;
  /** Without a record after a decision until the agent is asked whether it still waits for it. */
  readonly doubt: number;
  /** That a stream has to say what a notification said, before it is taken for dead. */
  readonly news: number;
  /** That growing words may wait until it is noted down which were shown. */
  readonly keep: number;
  /** Before the tries to take up a lost stream. */
  readonly retries: readonly number[];
  /** All in all for them, while no subscription stands (a2a.md §11). */
  readonly giveUp: number;
}
export const TIMING: Timing = {
  ping: 2000,
  silence: 10_000,
  patience: 5000,
  lastWords: 1000,
  answer: 15_000,
  card: 60_000,
  doubt: 15_000,
  news: 3000,
  keep: 1000,
  retries: [0, 500, 1000, 2000, 4000, 8000, 15_000, 15_000],
  giveUp: 60_000,
};
