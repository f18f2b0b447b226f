import type { Answer } from '../../session/intents.ts';
import type { LinkEvents } from '../../transport/link.ts';
import type { LinkQuestion } from './state.ts';

const CANCELLED: Answer = { kind: 'cancelled' };

/**
 * Requests `ask` of a link to the machine, which shows the questions and holds them in its state. Here is only what waits for their answers: each
 * promise settles once, as cancelled when the link closes.
 */
export class LinkQuestions {
  readonly #events: LinkEvents;
  readonly #pending = new Map<string, (answer: Answer) => void>();
  #count = 0;
  #isClosed = false;

  constructor(events: LinkEvents) {
    this.#events = events;
  }

  /** Settles as cancelled when the signal fires, which withdraws the question. */
  ask(question: LinkQuestion, signal?: AbortSignal): Promise<Answer> {
    if (this.#isClosed || signal?.aborted) return Promise.resolve(CANCELLED);
    this.#count += 1;
    const id = `question ${this.#count}`;
    return new Promise((resolve) => {
      const withdraw = () => {
        settle(CANCELLED);
        this.#events.withdrawn(id);
      };
      const settle = (answer: Answer) => {
        this.#pending.delete(id);
        signal?.removeEventListener('abort', withdraw);
        resolve(answer);
      };
      this.#pending.set(id, settle);
      signal?.addEventListener('abort', withdraw, { once: true });
      this.#events.asked(id, 'ask', question);
    });
  }

  /** `result`: the user's answer, as the machine gives it; a request that was refused has none. */
  answer(id: string, result: unknown): void {
    this.#pending.get(id)?.((result ?? CANCELLED) as Answer);
  }

  close(): void {
    this.#isClosed = true;
    for (const settle of [...this.#pending.values()]) settle(CANCELLED);
  }
}
