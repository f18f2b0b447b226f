import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Turns } from './turns.ts';

/** Milliseconds (qwen.md §4.7). */
const STOP_LIMIT = 5_000;

/** A user's Stop: the agent is asked once a turn, and it is said when it does not obey. A second Stop never comes here: it ends the agent. */
export class Stopping {
  readonly #turns: Turns;
  readonly #emit: (event: SessionEvent) => void;
  #late: NodeJS.Timeout | undefined;

  constructor(turns: Turns, emit: (event: SessionEvent) => void) {
    this.#turns = turns;
    this.#emit = emit;
  }

  /** True when the agent is to be asked now. */
  press(): boolean {
    const turn = this.#turns.running;
    if (!turn || turn.stopping) return false;
    turn.stopping = true;
    this.#late = setTimeout(() => {
      const text = t('The agent does not stop. Stop again to start it anew.');
      this.#emit({ type: 'notice', notice: { level: 'warn', text, next: ['restart'], turnId: turn.id } });
    }, STOP_LIMIT);
    return true;
  }

  /** The turn is over, or another one begins. */
  over(): void {
    clearTimeout(this.#late);
    this.#late = undefined;
  }
}
