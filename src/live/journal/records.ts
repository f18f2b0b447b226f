import zlib from 'node:zlib';
import { DEEPEST } from '../../base/json.ts';

// A journal is a sequence of framed records, as JSON text sequences (RFC 7464) have them, with a checksum:
//
//   RS crc SP seq SP json LF      RS = 0x1e, LF = 0x0a
//
// `crc` is the CRC-32 of everything from `seq` up to LF, in 8 hexadecimal digits; `seq` counts the records of the file from 1. JSON text contains
// neither byte unescaped, so wherever a file is damaged, reading goes on at the next RS, and a reader knows from `seq` how many records are missing.

const START = 0x1e;
const END = 0x0a;
const CRC_DIGITS = 8;
/** Most bytes of one record held in memory. The writer makes none that long, so a longer one is damage. */
const LONGEST_RECORD = 256 * 1024 * 1024;
/** Rough number of characters that each JSON value takes besides its text. */
const VALUE_OVERHEAD = 16;

export interface JournalRecord {
  readonly seq: number;
  /** Records that are damaged or missing between the one before and this one. */
  readonly gap: number;
  readonly value: unknown;
}

/** Throws when the value cannot be written as JSON. */
export function frameOf(seq: number, value: unknown): Buffer {
  // One buffer, and the text in one piece: a record may be megabytes of it.
  const json = JSON.stringify(value);
  const number = `${seq} `;
  const from = CRC_DIGITS + 2;
  const end = from + number.length + Buffer.byteLength(json);
  const bytes = Buffer.allocUnsafe(end + 1);
  bytes.write(number, from, 'latin1');
  bytes.write(json, from + number.length);
  const crc = zlib.crc32(bytes.subarray(from, end)).toString(16).padStart(CRC_DIGITS, '0');
  bytes.write(`\x1e${crc} `, 0, 'latin1');
  bytes[end] = END;
  return bytes;
}

/** Characters of the value in JSON, roughly; no more than `most` are counted. */
export function weightOf(value: unknown, most: number): number {
  let left = most;
  const weigh = (inner: unknown, levels: number): void => {
    left -= VALUE_OVERHEAD;
    if (typeof inner === 'string') left -= inner.length;
    if (typeof inner !== 'object' || inner === null || levels === 0) return;
    for (const name in inner) {
      if (left <= 0) return;
      weigh((inner as Readonly<Record<string, unknown>>)[name], levels - 1);
    }
  };
  weigh(value, DEEPEST);
  return most - Math.max(0, left);
}

/**
 * Reads records from the chunks of a file and skips damaged ones. An incomplete record at the end is not counted as a gap: the next writer reuses its
 * number.
 */
export class RecordReader {
  /** Chunks of the incomplete record, without its RS. */
  #open: Buffer[] = [];
  #openBytes = 0;
  #lastSeq = 0;
  /** Bytes before the first RS belong to no record. */
  #inRecord = false;

  /** Number of the last complete record. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  push(chunk: Buffer): readonly JournalRecord[] {
    const found: JournalRecord[] = [];
    let from = 0;
    for (let at = chunk.indexOf(START); at >= 0; at = chunk.indexOf(START, from)) {
      this.#keep(chunk.subarray(from, at));
      this.#close(found);
      this.#inRecord = true;
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return found;
  }

  /** After the last chunk. */
  end(): readonly JournalRecord[] {
    const found: JournalRecord[] = [];
    this.#close(found);
    return found;
  }

  #keep(piece: Buffer): void {
    this.#openBytes += piece.length;
    if (this.#openBytes > LONGEST_RECORD) this.#open = [];
    else this.#open.push(piece);
  }

  #close(found: JournalRecord[]): void {
    const bytes = this.#open.length === 1 ? this.#open[0] : Buffer.concat(this.#open);
    this.#open = [];
    this.#openBytes = 0;
    if (!this.#inRecord || !bytes) return;
    const record = unframe(bytes);
    if (!record) return;
    const gap = Math.max(0, record.seq - this.#lastSeq - 1);
    this.#lastSeq = record.seq;
    found.push({ ...record, gap });
  }
}

/** `bytes` are those behind an RS, up to the next one or the end of the file. */
function unframe(bytes: Buffer): Omit<JournalRecord, 'gap'> | undefined {
  const lineEnd = bytes.indexOf(END);
  const line = lineEnd < 0 ? bytes : bytes.subarray(0, lineEnd);
  const body = line.subarray(CRC_DIGITS + 1);
  const crc = line.toString('latin1', 0, CRC_DIGITS);
  if (!/^[0-9a-f]{8}$/.test(crc) || Number.parseInt(crc, 16) !== zlib.crc32(body)) return undefined;
  const space = body.indexOf(0x20);
  const seq = Number(body.toString('latin1', 0, space));
  if (space < 1 || !Number.isSafeInteger(seq)) return undefined;
  try {
    return { seq, value: JSON.parse(body.toString('utf8', space + 1)) as unknown };
  } catch {
    return undefined;
  }
}
