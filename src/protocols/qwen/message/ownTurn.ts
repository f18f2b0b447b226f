import type { Turns } from '../turns.ts';

/** Milliseconds. How long what the agent says after a turn's end may pause before it has said it all; how long it may take to stop then. */
const QUIET = 2_000;
const STOP_LIMIT = 2_000;

/**
 * Turns that the agent begins by itself. One that it announces ends with its `result` like any other (qwen.md §3.8). Words that come after a
 * `result` without an announcement have no end of their own: they are over when nothing follows.
 */
export class OwnTurn {
  readonly #turns: Turns;
  readonly #end: (status: 'done' | 'cancelled') => void;
  #announced = false;
  #own = false;
  #quiet: NodeJS.Timeout | undefined;
  #stop: NodeJS.Timeout | undefined;

  constructor(turns: Turns, end: (status: 'done' | 'cancelled') => void) {
    this.#turns = turns;
    this.#end = end;
  }

  /** A turn of the agent is about to begin. */
  announced(): void {
    this.#announced = true;
  }

  /** The agent speaks, and nobody asked it anything. */
  begins(): void {
    this.#own = true;
  }

  /** Something of it was said; `whole`: nothing has to follow. */
  heard(whole: boolean): void {
    clearTimeout(this.#quiet);
    if (this.#own && !this.#announced && whole) this.#quiet = setTimeout(() => this.#end('done'), QUIET);
  }

  /** A user's Stop has reached the agent: to one that thinks it has no turn there is nothing to end, so it says nothing more. */
  stopped(): void {
    const turn = this.#turns.running;
    if (!this.#own || !turn) return;
    this.#stop = setTimeout(() => this.#turns.running === turn && this.#end('cancelled'), STOP_LIMIT);
  }

  /** The turn is over. */
  over(): void {
    clearTimeout(this.#quiet);
    clearTimeout(this.#stop);
    this.#announced = false;
    this.#own = false;
  }
}
