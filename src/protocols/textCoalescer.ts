import type { SessionEvent } from '../session/events.ts';

type Grew = Extract<SessionEvent, { type: 'text.delta' }>;

/**
 * Text that arrives in one go grows its part once: pieces of one part that are read together are joined, and told before anything else is, at
 * the latest when what was read has been dealt with. All that comes behind works once a bunch instead of once a piece.
 */
export class TextCoalescer {
  readonly #emit: (event: SessionEvent) => void;
  #held: { -readonly [K in keyof Grew]: Grew[K] } | undefined;
  readonly #flush = () => this.flush();

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit;
  }

  emit(event: SessionEvent): void {
    if (event.type === 'text.delta') return this.grow(event);
    if (this.#held) this.flush();
    this.#emit(event);
  }

  grow(event: Grew): void {
    const held = this.#held;
    if (held && held.partId === event.partId && held.turnId === event.turnId && held.kind === event.kind) {
      held.text += event.text;
      return;
    }
    if (held) this.flush();
    else queueMicrotask(this.#flush);
    this.#held = { ...event };
  }

  flush(): void {
    const held = this.#held;
    if (!held) return;
    this.#held = undefined;
    this.#emit(held);
  }
}
