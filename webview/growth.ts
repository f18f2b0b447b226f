import type { SessionEvent } from '../src/session/events.ts';

/**
 * Tracks text added since the last draw. A growing text is a chain of pieces inside the engine: comparing or cutting it copies all of it, in every
 * frame.
 */
export class Growth {
  readonly #pieces = new Map<string, string[]>();

  /** Records the events of a patch, or undefined when everything may be new. */
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

  /** Returns the text added to the part since the last call; undefined when that is not known. */
  of(turnId: string, partId: string): string | undefined {
    const key = `${turnId}/${partId}`;
    const pieces = this.#pieces.get(key);
    this.#pieces.delete(key);
    return pieces?.join('');
  }
}
