import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { isMissing, type Log, messageOf } from '../../base/log.ts';
import type { Session, SessionId } from '../../session/model.ts';
import { newSession } from '../../session/reduce.ts';
import { discard, heldBy, replaceFile, whileHeld } from '../../transport/replaceFile.ts';
import { replayLegacy, replayLegacyText } from './legacy.ts';
import { FileLock, isHeld, type LockOwner, lastSignOfLife, takeSettled } from './lock.ts';
import { type Disk, lockFile, realDisk } from './recordFile.ts';
import { RecordReader } from './records.ts';
import { Replay, type Replayed, replayFile, VERSION } from './replay.ts';
import type { HeadRecord } from './schema.ts';
import { type JournalHead, JournalWriter, journalFile, labelsOf, writeSnapshot } from './writer.ts';

export interface JournalEntry {
  readonly head: JournalHead;
  readonly title: string;
  /** When it was last used, milliseconds since the epoch. */
  readonly at: number;
  readonly bytes: number;
  /** The agent's own name for the conversation. */
  readonly resumeKey?: string;
  /** How many files it has changed. */
  readonly files: number;
  readonly failed?: true;
  /** Its last turn has not ended; if no process has it open, one was killed in it. */
  readonly runs?: true;
}
export interface OpenSessions {
  readonly ids: readonly SessionId[];
  readonly active?: SessionId;
}
export type OpenedJournal =
  | {
      readonly kind: 'opened';
      readonly head: JournalHead;
      readonly session: Session;
      /** Records that could not be read. */
      readonly lost: number;
      /** When its writer wrote something or showed a sign of life last. */
      readonly at: number;
      readonly writer: JournalWriter;
    }
  /** Another window has the session open. */
  | { readonly kind: 'elsewhere' }
  /** No session with that id that this build can read. */
  | { readonly kind: 'gone' };

const DAY = 24 * 60 * 60 * 1000;
/** Bytes at either end of a file that are read to list it. */
const END_BYTES = 64 * 1024;
/** Old files that are compacted in one go, at most, and how large a file must be for it. */
const MOST_COMPACTED = 20;
const WORTH_COMPACTING = 256 * 1024;
/** Milliseconds until the list of open sessions is tried again, at first and at most. */
const FIRST_RETRY = 100;
const LONGEST_RETRY = 10_000;
const openSessions = z.object({ ids: z.array(z.string()), active: z.optional(z.string()) });

/** Sessions as files of records, one file each. Only one process writes a file at a time. Skips unreadable records; they are never fatal. */
export class Journal {
  readonly #folder: string;
  readonly #log: Log;
  readonly #disk: Disk;
  #openRetry: NodeJS.Timeout | undefined;

  constructor(folder: string, log: Log, disk: Disk = realDisk) {
    this.#folder = folder;
    this.#log = log;
    this.#disk = disk;
  }

  /** Creates the writer of a new session. The first write creates the file. */
  create(head: JournalHead): JournalWriter {
    this.#ensureFolder();
    const session = newSession(head.id, head.agent, head.cwd);
    return new JournalWriter({ folder: this.#folder, head, session, seq: 0 }, this.#log, this.#disk);
  }

  /** Creates the writer of an existing session, such as a recording; the first write stores it whole. */
  add(head: JournalHead, session: Session): JournalWriter {
    this.#ensureFolder();
    return new JournalWriter({ folder: this.#folder, head, session, seq: 0 }, this.#log, this.#disk);
  }

  /** Opens an earlier session: its state, and the lock to continue it. */
  async open(id: SessionId): Promise<OpenedJournal> {
    this.#ensureFolder();
    const alive = this.#lastSignOfLife(id);
    const lock = this.#lock(id);
    if (lock !== undefined && !(lock instanceof FileLock)) return { kind: 'elsewhere' };
    const found = await this.#replay(id, lock !== undefined);
    if (!found || found.head.id !== id || found.head.version > VERSION) {
      lock?.dispose();
      return { kind: 'gone' };
    }
    if (found.lost > 0) this.#log.warn(`${found.lost} records of the session ${id} could not be read`);
    const { session, seq, size } = found;
    const head = headOf(found.head);
    const { snapshotBytes } = found.head;
    const start = {
      folder: this.#folder,
      head,
      session,
      seq,
      size,
      ...(lock ? { lock } : {}),
      ...(snapshotBytes ? { snapshotBytes } : {}),
    };
    const at = Math.max(found.at, alive);
    return { kind: 'opened', head, session, lost: found.lost, at, writer: new JournalWriter(start, this.#log, this.#disk) };
  }

  /** The state of a session, without the right to write; `at`: when its writer wrote something or showed a sign of life last. */
  async read(
    id: SessionId,
  ): Promise<{ readonly head: JournalHead; readonly session: Session; readonly lost: number; readonly at: number } | undefined> {
    const found = await this.#replay(id, false);
    if (found?.head.id !== id) return undefined;
    return { head: headOf(found.head), session: found.session, lost: found.lost, at: Math.max(found.at, this.#lastSignOfLife(id)) };
  }

  /** An agent may think for minutes without a word: a killed process was there until then. */
  #lastSignOfLife(id: SessionId): number {
    return lastSignOfLife(lockFile(journalFile(this.#folder, id)));
  }

  /** True of a session that is stored, even one that cannot be read. */
  has(id: SessionId): boolean {
    return [journalFile, legacyFile].some((nameOf) => existsSync(nameOf(this.#folder, id)));
  }

  /** True while another window has the session open. */
  isElsewhere(id: SessionId): boolean {
    return isHeld(lockFile(journalFile(this.#folder, id)));
  }

  /** Newest first. Sessions in which nothing was said are left out. */
  async list(): Promise<readonly JournalEntry[]> {
    const entries = (await this.#scan()).flatMap(({ head, at, bytes }): readonly JournalEntry[] => {
      if (!head || head.turns === 0 || head.version > VERSION) return [];
      const { title = '', resumeKey, files = 0, failed, runs, used = at } = head;
      const more = { ...(resumeKey === undefined ? {} : { resumeKey }), ...(failed ? { failed } : {}), ...(runs ? { runs } : {}) };
      return [{ head: headOf(head), title, at: used, bytes, files, ...more }];
    });
    return entries.toSorted((a, b) => b.at - a.at);
  }

  /**
   * Removes all but the newest sessions within both bounds, and those older than a day in which nothing was said; `keep` and what another window
   * has open stay in any case. Then compacts some of the old ones.
   */
  async prune(most: { readonly sessions: number; readonly bytes: number }, keep: ReadonlySet<SessionId>, now: number): Promise<void> {
    let bytes = 0;
    const entries = await this.list();
    const kept = entries.filter((entry, at) => {
      bytes += entry.bytes;
      return at < most.sessions && bytes <= most.bytes;
    });
    const stay = new Set([...kept.map((entry) => entry.head.id), ...keep]);
    for (const { head, file, at, bytes: size } of await this.#scan()) {
      // A file that this build cannot read may belong to another build.
      const removable = head ? head.version <= VERSION && !stay.has(head.id) : size === 0;
      if (!removable || now - at <= DAY || (head && this.isElsewhere(head.id))) continue;
      this.#log.info(`${path.basename(file)} is removed: it is empty, or there are more conversations than are kept`);
      try {
        // Without the new one an old one would be read again, and the other way round.
        if (head) await rm(legacyFile(this.#folder, head.id), { force: true });
        await rm(file, { force: true });
      } catch (error) {
        this.#log.warn(`It stays for now: ${messageOf(error)}`);
      }
    }
    await this.#compactOld(kept, keep, now);
  }

  /** Rejects with a message for the user while another window has the session open, or another program holds the file; the session then is kept. */
  async remove(id: SessionId): Promise<void> {
    this.#ensureFolder();
    const lock = await takeSettled(() => this.#lock(id));
    const file = journalFile(this.#folder, id);
    try {
      // The old one first: it would be read again without the new one.
      for (const one of [legacyFile(this.#folder, id), file]) await whileHeld(one, () => rm(one, { force: true }));
      discard(`${file}.new`);
    } finally {
      lock?.dispose();
    }
  }

  /** Reads which sessions a window had open, by the key of the window. */
  readOpen(key: string): OpenSessions {
    try {
      const parsed = openSessions.safeParse(JSON.parse(readFileSync(this.#openFile(key), 'utf8')));
      if (parsed.success) return { ids: parsed.data.ids, ...(parsed.data.active === undefined ? {} : { active: parsed.data.active }) };
    } catch {
      // No such file yet, or half of one: nothing was open.
    }
    return { ids: [] };
  }

  /** Stores the open sessions. Keeps those of another window, because two windows may share a key. */
  writeOpen(key: string, sessions: OpenSessions): void {
    clearTimeout(this.#openRetry);
    this.#writeOpen(key, sessions, FIRST_RETRY);
  }

  /** While another program holds the file, tries again later: nobody waits for it. */
  #writeOpen(key: string, sessions: OpenSessions, wait: number): void {
    const others = this.readOpen(key).ids.filter((id) => !sessions.ids.includes(id) && this.isElsewhere(id));
    const file = this.#openFile(key);
    const fresh = `${file}.${process.pid}.new`;
    try {
      this.#ensureFolder();
      // Writes atomically, because the window may reload midway.
      writeFileSync(fresh, JSON.stringify({ ...sessions, ids: [...sessions.ids, ...others] }), { mode: 0o600 });
      renameSync(fresh, file);
    } catch (error) {
      discard(fresh);
      if (wait === FIRST_RETRY) this.#log.error('The list of open sessions could not be written', error);
      if (heldBy(error) === undefined) return;
      this.#openRetry = setTimeout(() => this.#writeOpen(key, sessions, Math.min(2 * wait, LONGEST_RETRY)), wait).unref();
    }
  }

  #openFile(key: string): string {
    return path.join(this.#folder, `${key}.open.json`);
  }

  /** Creates the folder, readable by the user alone because conversations are confidential. */
  #ensureFolder(): void {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      chmodSync(this.#folder, 0o700);
    } catch (error) {
      this.#log.error('The folder of the sessions could not be made', error);
    }
  }

  /** undefined where the file system has no room for a lock, or allows none: reading goes on, and the writer tries again. */
  #lock(id: SessionId): FileLock | LockOwner | undefined {
    try {
      return FileLock.take(lockFile(journalFile(this.#folder, id)));
    } catch (error) {
      this.#log.error('A session file could not be locked', error);
      return undefined;
    }
  }

  /** The names of one file of each session, the one that counts. */
  async #files(): Promise<readonly string[]> {
    const names = new Set(await readdir(this.#folder).catch(() => []));
    const files = [...names].filter((name) => /\.(?:journal|jsonl)$/.test(name));
    const both = files.filter((name) => name.endsWith('.jsonl') && names.has(currentOf(name)));
    const hidden = await Promise.all(
      both.map(async (name) => ((await storedIn(path.join(this.#folder, currentOf(name))))?.isOld ? currentOf(name) : name)),
    );
    return files.filter((name) => !hidden.includes(name));
  }

  /** `migrate`: a file of format 1 is rewritten; only for the holder of the lock. */
  async #replay(id: SessionId, migrate: boolean): Promise<Replayed | undefined> {
    const file = journalFile(this.#folder, id);
    try {
      const { isOld, ...found } = (await storedIn(file)) ?? {};
      if (!('head' in found)) return undefined;
      const legacy = legacyFile(this.#folder, id);
      if (isOld && migrate) return await this.#migrate(legacy, found);
      if (migrate && found.hasSnapshot) await this.#removeOld(legacy);
      return found;
    } catch (error) {
      this.#log.error(`The session ${id} could not be read`, error);
      return undefined;
    }
  }

  /** Deletes the old file once the new one has reached the disk. */
  async #migrate(legacy: string, found: Replayed): Promise<Replayed> {
    const file = journalFile(this.#folder, found.head.id);
    try {
      const { mtime } = await stat(legacy);
      const { size, seq } = await writeSnapshot(`${file}.new`, { ...found.head, ...labelsOf(found.session) }, found.session);
      await replaceFile(`${file}.new`, file);
      await utimes(file, mtime, mtime);
      await this.#removeOld(legacy);
      return { ...found, size, seq };
    } catch (error) {
      discard(`${file}.new`);
      this.#log.error('A session file of an earlier version could not be rewritten', error);
      return found;
    }
  }

  /** One that stays is not read any more. */
  async #removeOld(legacy: string): Promise<void> {
    await rm(legacy, { force: true }).catch((error: unknown) => this.#log.warn(messageOf(error)));
  }

  async #compactOld(entries: readonly JournalEntry[], keep: ReadonlySet<SessionId>, now: number): Promise<void> {
    let left = MOST_COMPACTED;
    for (const { head, at } of entries) {
      const file = journalFile(this.#folder, head.id);
      const { size = 0, mtime } = (await stat(file).catch(() => undefined)) ?? {};
      if (left === 0) return;
      if (keep.has(head.id) || now - at < DAY || (mtime && size < WORTH_COMPACTING)) continue;
      const last = await lastHead(file).catch(() => undefined);
      if (last?.snapshotBytes !== undefined && size < 1.5 * last.snapshotBytes) continue;
      left -= 1;
      const opened = await this.open(head.id);
      if (opened.kind !== 'opened') continue;
      await opened.writer.compact(true);
      opened.writer.dispose();
      if (mtime) await utimes(file, mtime, mtime).catch(() => {});
    }
  }

  async #scan(): Promise<readonly Scanned[]> {
    const found = await Promise.all((await this.#files()).map((name) => this.#scanFile(path.join(this.#folder, name))));
    return found.filter((one) => one !== undefined);
  }

  async #scanFile(file: string): Promise<Scanned | undefined> {
    try {
      const { mtimeMs: at, size: bytes } = await stat(file);
      const head = file.endsWith('.jsonl') ? await legacyHead(file) : ((await lastHead(file)) ?? (await firstHead(file)));
      return { file, at, bytes, ...(head ? { head } : {}) };
    } catch (error) {
      this.#log.warn(`A session file could not be read: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** Facts about a file, read from its two ends. */
interface Scanned {
  readonly file: string;
  readonly at: number;
  readonly bytes: number;
  readonly head?: HeadRecord;
}

function legacyFile(folder: string, id: SessionId): string {
  return journalFile(folder, id).replace(/journal$/, 'jsonl');
}

function currentOf(legacy: string): string {
  return legacy.replace(/jsonl$/, 'journal');
}

/**
 * The stored session under the name of a current file. One of format 1 beside it counts until the current one holds all of it: a full disk, or the end
 * of a process, may have cut that one off.
 */
async function storedIn(file: string): Promise<(Replayed & { readonly isOld: boolean }) | undefined> {
  let failure: unknown;
  const found = await replayFile(file).catch((error: unknown) => {
    failure = error;
    return undefined;
  });
  const legacy = file.replace(/journal$/, 'jsonl');
  const isEnough = found && (found.hasSnapshot || found.head.version > VERSION || !existsSync(legacy));
  const old = isEnough ? undefined : await oldIn(legacy);
  // With as many turns, what is missing at the end of the last one is not seen.
  if (old && old.session.turns.length >= (found?.session.turns.length ?? 0)) return { ...old, isOld: true };
  if (failure !== undefined && !isMissing(failure)) throw failure;
  return found && { ...found, isOld: false };
}

async function oldIn(legacy: string): Promise<Replayed | undefined> {
  const replay = await replayLegacy(legacy).catch(() => undefined);
  const session = replay?.finish();
  if (!replay?.head || !session) return undefined;
  const head: HeadRecord = { ...replay.head, version: VERSION, turns: session.turns.length };
  const { mtimeMs: at } = await stat(legacy);
  return { head, session, lost: replay.lost, seq: 0, size: 0, hasSnapshot: false, at };
}

function headOf({ id, profile, agent, cwd, at }: HeadRecord): JournalHead {
  return { id, profile, agent, cwd, at };
}

async function lastHead(file: string): Promise<HeadRecord | undefined> {
  const replay = await replayPart(file, -END_BYTES);
  return replay.head;
}

/** The head of a file whose last piece holds none: what the first piece tells or, where no turn has begun in that, the whole file. */
async function firstHead(file: string): Promise<HeadRecord | undefined> {
  const replay = await replayPart(file, 0);
  const session = replay.finish();
  if (replay.head && session && session.turns.length > 0) return { ...replay.head, ...labelsOf(session), runs: true };
  const whole = await replayFile(file);
  return whole && { ...whole.head, ...labelsOf(whole.session) };
}

async function legacyHead(file: string): Promise<HeadRecord | undefined> {
  const replay = replayLegacyText((await readPart(file, 0)).toString('utf8'));
  const session = replay.finish();
  return replay.head && session && { ...replay.head, ...labelsOf(session) };
}

async function replayPart(file: string, from: number): Promise<Replay> {
  const bytes = await readPart(file, from);
  const reader = new RecordReader();
  const replay = new Replay();
  for (const record of [...reader.push(bytes), ...reader.end()]) replay.add(record);
  return replay;
}

/** The first or, from a negative place, the last bytes of a file. */
async function readPart(file: string, from: number): Promise<Buffer> {
  const handle: FileHandle = await open(file);
  try {
    const start = from < 0 ? Math.max(0, (await handle.stat()).size + from) : from;
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(END_BYTES), 0, END_BYTES, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
