import { encodeChunk } from '../../../protocols/ai-sdk/codec.ts';
import type { Chunk } from '../../../protocols/ai-sdk/schema.ts';
import type { Outlet } from './outlet.ts';

/** The responses of one chat as they follow each other: what is written goes into the open one, or waits for the next. */
export class Responses {
  #stream: Stream | undefined;
  /** Written while no response was open. */
  #queue: string[] = [];
  #messageId = '';
  /** Set while no client listens. */
  #away: { readonly timer: NodeJS.Timeout; readonly isOver: (isLost: boolean) => void } | undefined;
  readonly #waiting: (() => void)[] = [];

  /** A response to a new message. */
  begin(outlet: Outlet, messageId: string): void {
    this.#queue = [];
    this.goOn(outlet, messageId);
  }

  /** A further response to the same message. */
  goOn(outlet: Outlet, messageId: string | null | undefined): void {
    this.#messageId = messageId ?? this.#messageId;
    this.#stream?.end();
    this.back();
    const stream = new Stream();
    this.#stream = stream;
    stream.attach(outlet);
    stream.write(encodeChunk({ type: 'start', messageId: this.#messageId }));
    for (const text of this.#queue.splice(0)) stream.write(text);
  }

  write(chunk: Chunk): void {
    const text = encodeChunk(chunk);
    if (this.#stream && !this.#stream.ended) this.#stream.write(text);
    else this.#queue.push(text);
  }

  /** The client has to act before anything more can happen; the turn goes on with the next response, however long that takes. */
  suspend(): void {
    this.write({ type: 'finish-step' });
    this.finish('tool-calls');
    this.back();
  }

  /** Keeps a response whose end reached no client for the client that comes back. */
  finish(finishReason: string): void {
    this.write({ type: 'finish', finishReason });
    const stream = this.#stream;
    const isHeard = stream?.isHeard;
    stream?.end();
    if (isHeard) this.#stream = undefined;
  }

  /** A client came back for the response it lost. False when there is none. */
  resume(outlet: () => Outlet): boolean {
    const stream = this.#stream;
    if (!stream?.isResumable) return false;
    this.back();
    if (stream.ended) this.#stream = undefined;
    stream.attach(outlet());
    return true;
  }

  /** A client has gone. Settles when somebody listens again, with false, or after `limit` milliseconds without anybody, with true. */
  async gone(outlet: Outlet, limit: number): Promise<boolean> {
    const stream = this.#stream;
    if (!stream?.detach(outlet) || stream.isHeard) return false;
    const isLost = await new Promise<boolean>((isOver) => {
      this.#away = { timer: setTimeout(() => isOver(true), limit), isOver };
    });
    if (isLost) this.#stream = undefined;
    return isLost;
  }

  /** A client listens, or none has to. */
  back(): void {
    if (this.#away) clearTimeout(this.#away.timer);
    this.#away?.isOver(false);
    this.#away = undefined;
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Settles when a client listens: new calls wait for it, running ones go on. */
  attended(): Promise<void> {
    return this.#away === undefined ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Beyond this a response is not kept to be sent again, in UTF-16 units. */
const KEPT = 16 * 1024 * 1024;

/** One response as it goes out: to the client that asked for it, and whole to one that comes back for it (docs/protocols/ai-sdk.md). */
class Stream {
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
