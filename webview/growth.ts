import type { SessionEvent } from '../src/session/events.ts';

/**
 * What has been added to texts since they were last drawn. A growing text is a chain of pieces inside the engine: comparing or cutting it copies
 * all of it, which every frame would pay for again.
 */
export class Growth {
  readonly #pieces = new Map<string, string[]>();

  /** Events of a patch, or undefined when everything may be new. */
  take(events: readonly SessionEvent[] | undefined): void {
    if (!events) return this.#pieces.clear();
    for (const event of events) {
      if (event.type === 'text.delta') {
        const key = `${event.turnId}/${event.partId}`;
        const pieces = this.#pieces.get(key);
        if (pieces) pieces.push(event.text);
        else this.#pieces.set(key, [event.text]);
      } else if (event.type === 'text.set') this.#pieces.delete(`${event.turnId}/${event.partId}`);
      else if (event.type === 'turn.ended') this.#pieces.clear();
    }
  }

  /** What was added to the part since this was asked last; undefined when that is not known. */
  of(turnId: string, partId: string): string | undefined {
    const key = `${turnId}/${partId}`;
    const pieces = this.#pieces.get(key);
    this.#pieces.delete(key);
    return pieces?.join('');
  }
}
