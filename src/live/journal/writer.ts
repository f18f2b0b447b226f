import { closeSync, constants, fdatasync, fstatSync, mkdirSync, openSync, renameSync, rmSync, write, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { Emitter } from '../../base/emitter.ts';
import type { Disposable } from '../../base/lifetime.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import { joinTextDeltas } from '../../session/join.ts';
import type { Session } from '../../session/model.ts';
import { titleOf } from '../../session/select.ts';
import { FileLock } from './lock.ts';
import { frameOf } from './records.ts';
import { snapshotOf, VERSION } from './replay.ts';
import type { HeadRecord, KnownRecord } from './schema.ts';

/** Milliseconds between writes; deltas within are joined. */
const WRITE_EVERY = 250;
/** Milliseconds until the next try after a failed write, at most. */
const LONGEST_RETRY = 10_000;
/** What cannot be written is kept up to so many bytes; beyond, the state of the session is written in its place. */
const MOST_UNWRITTEN = 32 * 1024 * 1024;
/** A file is compacted when it has grown by so much, and by three times its last snapshot. */
const COMPACT_AFTER = 4 * 1024 * 1024;
/** Bytes of a snapshot that are written at once. */
const SNAPSHOT_PIECE = 256 * 1024;

/** These reach the operating system before anybody can see them, so that the end of this process does not take them away. */
const AT_ONCE: ReadonlySet<SessionEvent['type']> = new Set(['turn.started', 'turn.ended', 'queue.set', 'ask.closed', 'resume.set']);

export interface JournalHead {
  readonly id: string;
  readonly profile: string;
  readonly agent: Session['agent'];
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
export type JournalTrouble =
  /** Nothing can be written now; it is kept and tried again. */
  | { readonly kind: 'failing'; readonly reason: string; readonly full: boolean }
  | { readonly kind: 'recovered' }
  /** Another process has taken over the file; this conversation goes on in a file of its own, under another id. */
  | { readonly kind: 'moved' };

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

/** Where a writer begins. */
export interface WriterStart {
  readonly folder: string;
  readonly head: JournalHead;
  readonly session: Session;
  /** Number of the last record in the file; 0 for a new one. */
  readonly seq: number;
  readonly snapshotBytes?: number;
  /** Held already; a new file is locked when it is made. */
  readonly lock?: FileLock;
}

/**
 * Writes events behind a session. Every write names its position in the file, so one that is repeated, by a flush or after a failure, puts the
 * same bytes in the same place, and the order in which writes arrive does not matter.
 */
export class JournalWriter implements Disposable {
  readonly #log: Log;
  readonly #disk: Disk;
  readonly #troubles = new Emitter<JournalTrouble>();
  readonly onTrouble = this.#troubles.listen;
  #head: JournalHead;
  #folder: string;
  /** The latest state, of which a snapshot can be written at any time. */
  #session: Session;
  #seq: number;
  #snapshotBytes: number | undefined;
  #lock: FileLock | undefined;
  #file: { readonly fd: number; position: number } | undefined;
  /** Not in the bytes yet. */
  #waiting: SessionEvent[] = [];
  /** What belongs at the end of the file and is not known to be there. */
  #unwritten: Buffer = Buffer.alloc(0);
  /** Records since a compaction began. */
  #since: KnownRecord[] | undefined;
  /** A snapshot is to be written in place of the events: too many could not be written, or the file is to hold what another one held. */
  #snapshotDue = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #behind: Promise<void> | undefined;
  /** Operations in the thread pool that use the descriptor. */
  #inFlight = 0;
  #closed = false;

  constructor(start: WriterStart, log: Log, disk: Disk = realDisk) {
    this.#log = log;
    this.#disk = disk;
    this.#folder = start.folder;
    this.#head = start.head;
    this.#session = start.session;
    this.#seq = start.seq;
    this.#snapshotBytes = start.snapshotBytes;
    this.#lock = start.lock;
    this.#snapshotDue = start.seq === 0 && start.session.turns.length > 0;
  }

  /** `session` is the state after the event. */
  record(event: SessionEvent, session: Session): void {
    if (this.#closed) return;
    this.#session = session;
    this.#waiting.push(event);
    // A history that an agent tells can be told again.
    if (AT_ONCE.has(event.type) && !session.partial && this.#failures === 0) this.flush();
    else this.#schedule(WRITE_EVERY);
  }

  /** Writes everything recorded so far before it returns; what fails is tried again later. */
  flush(): void {
    this.#clearTimer();
    try {
      const ended = this.#encode();
      if (this.#unwritten.length === 0) return;
      const file = this.#opened();
      while (this.#unwritten.length > 0) {
        this.#confirm(file.position + this.#disk.writeSync(file.fd, this.#unwritten, file.position));
      }
      this.#succeeded();
      if (ended) this.#sync(file.fd);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Settles when everything recorded before the call was written, or has failed. */
  async settled(): Promise<void> {
    await this.#behind;
    await this.#writeBehind();
  }

  /** Replaces the file with a snapshot of the session when that saves much. Never rejects. */
  async compact(force = false): Promise<void> {
    if (this.#since || this.#closed || this.#failures > 0) return;
    const { size, snapshot } = { size: this.#file?.position ?? 0, snapshot: this.#snapshotBytes ?? 0 };
    if (!force && size - snapshot < Math.max(COMPACT_AFTER, 3 * snapshot)) return;
    const fresh = `${this.#path}.new`;
    try {
      this.#encode();
      this.#since = [];
      const session = { ...this.#session, id: this.#head.id };
      const written = await writeSnapshot(fresh, this.#headRecord(), session);
      while (this.#behind) await this.#behind;
      if (!this.#closed && this.#failures === 0) this.#replaceWith(fresh, written);
    } catch (error) {
      this.#log.warn(`A session file could not be compacted: ${messageOf(error)}`);
    } finally {
      this.#since = undefined;
      rmSync(fresh, { force: true });
    }
  }

  /** Writes the rest and lets go of the file. */
  dispose(): void {
    if (this.#closed) return;
    this.flush();
    this.#closed = true;
    this.#clearTimer();
    this.#lock?.dispose();
    this.#closeWhenIdle();
    this.#troubles.dispose();
  }

  get #path(): string {
    return journalFile(this.#folder, this.#head.id);
  }

  #schedule(after: number): void {
    this.#timer ??= setTimeout(() => void this.#writeBehind(), after);
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Writes without holding up the process; a flush in the meantime may write the same. */
  #writeBehind(): Promise<void> {
    this.#clearTimer();
    this.#behind ??= this.#writeOnce().finally(() => {
      this.#behind = undefined;
      if (this.#waiting.length > 0 && !this.#closed) this.#schedule(WRITE_EVERY);
      this.#closeWhenIdle();
    });
    return this.#behind;
  }

  async #writeOnce(): Promise<void> {
    try {
      let ended = this.#encode();
      while (this.#unwritten.length > 0) {
        const { fd, position } = this.#opened();
        this.#inFlight += 1;
        try {
          this.#confirm(position + (await this.#disk.write(fd, this.#unwritten, position)));
        } finally {
          this.#inFlight -= 1;
        }
        ended = this.#encode() || ended;
      }
      this.#succeeded();
      if (ended && this.#file) this.#sync(this.#file.fd);
      void this.compact();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Puts what waits into bytes. True when a turn ended in it. */
  #encode(): boolean {
    const events = joinTextDeltas(this.#waiting);
    this.#waiting = [];
    if (this.#lock?.held === false) this.#moveAway();
    if (this.#snapshotDue && this.#unwritten.length === 0) {
      this.#snapshotDue = false;
      this.#append([this.#headRecord(), ...snapshotOf({ ...this.#session, id: this.#head.id })]);
    } else if (!this.#snapshotDue) {
      const told = !this.#session.partial && events.some((event) => event.type === 'turn.ended' || tellsHead(event, this.#session));
      const isNew = this.#seq === 0 && events.length > 0;
      this.#append([...(isNew ? [this.#headRecord()] : []), ...events, ...(told ? [this.#headRecord()] : [])]);
    }
    return events.some((event) => event.type === 'turn.ended');
  }

  #append(records: readonly KnownRecord[]): void {
    const frames = records.flatMap((record) => this.#frame(record));
    this.#since?.push(...records);
    if (frames.length > 0) this.#unwritten = Buffer.concat([this.#unwritten, ...frames]);
  }

  /** A record that cannot be written costs only itself. */
  #frame(record: KnownRecord): readonly Buffer[] {
    try {
      const frame = frameOf(this.#seq + 1, record);
      this.#seq += 1;
      return [frame];
    } catch (error) {
      this.#log.error(`A record (${record.type}) could not be written to the journal and is left out`, error);
      return [];
    }
  }

  #writeSnapshotNext(): void {
    this.#snapshotDue = true;
    this.#unwritten = Buffer.alloc(0);
  }

  /** Another process writes the file now: what is not in it goes into a new one. */
  #moveAway(): void {
    this.#lock?.dispose();
    this.#lock = undefined;
    const old = this.#file;
    this.#file = undefined;
    if (old && this.#inFlight === 0) closeSync(old.fd);
    this.#head = { ...this.#head, id: crypto.randomUUID() };
    this.#seq = 0;
    this.#snapshotBytes = undefined;
    this.#writeSnapshotNext();
    this.#troubles.fire({ kind: 'moved' });
  }

  /** The file, made and locked when it is new. Throws when that fails. */
  #opened(): { readonly fd: number; position: number } {
    if (this.#file) return this.#file;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (!this.#lock) {
      const lock = FileLock.take(lockFile(this.#folder, this.#head.id));
      if (!(lock instanceof FileLock)) throw new Error(`The session file is being written by process ${lock.pid}`);
      this.#lock = lock;
    }
    const fd = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#file = { fd, position: fstatSync(fd).size };
    return this.#file;
  }

  /** The file is written up to that position. */
  #confirm(to: number): void {
    if (!this.#file || to <= this.#file.position) return;
    this.#unwritten = this.#unwritten.subarray(to - this.#file.position);
    this.#file.position = to;
  }

  #succeeded(): void {
    if (this.#failures > 1) this.#troubles.fire({ kind: 'recovered' });
    this.#failures = 0;
  }

  /** One failure may pass; the second in a row is told. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#log.error('The session could not be written to its journal', error);
    if (this.#unwritten.length > MOST_UNWRITTEN) this.#writeSnapshotNext();
    if (this.#closed) return;
    this.#schedule(Math.min(LONGEST_RETRY, WRITE_EVERY * 2 ** this.#failures));
    if (this.#failures === 2) this.#troubles.fire({ kind: 'failing', reason: messageOf(error), full: isFull(error) });
  }

  #sync(fd: number): void {
    this.#inFlight += 1;
    // Not possible on every file system; what matters is in the operating system already.
    fdatasync(fd, () => {
      this.#inFlight -= 1;
      this.#closeWhenIdle();
    });
  }

  /** A descriptor that is closed under a write may be another file's by the time the write is made. */
  #closeWhenIdle(): void {
    if (!this.#closed || this.#inFlight > 0 || !this.#file) return;
    closeSync(this.#file.fd);
    this.#file = undefined;
  }

  #headRecord(snapshotBytes = this.#snapshotBytes): HeadRecord {
    const { resumeKey, turns } = this.#session;
    const title = titleOf(this.#session);
    return {
      type: 'journal.head',
      version: VERSION,
      ...this.#head,
      ...(title === '' ? {} : { title }),
      ...(resumeKey === undefined ? {} : { resumeKey }),
      turns: turns.length,
      ...(snapshotBytes === undefined ? {} : { snapshotBytes }),
    };
  }

  /** Moves the snapshot and what was recorded since into the place of the file. Throws with the old file in use when that fails. */
  #replaceWith(fresh: string, { size, seq }: SnapshotSize): void {
    this.#encode();
    const fd = openSync(fresh, constants.O_RDWR);
    const since = [...(this.#since ?? []), this.#headRecord(size)].map((record, at) => frameOf(seq + at + 1, record));
    try {
      const bytes = Buffer.concat(since);
      for (let at = 0; at < bytes.length; ) at += this.#disk.writeSync(fd, bytes.subarray(at), size + at);
    } finally {
      closeSync(fd);
    }
    // Windows does not replace a file that is open.
    if (this.#file) closeSync(this.#file.fd);
    this.#file = undefined;
    renameSync(fresh, this.#path);
    this.#seq = seq + since.length;
    this.#snapshotBytes = size;
    this.#unwritten = Buffer.alloc(0);
  }
}

export interface SnapshotSize {
  readonly size: number;
  /** Number of the last record. */
  readonly seq: number;
}

/** Writes a file that holds a head and a snapshot, and has reached the disk when this resolves. */
export async function writeSnapshot(file: string, head: HeadRecord, session: Session): Promise<SnapshotSize> {
  const handle = await open(file, 'w', 0o600);
  try {
    let seq = 0;
    let size = 0;
    let piece: Buffer[] = [];
    let pieceBytes = 0;
    const drain = async () => {
      await handle.writeFile(Buffer.concat(piece));
      [piece, pieceBytes] = [[], 0];
    };
    for (const record of withHead(head, session)) {
      seq += 1;
      const frame = frameOf(seq, record);
      piece.push(frame);
      pieceBytes += frame.length;
      size += frame.length;
      if (pieceBytes >= SNAPSHOT_PIECE) await drain();
    }
    await drain();
    await handle.sync();
    return { size, seq };
  } finally {
    await handle.close();
  }
}

function* withHead(head: HeadRecord, session: Session): Generator<KnownRecord> {
  yield head;
  yield* snapshotOf(session);
}

/** What stands in every head from then on. */
function tellsHead(event: SessionEvent, { turns }: Session): boolean {
  if (event.type === 'link.ready') return turns.length > 0;
  return event.type === 'title.set' || event.type === 'resume.set' || (event.type === 'turn.started' && turns.length === 1);
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

export function journalFile(folder: string, id: string): string {
  return path.join(folder, `${id.replace(/[^\w-]/g, '_')}.journal`);
}

export function lockFile(folder: string, id: string): string {
  return `${journalFile(folder, id)}.lock`;
}
