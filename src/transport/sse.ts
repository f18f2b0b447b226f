import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceParser } from 'eventsource-parser';

/** One server-sent event. `event` is its name when it has one; `data` the data lines joined with \n. */
export interface SseEvent {
  readonly data: string;
  readonly event?: string;
  readonly id?: string;
}
export interface SseOptions {
  /** UTF-16 units of data in one event; a longer one is left out. */
  readonly limit?: number;
  /** An event was left out because of its size. */
  readonly onTooLong?: (limit: number) => void;
  /** A comment line: keeps the connection alive and carries nothing else. */
  readonly onComment?: (text: string) => void;
  /** Every data line is an event of its own, for servers that leave the blank lines out. */
  readonly eachLine?: true;
}

/** No single event may be longer than this unless the caller says otherwise. */
export const EVENT_LIMIT = 32 * 1024 * 1024;

/** The length of the field name before the data of an unfinished line. */
const FRAME = 'data: '.length;

/**
 * Bytes to server-sent events: eventsource-parser, with a limit for each event in place of its limit for the stream. Bytes that are not UTF-8
 * become U+FFFD; one byte order mark is dropped.
 */
export class SseReader {
  readonly #parser: EventSourceParser;
  readonly #eachLine: boolean;
  readonly #decoder = new StringDecoder('utf8');
  #begun = false;
  /** A line ended with \r at the end of a chunk: a \n right after it belongs to it. */
  #afterReturn = false;
  #overflowed = false;
  /** The last character that was thrown away of a long event; undefined while events are read. */
  #skipped: string | undefined;

  constructor(take: (event: SseEvent) => void, options: SseOptions = {}) {
    const { limit = EVENT_LIMIT, onTooLong, onComment } = options;
    this.#eachLine = options.eachLine === true;
    this.#parser = createParser({
      onEvent: ({ data, event, id }) => {
        if (data.length > limit && data.replaceAll('\n', '').length > limit) onTooLong?.(limit);
        else if (event === undefined && id === undefined) take({ data });
        else take({ data, ...(event === undefined ? {} : { event }), ...(id === undefined ? {} : { id }) });
      },
      onError: ({ type }) => {
        if (type !== 'max-buffer-size-exceeded') return;
        this.#overflowed = true;
        onTooLong?.(limit);
      },
      ...(onComment ? { onComment } : {}),
      maxBufferSize: limit + FRAME,
    });
  }

  /** Gives every event that is whole now. */
  push(chunk: Buffer): void {
    this.#text(this.#decoder.write(chunk));
  }

  /** The body is over: what was left without its blank line, or even without its line end, is an event too. */
  end(): void {
    this.#text(this.#decoder.end());
    if (this.#skipped === undefined) this.#feed('\n\n');
  }

  #text(raw: string): void {
    if (raw === '') return;
    let text = this.#begun || raw.charCodeAt(0) !== 0xfeff ? raw : raw.slice(1);
    this.#begun = true;
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1);
    this.#afterReturn = raw.endsWith('\r');
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    this.#feed(this.#eachLine ? text.replaceAll('\n', '\n\n') : text);
  }

  #feed(text: string): void {
    // The parser joins the line that is under way with all that it is given: so it gets the end of that line first.
    const end = text.indexOf('\n') + 1;
    if (end > 0 && end < text.length) {
      this.#give(text.slice(0, end));
      this.#give(text.slice(end));
    } else this.#give(text);
  }

  #give(text: string): void {
    const rest = this.#skipped === undefined ? text : this.#skip(this.#skipped + text);
    if (rest === '') return;
    this.#parser.feed(rest);
    if (!this.#overflowed) return;
    // The received part of the long event is dropped; the rest of it ends with a blank line.
    this.#overflowed = false;
    this.#parser.reset();
    this.#skipped = rest.slice(-1);
  }

  /** The text after the blank line that ends the long event. */
  #skip(text: string): string {
    const blank = text.indexOf('\n\n');
    this.#skipped = blank < 0 ? text.slice(-1) : undefined;
    return blank < 0 ? '' : text.slice(blank + 2);
  }
}
