import { say } from '../../base/say.ts';
import type { TalkSetup } from './talk.ts';
import type { Turns } from './turns.ts';

/** Milliseconds (qwen.md §4.7). */
const STOP_LIMIT = 5_000;
/** A second Stop this long after the first one means it. */
const SECOND_STOP = 1_000;

/** A person's Stop: the first of a turn asks the agent; one more, later than a double click, ends the process and starts it anew. */
export class Stopping {
  readonly #turns: Turns;
  readonly #giveUp: TalkSetup['giveUp'];
  #asked: { again: boolean; readonly timers: readonly NodeJS.Timeout[] } | undefined;

  constructor(turns: Turns, giveUp: TalkSetup['giveUp']) {
    this.#turns = turns;
    this.#giveUp = giveUp;
  }

  /** True when the agent is to be asked now. */
  press(): boolean {
    const turn = this.#turns.running;
    if (!turn) return false;
    if (this.#asked) {
      if (this.#asked.again) this.#giveUp(say('The agent did not stop and was ended.'), { again: true });
      return false;
    }
    turn.stopping = true;
    const late = () => this.#turns.activity(say('The agent does not stop. Stop again to start it anew.'));
    const asked = { again: false, timers: [setTimeout(() => (asked.again = true), SECOND_STOP), setTimeout(late, STOP_LIMIT)] };
    this.#asked = asked;
    return true;
  }

  /** The turn is over, or another one begins. */
  over(): void {
    for (const timer of this.#asked?.timers ?? []) clearTimeout(timer);
    this.#asked = undefined;
  }
}
