import { MOST_VALUES, parseJson } from '../base/json.ts';
import type { LinkAnswer } from '../base/outcomes.ts';
import type { Channel } from './channel.ts';
import { type Link, LinkError, type LinkEvents } from './link.ts';

/** No single line may be longer than this many bytes unless the caller says otherwise. */
export const LINE_LIMIT = 256 * 1024 * 1024;

/** A line grew beyond the limit, and the caller did not say that it can do without it. */
export class LineTooLong extends Error {
  constructor(limit: number) {
    super(`a line longer than ${Math.round(limit / 1024 / 1024)} MB`);
  }
}

const NEWLINE = 0x0a;

export interface LineBounds {
  /** Bytes in one line. */
  readonly limit?: number;
  /** Called once for each longer line, which is skipped; the lines after it come as usual. Without it such a line throws. */
  readonly onTooLong?: (limit: number) => void;
}

/**
 * Cuts bytes into lines at 0x0A and nowhere else (U+2028 stays inside its line). However the chunks fall, the work grows with the bytes, not with
 * the length of a line. One trailing carriage return is dropped, empty lines are skipped, bytes that are not UTF-8 become U+FFFD.
 */
export class Lines {
  readonly #limit: number;
  readonly #onTooLong: ((limit: number) => void) | undefined;
  readonly #take: (line: string) => void;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** True while the bytes up to the next line end belong to a line that is too long. */
  #passing = false;

  constructor(take: (line: string) => void, { limit = LINE_LIMIT, onTooLong }: LineBounds = {}) {
    this.#take = take;
    this.#limit = limit;
    this.#onTooLong = onTooLong;
  }

  /** Gives every complete line. Throws LineTooLong unless `onTooLong` is set. */
  push(chunk: Uint8Array): void {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#passing) {
      const end = bytes.indexOf(NEWLINE);
      if (end < 0) return;
      this.#passing = false;
      bytes = bytes.subarray(end + 1);
    }
    if (this.#heldBytes + bytes.length > this.#limit) return this.#oneByOne(bytes);
    const last = bytes.lastIndexOf(NEWLINE);
    if (last >= 0) {
      const first = this.#heldBytes === 0 ? -1 : bytes.indexOf(NEWLINE);
      // Only the line that was held is put together, so that the others are not copied.
      if (first >= 0) this.#give(this.#withHeld(bytes.subarray(0, first)));
      // No byte of a longer character is 0x0A, so whole lines can be decoded together.
      if (first < last) this.#give(bytes.subarray(first + 1, last));
    }
    this.#hold(bytes.subarray(last + 1));
  }

  /** The stream is over: gives what was left without an end. */
  end(): void {
    if (this.#heldBytes > 0) this.#give(this.#withHeld(Buffer.alloc(0)));
  }

  /** One of these lines may be too long. */
  #oneByOne(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      const line = bytes.subarray(from, end);
      if (this.#fits(line)) this.#give(this.#withHeld(line));
      from = end + 1;
    }
    const rest = bytes.subarray(from);
    if (this.#fits(rest)) this.#hold(rest);
    else this.#passing = true;
  }

  #fits(line: Buffer): boolean {
    if (this.#heldBytes + line.length <= this.#limit) return true;
    this.#held = [];
    this.#heldBytes = 0;
    if (!this.#onTooLong) throw new LineTooLong(this.#limit);
    this.#onTooLong(this.#limit);
    return false;
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #withHeld(last: Buffer): Buffer {
    const whole = Buffer.concat([...this.#held, last], this.#heldBytes + last.length);
    this.#held = [];
    this.#heldBytes = 0;
    return whole;
  }

  #give(bytes: Buffer): void {
    const text = bytes.toString('utf8');
    let from = 0;
    while (from <= text.length) {
      const found = text.indexOf('\n', from);
      const end = found < 0 ? text.length : found;
      const stop = end > from && text[end - 1] === '\r' ? end - 1 : end;
      if (stop > from) this.#take(text.slice(from, stop));
      from = end + 1;
    }
  }
}

/** A value as one line of JSON, without the end. U+2028 and U+2029 are escaped: some readers take them for line ends. */
export function toLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (mark) => (mark === '\u2028' ? '\\u2028' : '\\u2029'));
}

// --- newline-delimited JSON as a link

export type LineMessage = Readonly<Record<string, unknown>>;
export interface LinesLinkOptions {
  readonly trace?: (way: 'in' | 'out', message: unknown) => void;
  /** The id of a message that waits for an answer; undefined for every other message. */
  readonly requestId?: (message: LineMessage) => string | undefined;
  /** The message that answers a request with an error. Results are whole messages already. */
  readonly refusal?: (id: string, message: string) => LineMessage;
}
/** The method of every message that a lines link reports. */
export const LINE = 'line';

/**
 * Newline-delimited JSON as a link: each object is a message, anything else is junk. What is sent is one object, or a list of objects that
 * leave in one write. It has no requests of its own; a protocol that has some makes them of messages.
 */
export function linesLink(channel: Channel, events: LinkEvents, options: LinesLinkOptions = {}): Link {
  const write = (messages: readonly unknown[]) => {
    for (const message of messages) options.trace?.('out', message);
    // The channel reports itself why it closed.
    channel.send(messages.map(toLine).join('\n')).catch(() => {});
  };
  channel.onMessage((line) => {
    const message = objectIn(line);
    if (!message) return events.junk(line);
    options.trace?.('in', message);
    const id = options.requestId?.(message);
    if (id === undefined) events.message(LINE, message);
    else events.asked(id, LINE, message);
  });
  channel.onClosed((why) => events.closed(why));
  return {
    request: () => Promise.reject(new LinkError({ kind: 'unsent', message: 'Lines have no requests' })),
    notify: (_method, params) => write(Array.isArray(params) ? params : [params]),
    answer: (id, { result, error, none }: LinkAnswer) => {
      if (none) return;
      if (!error) write([result]);
      else if (options.refusal) write([options.refusal(id, error.message)]);
    },
    close: () => queueMicrotask(() => channel.dispose()),
  };
}

function objectIn(line: string): LineMessage | undefined {
  try {
    const value = parseJson(line, undefined, MOST_VALUES);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as LineMessage) : undefined;
  } catch {
    return undefined;
  }
}
