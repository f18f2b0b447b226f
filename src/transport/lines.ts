/** No single line may be longer than this many bytes unless the caller says otherwise. */
export const LINE_LIMIT = 256 * 1024 * 1024;

/** A line grew beyond the limit; nothing after it can be trusted to begin a message. */
export class LineTooLong extends Error {
  constructor(limit: number) {
    super(`a line longer than ${Math.round(limit / 1024 / 1024)} MB`);
  }
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Cuts bytes into lines at 0x0A and nowhere else (U+2028 stays inside its line). Every byte is looked at once, however the chunks fall.
 * One trailing carriage return is dropped, empty lines are skipped, bytes that are not UTF-8 become U+FFFD.
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
    let from = 0;
    let end = bytes.indexOf(NEWLINE);
    while (end >= 0) {
      this.#check(end - from);
      if (this.#heldBytes === 0) this.#give(bytes, from, end);
      else this.#giveHeld(bytes.subarray(from, end));
      from = end + 1;
      end = bytes.indexOf(NEWLINE, from);
    }
    if (from === bytes.length) return;
    this.#check(bytes.length - from);
    this.#held.push(bytes.subarray(from));
    this.#heldBytes += bytes.length - from;
  }

  /** The stream is over: gives what was left without an end. */
  end(): void {
    if (this.#heldBytes > 0) this.#giveHeld(Buffer.alloc(0));
  }

  #check(more: number): void {
    if (this.#heldBytes + more > this.#limit) throw new LineTooLong(this.#limit);
  }

  #giveHeld(last: Buffer): void {
    const line = Buffer.concat([...this.#held, last], this.#heldBytes + last.length);
    this.#held = [];
    this.#heldBytes = 0;
    this.#give(line, 0, line.length);
  }

  #give(bytes: Buffer, from: number, end: number): void {
    const stop = end > from && bytes[end - 1] === RETURN ? end - 1 : end;
    if (stop > from) this.#take(bytes.toString('utf8', from, stop));
  }
}

/** A value as one line of JSON, without the end. U+2028 and U+2029 are escaped: some readers take them for line ends. */
export function toLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (mark) => (mark === '\u2028' ? '\\u2028' : '\\u2029'));
}
