import type { Outlet } from './outlet.ts';

/** Beyond this a response is not kept to be sent again, in UTF-16 units. */
const KEPT = 16 * 1024 * 1024;

/** One response as it goes out: to the client that asked for it, and whole to one that comes back for it (docs/protocols/ai-sdk.md). */
export class Stream {
  readonly #outlets = new Set<Outlet>();
  #said: string[] | undefined = [];
  #size = 0;
  #ended = false;

  get isResumable(): boolean {
    return this.#said !== undefined;
  }

  get isHeard(): boolean {
    return this.#outlets.size > 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  attach(outlet: Outlet): void {
    for (const text of this.#said ?? []) outlet.write(text);
    if (this.#ended) outlet.end();
    else this.#outlets.add(outlet);
  }

  /** False when it was not listening. */
  detach(outlet: Outlet): boolean {
    return this.#outlets.delete(outlet);
  }

  /** One chunk as JSON. */
  write(text: string): void {
    this.#size += text.length;
    if (this.#size > KEPT) this.#said = undefined;
    this.#said?.push(text);
    for (const outlet of this.#outlets) outlet.write(text);
  }

  end(): void {
    this.#ended = true;
    for (const outlet of this.#outlets) outlet.end();
  }
}
