import { StringDecoder } from 'node:string_decoder';

/** One server-sent event. `event` is its name when it has one; `data` the data lines joined with \n. */
export interface SseEvent {
  readonly data: string;
  readonly event?: string;
  readonly id?: string;
}
export interface SseOptions {
  /** UTF-16 units in one event; a longer one is left out. */
  readonly limit?: number;
  /** An event was left out because of its size. */
  readonly onTooLong?: (limit: number) => void;
  /** A comment line: a sign of life and nothing else. */
  readonly onComment?: (text: string) => void;
  /** Every data line is an event of its own, for peers that leave the blank lines out. */
  readonly eachLine?: true;
}

/** No single event may be longer than this unless the caller says otherwise. */
export const EVENT_LIMIT = 32 * 1024 * 1024;

/**
 * Bytes to server-sent events. Lines end with \n, \r\n or \r and nothing else; every byte is looked at once, however the chunks fall; bytes
 * that are not UTF-8 become U+FFFD; one byte order mark is dropped.
 */
export class SseReader {
  readonly #take: (event: SseEvent) => void;
  readonly #options: SseOptions;
  readonly #limit: number;
  readonly #decoder = new StringDecoder('utf8');
  #begun = false;
  #line = '';
  /** A line ended with \r at the end of a chunk: a \n right after it belongs to it. */
  #afterReturn = false;
  #data: string | undefined;
  #event: string | undefined;
  #id: string | undefined;
  /** The event that is being read is too long to be kept. */
  #tooLong = false;
  /** What is left of the current line is thrown away. */
  #skipping = false;

  constructor(take: (event: SseEvent) => void, options: SseOptions = {}) {
    this.#take = take;
    this.#options = options;
    this.#limit = options.limit ?? EVENT_LIMIT;
  }

  /** Gives every event that is whole now. */
  push(chunk: Buffer): void {
    this.#text(this.#decoder.write(chunk));
  }

  /** The body is over: what was left without its blank line, or even without its line end, is an event too. */
  end(): void {
    this.#text(this.#decoder.end());
    if (this.#line !== '' || this.#skipping) this.#endLine('');
    this.#dispatch();
  }

  #text(raw: string): void {
    if (raw === '') return;
    let text = raw;
    if (!this.#begun) {
      this.#begun = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    let from = 0;
    if (this.#afterReturn && text !== '') {
      this.#afterReturn = false;
      if (text.charCodeAt(0) === 0x0a) from = 1;
    }
    let newline = text.indexOf('\n', from);
    let carriage = text.indexOf('\r', from);
    while (newline >= 0 || carriage >= 0) {
      const atReturn = carriage >= 0 && (newline < 0 || carriage < newline);
      const end = atReturn ? carriage : newline;
      this.#endLine(text.slice(from, end));
      from = end + 1;
      if (atReturn) {
        if (from === text.length) this.#afterReturn = true;
        else if (newline === from) from += 1;
        carriage = text.indexOf('\r', from);
      }
      if (newline >= 0 && newline < from) newline = text.indexOf('\n', from);
    }
    if (from < text.length) this.#hold(text.slice(from));
  }

  /** The beginning of a line whose end has not come yet. */
  #hold(piece: string): void {
    if (this.#skipping) return;
    if (!this.#tooLong && this.#fits(this.#line.length + piece.length - 'data: '.length)) this.#line += piece;
    else this.#skipping = true;
  }

  #endLine(piece: string): void {
    if (this.#skipping) {
      this.#skipping = false;
      if (this.#options.eachLine) this.#dispatch();
      return;
    }
    const line = this.#line === '' ? piece : this.#line + piece;
    this.#line = '';
    if (line === '') this.#dispatch();
    else if (!this.#tooLong) this.#field(line);
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return this.#options.onComment?.(line.slice(1).trim());
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    if (name === 'data') this.#addData(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
  }

  #addData(value: string): void {
    if (this.#fits((this.#data?.length ?? 0) + value.length)) this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    if (this.#options.eachLine) this.#dispatch();
  }

  #fits(length: number): boolean {
    if (length <= this.#limit) return true;
    this.#tooLong = true;
    this.#line = '';
    this.#data = undefined;
    return false;
  }

  #dispatch(): void {
    const [data, event, id] = [this.#data, this.#event, this.#id];
    this.#data = undefined;
    this.#event = undefined;
    this.#id = undefined;
    if (this.#tooLong) {
      this.#tooLong = false;
      this.#options.onTooLong?.(this.#limit);
    } else if (data !== undefined) {
      this.#take({ data, ...(event === undefined ? {} : { event }), ...(id === undefined ? {} : { id }) });
    }
  }
}
