import { say } from '../base/say.ts';

/** No single line may be longer than this many bytes unless the caller says otherwise. */
export const LINE_LIMIT = 256 * 1024 * 1024;

/** A line grew beyond the limit; nothing after it can be trusted to begin a message. */
export class LineTooLong extends Error {
  constructor(limit: number) {
    super(say('a line longer than {0} MB', Math.round(limit / 1024 / 1024)));
  }
}

const NEWLINE = 0x0a;

/**
 * Cuts bytes into lines at 0x0A and nowhere else (U+2028 stays inside its line). However the chunks fall, the work grows with the bytes, not with
 * the length of a line. One trailing carriage return is dropped, empty lines are skipped, bytes that are not UTF-8 become U+FFFD.
 */
export class Lines {
  readonly #limit: number;
  readonly #take: (line: string) => void;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(take: (line: string) => void, limit = LINE_LIMIT) {
    this.#take = take;
    this.#limit = limit;
  }

  /** Gives every line that is whole now; throws LineTooLong. */
  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#check(bytes);
    const last = bytes.lastIndexOf(NEWLINE);
    if (last >= 0) {
      // No byte of a longer character is 0x0A, so whole lines can be decoded together.
      const whole = bytes.subarray(0, last);
      this.#give(this.#heldBytes === 0 ? whole : this.#withHeld(whole));
    }
    if (last + 1 === bytes.length) return;
    this.#held.push(bytes.subarray(last + 1));
    this.#heldBytes += bytes.length - last - 1;
  }

  /** The stream is over: gives what was left without an end. */
  end(): void {
    if (this.#heldBytes > 0) this.#give(this.#withHeld(Buffer.alloc(0)));
  }

  /** Only the first line of a chunk can go on from before; the others are shorter than the chunk. */
  #check(bytes: Buffer): void {
    let from = 0;
    let before = this.#heldBytes;
    if (before + bytes.length <= this.#limit) return;
    while (from <= bytes.length) {
      const found = bytes.indexOf(NEWLINE, from);
      const end = found < 0 ? bytes.length : found;
      if (before + end - from > this.#limit) throw new LineTooLong(this.#limit);
      if (bytes.length - end <= this.#limit) return;
      before = 0;
      from = end + 1;
    }
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
