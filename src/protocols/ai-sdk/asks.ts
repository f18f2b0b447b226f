import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Ask, AskId } from '../../session/model.ts';

/** The questions one turn has put to the user. Each is settled once: answered, or taken back. */
export class Asks {
  readonly #emit: (event: SessionEvent) => void;
  readonly #open = new Map<AskId, (answer: Answer | undefined) => void>();

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Settles with the answer, or with undefined when the signal fires first. */
  ask(ask: Ask, signal: AbortSignal): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const withdrawn = () => settle(undefined);
      const settle = (answer: Answer | undefined) => {
        if (!this.#open.delete(ask.id)) return;
        signal.removeEventListener('abort', withdrawn);
        const how = answer === undefined ? 'withdrawn' : answer.kind === 'cancelled' ? 'cancelled' : 'answered';
        this.#emit({ type: 'ask.closed', askId: ask.id, how });
        resolve(answer);
      };
      this.#open.set(ask.id, settle);
      if (signal.aborted) return settle(undefined);
      signal.addEventListener('abort', withdrawn, { once: true });
      this.#emit({ type: 'ask.opened', ask });
    });
  }

  answer(id: AskId, answer: Answer): void {
    this.#open.get(id)?.(answer);
  }
}
