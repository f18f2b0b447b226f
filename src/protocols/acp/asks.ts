import { t } from '../../base/l10n.ts';
import { MOST_ASKS, tooManyAsked } from '../../session/askLimit.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Ask } from '../../session/model.ts';

interface Open {
  /** What is wrong with an answer that does not fit, then the ask stays open. */
  settle(answer: Answer): string | undefined;
  cancel(): void;
}

export interface Wanted<T> {
  /** What to show; it may have to look things up first. */
  readonly ask: (id: string) => Ask | Promise<Ask>;
  /** What the agent is told; undefined when the answer does not fit, then the ask stays open. */
  readonly reply: (answer: Answer) => T | undefined;
  /** What is wrong with an answer that does not fit, for the user. */
  readonly misfit?: (answer: Answer) => string | undefined;
  readonly cancelled: T;
}

/** Everything this agent waits for a user for. Each is answered exactly once: by the user, or "cancelled" when its time is over. */
export class OpenAsks {
  readonly #emit: (event: SessionEvent) => void;
  readonly #newId: () => string;
  readonly #open = new Map<string, Open>();
  #closed = false;
  #saidFull = false;

  constructor(emit: (event: SessionEvent) => void, newId: () => string) {
    this.#emit = emit;
    this.#newId = newId;
  }

  get size(): number {
    return this.#open.size;
  }

  /** True when nothing more can be asked; the user is told once. */
  get full(): boolean {
    if (this.#open.size < MOST_ASKS) return false;
    if (!this.#saidFull) this.#emit(tooManyAsked());
    this.#saidFull = true;
    return true;
  }

  /** Settles with the reply; never rejects for want of an answer. The signal withdraws it. */
  async ask<T>(wanted: Wanted<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed || signal?.aborted || this.full) return wanted.cancelled;
    const id = this.#newId();
    let settled = false;
    let shown = false;
    const reply = new Promise<T>((resolve) => {
      const close = (value: T, how: 'answered' | 'cancelled') => {
        settled = true;
        this.#open.delete(id);
        if (this.#open.size === 0) this.#saidFull = false;
        signal?.removeEventListener('abort', withdraw);
        if (shown) this.#emit({ type: 'ask.closed', askId: id, how });
        resolve(value);
      };
      const withdraw = () => close(wanted.cancelled, 'cancelled');
      this.#open.set(id, {
        settle: (answer) => {
          const value = answer.kind === 'cancelled' ? wanted.cancelled : wanted.reply(answer);
          if (value === undefined) return wanted.misfit?.(answer) ?? t('This answer does not fit what was asked.');
          close(value, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
          return undefined;
        },
        cancel: withdraw,
      });
      signal?.addEventListener('abort', withdraw);
    });
    try {
      const ask = await wanted.ask(id);
      if (!settled) {
        shown = true;
        this.#emit({ type: 'ask.opened', ask });
      }
    } catch {
      this.#open.get(id)?.cancel();
    }
    return reply;
  }

  /** A late or doubled answer is dropped. What is wrong with one that does not fit; the ask stays open then. */
  answer(id: string, answer: Answer): string | undefined {
    return this.#open.get(id)?.settle(answer);
  }

  cancelAll(): void {
    for (const open of [...this.#open.values()]) open.cancel();
  }

  /** The other side is gone: nothing may be asked any more. */
  close(): void {
    this.#closed = true;
    this.cancelAll();
  }
}
