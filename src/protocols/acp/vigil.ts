import { t } from '../../base/l10n.ts';
import type { Disposable } from '../../base/lifetime.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { TurnId } from '../../session/model.ts';

/** Some agents retry for minutes without a word (acp.md §2): after this long it is said that nothing is heard. Milliseconds. */
const SILENCE = 30_000;
const STEP = 5000;
/** How long stopping may take before a way out is offered. */
const STOPPING = 10_000;

/** Watches a turn for silence, and its stopping for taking too long. */
export class Vigil implements Disposable {
  readonly #emit: (event: SessionEvent) => void;
  /** When something was last heard; undefined while it is not the agent's turn to speak. */
  readonly #heardAt: () => number | undefined;
  #silence: NodeJS.Timeout | undefined;
  #stopping: NodeJS.Timeout | undefined;

  constructor(emit: (event: SessionEvent) => void, heardAt: () => number | undefined) {
    this.#emit = emit;
    this.#heardAt = heardAt;
  }

  begin(turnId: TurnId): Disposable {
    this.dispose();
    let said = false;
    this.#silence = setInterval(() => {
      const heardAt = this.#heardAt();
      const silent = heardAt === undefined ? 0 : performance.now() - heardAt;
      if (silent < SILENCE && !said) return;
      const text = silent < SILENCE ? null : t('Nothing heard from the agent for {0} s', Math.floor(silent / 1000));
      said = text !== null;
      this.#emit({ type: 'turn.activity', turnId, text });
    }, STEP);
    return this;
  }

  stopping(turnId: TurnId): void {
    clearTimeout(this.#stopping);
    this.#stopping = setTimeout(() => {
      const text = t('The agent has not stopped yet. Restarting it stops it; the conversation goes on from here.');
      this.#emit({ type: 'notice', notice: { level: 'warn', text, next: ['restart'], turnId } });
    }, STOPPING);
  }

  dispose(): void {
    clearInterval(this.#silence);
    clearTimeout(this.#stopping);
  }
}
