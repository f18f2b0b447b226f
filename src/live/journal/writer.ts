import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { Emitter } from '../../base/emitter.ts';
import type { Disposable } from '../../base/lifetime.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import { joinTextDeltas } from '../../session/join.ts';
import type { Session } from '../../session/model.ts';
import { filesChanged, KNOWN_SINCE, titleOf } from '../../session/select.ts';
import { replaceFile, whileHeld } from '../../transport/replaceFile.ts';
import type { FileLock } from './lock.ts';
import { type Disk, RecordFile, realDisk, type SnapshotSize } from './recordFile.ts';
import { frameOf, weightOf } from './records.ts';
import { QueueContents, snapshotOf, VERSION } from './replay.ts';
import type { HeadRecord, KnownRecord } from './schema.ts';

/** Milliseconds between writes; deltas within are joined. */
const WRITE_EVERY = 250;
/** Milliseconds until the next try after a failed write, at most. */
const LONGEST_RETRY = 10_000;
/** Most bytes of unwritten records to keep; beyond that, the writer stores the state of the session instead. */
const MOST_UNWRITTEN = 32 * 1024 * 1024;
/** Bytes of growth that trigger compaction, if the file has also grown by three times its last snapshot. */
const COMPACT_AFTER = 4 * 1024 * 1024;
/** Milliseconds to encode records for before yielding. A single record may take longer. */
const SLICE = 8;
/** Characters in an event whose record takes milliseconds. */
const HEAVY = 256 * 1024;
/** Bytes of a snapshot that are written at once. */
const SNAPSHOT_PIECE = 256 * 1024;

/** Events written before surfaces show them, so that a crash of this process cannot lose them. */
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
  /** Writes fail now; the writer keeps the records and retries. */
  | { readonly kind: 'failing'; readonly reason: string }
  | { readonly kind: 'recovered' }
  /** Another process has taken over the file; this conversation continues in a new file under another id. */
  | { readonly kind: 'moved' };

/** Where a writer begins. */
export interface WriterStart {
  readonly folder: string;
  readonly head: JournalHead;
  readonly session: Session;
  /** Number of the last record in the file; 0 for a new one. */
  readonly seq: number;
  readonly snapshotBytes?: number;
  /** A lock already held; a new file is locked on creation. */
  readonly lock?: FileLock;
  /** Bytes of the file that were read. */
  readonly size?: number;
}

/** The file that a conversation is written to; another one once another process has taken it over. */
interface Target {
  readonly head: JournalHead;
  readonly file: RecordFile;
  /** Bytes of the snapshot that the file begins with. */
  readonly snapshotBytes: number | undefined;
  /** Contents that need not be written into it again. */
  readonly queued: QueueContents;
}
interface Recorded {
  /** The latest state, of which a snapshot can be written at any time. */
  readonly session: Session;
  /** Events that are not records yet. A snapshot takes their place when too many could not be written, or in a file that was empty. */
  readonly pending: SessionEvent[] | 'snapshot';
}
type Work =
  | { readonly kind: 'none' }
  | { readonly kind: 'scheduled'; readonly timer: NodeJS.Timeout }
  | { readonly kind: 'writing'; readonly done: Promise<void> };
const NO_WORK: Work = { kind: 'none' };

/** Writes events behind a session: gathers them, retries what fails, compacts the file, and moves to another file when this one is taken over. */
export class JournalWriter implements Disposable {
  readonly #folder: string;
  readonly #log: Log;
  readonly #disk: Disk;
  readonly #troubles = new Emitter<JournalTrouble>();
  readonly onTrouble = this.#troubles.listen;
  #target: Target;
  #recorded: Recorded;
  /** The records since the compaction under way began; undefined while there is none. */
  #sinceCompaction: readonly KnownRecord[] | undefined;
  #failures = 0;
  #work: Work = NO_WORK;
  #closed = false;

  constructor({ folder, head, session, seq, snapshotBytes, lock, size }: WriterStart, log: Log, disk: Disk = realDisk) {
    this.#folder = folder;
    this.#log = log;
    this.#disk = disk;
    this.#target = {
      head,
      file: new RecordFile(journalFile(folder, head.id), disk, seq, lock, size),
      snapshotBytes,
      queued: new QueueContents(),
    };
    this.#recorded = { session, pending: seq === 0 && session.turns.length > 0 ? 'snapshot' : [] };
  }

  /** `session` is the state after the event. */
  record(event: SessionEvent, session: Session): void {
    if (this.#closed) return;
    const { pending } = this.#recorded;
    if (pending !== 'snapshot') pending.push(event);
    this.#recorded = { session, pending };
    // Encodes a large event now, so that the next flush need not encode it together with others.
    if (weightOf(event, HEAVY) >= HEAVY) this.#encode();
    // The agent can replay its history, so its loss is harmless.
    if (AT_ONCE.has(event.type) && !session.partial && this.#failures === 0) this.flush();
    else this.#schedule(WRITE_EVERY);
  }

  /** Writes everything recorded so far before it returns; what fails is tried again later. */
  flush(): void {
    this.#unschedule();
    try {
      const ended = this.#encode();
      if (this.#target.file.unwritten === 0) return;
      this.#writeNow();
      this.#succeeded();
      if (ended) this.#target.file.sync();
    } catch (error) {
      this.#failed(error);
      this.#scheduleNext();
    }
  }

  #writeNow(): void {
    const { file } = this.#target;
    try {
      file.writeSync();
    } catch (error) {
      if (!file.isTakenOver) throw error;
      // Goes on elsewhere at once: there may be no later.
      this.#encode();
      this.#target.file.writeSync();
    }
  }

  /** Settles when everything recorded before the call was written, or has failed. */
  async settled(): Promise<void> {
    await this.#writing;
    await this.#writeBehind();
  }

  /** Replaces the file with a snapshot of the session when that saves much. Never rejects. */
  async compact(force = false): Promise<void> {
    if (this.#sinceCompaction || this.#closed || this.#failures > 0) return;
    const { file, snapshotBytes = 0 } = this.#target;
    if (!force && file.size - snapshotBytes < Math.max(COMPACT_AFTER, 3 * snapshotBytes)) return;
    const fresh = `${file.path}.new`;
    try {
      this.#encode();
      this.#sinceCompaction = [];
      this.#target.queued.keepOnly(this.#recorded.session.queue);
      const written = await writeSnapshot(fresh, this.#headRecord(), { ...this.#recorded.session, id: this.#target.head.id });
      await replaceFile(fresh, file.path, async () => {
        await this.#idle();
        if (!this.#closed && this.#failures === 0 && this.#target.file === file) this.#replaceWith(fresh, written);
      });
    } catch (error) {
      this.#log.warn(`A session file could not be compacted: ${messageOf(error)}`);
    }
    try {
      await whileHeld(fresh, () => rm(fresh, { force: true }));
    } catch (error) {
      // The next compaction overwrites it.
      this.#log.warn(messageOf(error));
    }
    this.#sinceCompaction = undefined;
  }

  /** Writes the rest and closes the file. */
  dispose(): void {
    if (this.#closed) return;
    this.flush();
    this.#closed = true;
    this.#unschedule();
    this.#troubles.dispose();
    const { file } = this.#target;
    // A pending write may still store records that the flush could not.
    if (this.#writing && file.unwritten > 0) void this.#writing.finally(() => file.dispose());
    else file.dispose();
  }

  #schedule(after: number): void {
    if (this.#work.kind === 'none' && !this.#closed) {
      this.#work = { kind: 'scheduled', timer: setTimeout(() => void this.#writeBehind(), after) };
    }
  }

  #unschedule(): void {
    if (this.#work.kind !== 'scheduled') return;
    clearTimeout(this.#work.timer);
    this.#work = NO_WORK;
  }

  /** Schedules the next write, with a longer delay after each failure. */
  #scheduleNext(): void {
    if (this.#failures > 0) this.#schedule(Math.min(LONGEST_RETRY, WRITE_EVERY * 2 ** this.#failures));
    else if (this.#recorded.pending.length > 0) this.#schedule(WRITE_EVERY);
  }

  /** Writes without holding up the process; a flush in the meantime may write the same. */
  #writeBehind(): Promise<void> {
    if (this.#work.kind === 'writing') return this.#work.done;
    this.#unschedule();
    const done = this.#writeOnce().finally(() => {
      this.#work = NO_WORK;
      this.#scheduleNext();
    });
    this.#work = { kind: 'writing', done };
    return done;
  }

  async #writeOnce(): Promise<void> {
    try {
      let ended = this.#encode(SLICE);
      while (this.#target.file.unwritten > 0) {
        await this.#target.file.write();
        ended = this.#encode(SLICE) || ended;
      }
      this.#succeeded();
      if (ended) this.#target.file.sync();
      void this.compact();
    } catch (error) {
      this.#failed(error);
    }
  }

  get #writing(): Promise<void> | undefined {
    return this.#work.kind === 'writing' ? this.#work.done : undefined;
  }

  /** Settles when nothing is being written. */
  async #idle(): Promise<void> {
    do {
      await this.#writing;
      await this.#target.file.idle();
    } while (this.#writing);
  }

  /** Encodes pending events as records, for at most `ms` milliseconds. True when a turn ended among them. */
  #encode(ms = Number.POSITIVE_INFINITY): boolean {
    if (this.#target.file.isTakenOver) this.#moveAway();
    const { session, pending } = this.#recorded;
    if (pending === 'snapshot') {
      this.#recorded = { session, pending: [] };
      this.#target.queued.set([]);
      this.#append([this.#headRecord(), ...snapshotOf({ ...session, id: this.#target.head.id })]);
      return true;
    }
    const events = joinTextDeltas(pending);
    if (this.#target.file.seq === 0 && events.length > 0) this.#append([this.#headRecord()]);
    const until = performance.now() + ms;
    let made = 0;
    do this.#append(events.slice(made, ++made).map((event) => this.#target.queued.recordOf(event)));
    while (made < events.length && performance.now() < until);
    this.#recorded = { session, pending: events.slice(made) };
    const recorded = events.slice(0, made);
    const ended = recorded.some((event) => event.type === 'turn.ended');
    if (!session.partial && (ended || recorded.some((event) => tellsHead(event, session)))) this.#append([this.#headRecord()]);
    return ended;
  }

  #append(records: readonly KnownRecord[]): void {
    this.#sinceCompaction = this.#sinceCompaction?.concat(records);
    for (const { record, error } of this.#target.file.append(records)) {
      this.#target.queued.set([]);
      this.#log.error(`A record (${record.type}) could not be written to the journal and is left out`, error);
    }
  }

  #writeSnapshotNext(): void {
    this.#recorded = { ...this.#recorded, pending: 'snapshot' };
    this.#target.file.dropUnwritten();
  }

  /** Continues in a new file because another process now writes this one. */
  #moveAway(): void {
    const { head, file } = this.#target;
    file.dispose();
    const id = crypto.randomUUID();
    this.#target = {
      head: { ...head, id },
      file: new RecordFile(journalFile(this.#folder, id), this.#disk, 0, undefined),
      snapshotBytes: undefined,
      queued: new QueueContents(),
    };
    this.#writeSnapshotNext();
    this.#troubles.fire({ kind: 'moved' });
  }

  #succeeded(): void {
    if (this.#failures > 1) this.#troubles.fire({ kind: 'recovered' });
    this.#failures = 0;
  }

  /** Reports the second failure in a row; a single one may be temporary. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#log.error('The session could not be written to its journal', error);
    // Encodes all pending events, because all count against the bound.
    this.#encode();
    if (this.#target.file.unwritten > MOST_UNWRITTEN) this.#writeSnapshotNext();
    if (this.#failures === 2 && !this.#closed) this.#troubles.fire({ kind: 'failing', reason: messageOf(error) });
  }

  #headRecord(snapshotBytes = this.#target.snapshotBytes): HeadRecord {
    return {
      type: 'journal.head',
      version: VERSION,
      ...this.#target.head,
      ...labelsOf(this.#recorded.session),
      ...(snapshotBytes === undefined ? {} : { snapshotBytes }),
    };
  }

  /** Replaces the file with the snapshot and the records since. On failure throws and keeps the old file in use. */
  #replaceWith(fresh: string, written: SnapshotSize): void {
    this.#encode();
    this.#target.file.replaceWith(fresh, written, [...(this.#sinceCompaction ?? []), this.#headRecord(written.size)]);
    this.#target = { ...this.#target, snapshotBytes: written.size };
  }
}

/** The labels that a session list shows. */
export function labelsOf(session: Session): Pick<HeadRecord, 'title' | 'resumeKey' | 'turns' | 'files' | 'failed' | 'runs' | 'used'> {
  const { resumeKey, turns } = session;
  const [title, files] = [titleOf(session), filesChanged(session)];
  const last = turns.at(-1);
  const used = last?.endedAt ?? last?.startedAt ?? 0;
  return {
    ...(title === '' ? {} : { title }),
    ...(resumeKey === undefined ? {} : { resumeKey }),
    turns: turns.length,
    ...(files === 0 ? {} : { files }),
    ...(last?.status === 'failed' ? { failed: true } : {}),
    ...(last?.status === 'running' ? { runs: true } : {}),
    ...(used < KNOWN_SINCE ? {} : { used }),
  };
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
  // Damage at one end leaves the other.
  yield head;
}

/** True for events that change the head. */
function tellsHead({ type }: SessionEvent, { turns }: Session): boolean {
  if (type === 'link.ready') return turns.length > 0;
  return type === 'title.set' || type === 'resume.set' || type === 'turn.started';
}

export function journalFile(folder: string, id: string): string {
  return path.join(folder, `${id.replace(/[^\w-]/g, '_')}.journal`);
}
