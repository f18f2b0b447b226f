import { close, closeSync, constants, fdatasync, fstatSync, mkdirSync, openSync, renameSync, statSync, write, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { FileLock } from './lock.ts';
import { frameOf } from './records.ts';

const syncData = promisify(fdatasync);

/** Bytes that small records are written together in. A larger record is a piece of its own and never copied. */
const PIECE = 256 * 1024;

/** The writes that can fail, to be replaced in tests. */
export interface Disk {
  readonly write: (fd: number, bytes: Buffer, position: number) => Promise<number>;
  readonly writeSync: (fd: number, bytes: Buffer, position: number) => number;
}
export const realDisk: Disk = {
  write: (fd, bytes, position) =>
    new Promise((resolve, reject) =>
      write(fd, bytes, 0, bytes.length, position, (error, written) => (error ? reject(error) : resolve(written))),
    ),
  writeSync: (fd, bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
};

/** A file that was written whole. */
export interface SnapshotSize {
  readonly size: number;
  /** Number of the last record. */
  readonly seq: number;
}

/** Without a lock: the bytes of the file that were read, and `changed` when another process wrote it since. */
type Unlocked = { readonly sizeRead: number | undefined } | 'changed';

/**
 * A file of records, and the records not yet confirmed at its end. Every write names its position in the file, so one that
 * is repeated, by a synchronous write or after a failure, puts the same bytes in the same place, and the order in which writes arrive does not
 * matter. The file is made and locked with the first write.
 */
export class RecordFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #inFlight = new Set<Promise<unknown>>();
  #lock: FileLock | Unlocked;
  #open: { readonly fd: number; position: number } | undefined;
  #seq: number;
  readonly #tail = new UnwrittenFrames();
  #closed = false;

  constructor(file: string, disk: Disk, seq: number, lock: FileLock | undefined, sizeRead?: number) {
    this.path = file;
    this.#disk = disk;
    this.#seq = seq;
    this.#lock = lock ?? { sizeRead };
  }

  /** Number of the last record. */
  get seq(): number {
    return this.#seq;
  }

  /** Bytes, as far as the file was opened. */
  get size(): number {
    return this.#open?.position ?? 0;
  }

  /** Bytes. */
  get unwritten(): number {
    return this.#tail.bytes;
  }

  /** True when another process writes the file now, or has written it before this one could lock it. */
  get isTakenOver(): boolean {
    return this.#lock === 'changed' || (this.#lock instanceof FileLock && !this.#lock.held);
  }

  /** Records that cannot be written as JSON are left out, and come back with the reason. */
  append<R>(records: readonly R[]): readonly { readonly record: R; readonly error: unknown }[] {
    const failed: { record: R; error: unknown }[] = [];
    for (const record of records) {
      try {
        const frame = frameOf(this.#seq + 1, record);
        this.#tail.push(frame);
        this.#seq += 1;
      } catch (error) {
        failed.push({ record, error });
      }
    }
    return failed;
  }

  /** Drops what is not written, except what is being written: its end moves the position on. */
  dropUnwritten(): void {
    this.#tail.clear();
  }

  /** Writes all of it before it returns. Throws when the disk refuses. */
  writeSync(): void {
    const file = this.#opened();
    while (this.#tail.bytes > 0) this.#confirm(file.position + this.#disk.writeSync(file.fd, this.#tail.piece(), file.position));
  }

  /** Writes what there is now, or a part of it. Rejects when the disk refuses. */
  async write(): Promise<void> {
    const { fd, position } = this.#opened();
    try {
      this.#confirm(position + (await this.#tracked(this.#disk.write(fd, this.#tail.begin(), position))));
    } finally {
      this.#tail.ended();
    }
  }

  /** Flushes written data to disk. Ignores failures (not every file system supports it): the data already survive the end of this process. */
  sync(): void {
    if (this.#open) void this.#tracked(syncData(this.#open.fd)).catch(() => {});
  }

  /** Settles when no operation uses the descriptor. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** Puts a file, and these records after its last one, in the place of this one. Throws with the old file in use when that fails. */
  replaceWith(fresh: string, { size, seq }: SnapshotSize, records: readonly unknown[]): void {
    const bytes = Buffer.concat(records.map((record, at) => frameOf(seq + at + 1, record)));
    const fd = openSync(fresh, constants.O_RDWR);
    try {
      for (let at = 0; at < bytes.length; ) at += this.#disk.writeSync(fd, bytes.subarray(at), size + at);
    } finally {
      closeSync(fd);
    }
    const old = this.#open;
    this.#open = undefined;
    // Windows does not replace a file that is open. Elsewhere the last descriptor frees what the file held, which takes long for a large one.
    if (old && process.platform === 'win32') closeSync(old.fd);
    try {
      renameSync(fresh, this.path);
    } finally {
      if (old && process.platform !== 'win32') close(old.fd, () => {});
    }
    this.#seq = seq + records.length;
    this.dropUnwritten();
  }

  /** Closes the file once nothing uses it. */
  dispose(): void {
    this.#closed = true;
    if (this.#lock instanceof FileLock) this.#lock.dispose();
    if (this.#inFlight.size === 0) this.#close();
  }

  /** Tracks pending work: a descriptor closed during a write may belong to another file when the write runs. */
  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#inFlight.add(work);
    const done = () => {
      this.#inFlight.delete(work);
      if (this.#closed && this.#inFlight.size === 0) this.#close();
    };
    work.then(done, done);
    return work;
  }

  #opened(): { readonly fd: number; position: number } {
    if (this.#open) return this.#open;
    if (this.#closed) throw new Error('The session file is closed');
    mkdirSync(path.dirname(this.path), { recursive: true, mode: 0o700 });
    if (!(this.#lock instanceof FileLock)) this.#lock = this.#locked(this.#lock);
    const fd = openSync(this.path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#open = { fd, position: fstatSync(fd).size };
    return this.#open;
  }

  /** Throws while another process has the lock, or when one wrote the file since it was read: what was read is not all of it then. */
  #locked(unlocked: Unlocked): FileLock {
    const lock = FileLock.take(lockFile(this.path));
    if (!(lock instanceof FileLock)) throw new Error(`The session file is being written by process ${lock.pid}`);
    const sizeRead = unlocked === 'changed' ? -1 : unlocked.sizeRead;
    if (sizeRead === undefined || sizeRead === (statSync(this.path, { throwIfNoEntry: false })?.size ?? 0)) return lock;
    lock.dispose();
    this.#lock = 'changed';
    throw new Error('The session file was written by another process');
  }

  /** The file is written up to that position. */
  #confirm(to: number): void {
    if (!this.#open || to <= this.#open.position) return;
    this.#tail.drop(to - this.#open.position);
    this.#open.position = to;
  }

  #close(): void {
    if (this.#open) closeSync(this.#open.fd);
    this.#open = undefined;
  }
}

/** The frames that are not confirmed yet. */
class UnwrittenFrames {
  #frames: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the first frames that are being written. */
  #underWay = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(frame: Buffer): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
  }

  /** Keeps only the frames that are being written. */
  clear(): void {
    let count = 0;
    let bytes = 0;
    while (count < this.#frames.length && bytes < this.#underWay) bytes += this.#frames[count++]?.length ?? 0;
    this.#frames = this.#frames.slice(0, count);
    this.#bytes = bytes;
  }

  /** The first bytes, which are being written until `ended`. */
  begin(): Buffer {
    const piece = this.piece();
    this.#underWay = piece.length;
    return piece;
  }

  ended(): void {
    this.#underWay = 0;
  }

  /** So many of the first bytes are confirmed. */
  drop(confirmed: number): void {
    this.#bytes -= confirmed;
    let bytes = confirmed;
    let whole = 0;
    for (; whole < this.#frames.length; whole++) {
      const frame = this.#frames[whole] as Buffer;
      if (frame.length > bytes) {
        this.#frames[whole] = frame.subarray(bytes);
        break;
      }
      bytes -= frame.length;
    }
    this.#frames.splice(0, whole);
  }

  /** Returns the first bytes, to be written in one go. */
  piece(): Buffer {
    let bytes = 0;
    let count = 0;
    do bytes += this.#frames[count++]?.length ?? 0;
    while (count < this.#frames.length && bytes + (this.#frames[count]?.length ?? 0) <= PIECE);
    return count === 1 ? (this.#frames[0] as Buffer) : Buffer.concat(this.#frames.slice(0, count));
  }
}

export function lockFile(file: string): string {
  return `${file}.lock`;
}
