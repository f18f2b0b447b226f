import type { SessionEvent } from '../../session/events.ts';

type TextGrew = Extract<SessionEvent, { type: 'text.grew' }>;

/**
 * Passes events on in order, with the text that arrives in one go joined: an agent that floods costs one event for a read of its pipe, not one
 * for each piece. Nothing is held longer than the running task.
 */
export class Joined {
  readonly #emit: (event: SessionEvent) => void;
  #growth: TextGrew | undefined;
  #text = '';

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit;
  }

  emit(event: SessionEvent): void {
    const held = this.#growth;
    if (event.type === 'text.grew' && held && event.partId === held.partId && event.turnId === held.turnId) {
      this.#text += event.text;
      return;
    }
    this.flush();
    if (event.type !== 'text.grew') return this.#emit(event);
    this.#growth = event;
    this.#text = event.text;
    queueMicrotask(() => this.flush());
  }

  flush(): void {
    const held = this.#growth;
    if (!held) return;
    this.#growth = undefined;
    this.#emit({ ...held, text: this.#text });
  }
}
