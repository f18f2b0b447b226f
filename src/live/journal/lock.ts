import { closeSync, existsSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import * as z from 'zod/mini';
import type { Disposable } from '../../base/lifetime.ts';
import { systemCode } from '../../base/log.ts';
import { discard, heldBy } from '../../transport/replaceFile.ts';

/** Milliseconds between heartbeats of a lock's owner. */
const HEARTBEAT = 10_000;
/** Milliseconds without a heartbeat after which the process id counts as reused by another process. */
const STALE = 45_000;
/** Milliseconds for which an unreadable lock counts as being written. */
const BEING_WRITTEN = 5_000;

/** Only one of several processes that take over a lock at once succeeds; the others retry. */
const MOST_TRIES = 100;

const ownerSchema = z.object({ pid: z.number(), host: z.string(), token: z.string() });
export type LockOwner = z.infer<typeof ownerSchema>;
const UNKNOWN: LockOwner = { pid: 0, host: '', token: '' };

/** Tokens of locks this process has let go of whose files could not be removed yet. Such a lock is free for this process. */
const released = new Set<string>();

/**
 * The right to write a file, held by at most one process: a file beside it that names its owner. A lock goes with its process: one whose process is
 * gone, or shows no sign of life, is taken over.
 */
export class FileLock implements Disposable {
  readonly #file: string;
  readonly #token: string;
  readonly #beat: NodeJS.Timeout;
  #seenAt = Date.now();
  #lost = false;

  private constructor(file: string, token: string) {
    this.#file = file;
    this.#token = token;
    this.#beat = setInterval(() => this.#check(), HEARTBEAT);
    this.#beat.unref();
  }

  /** Returns the lock, or its owner. Throws when the file system refuses. */
  static take(file: string): FileLock | LockOwner {
    const token = crypto.randomUUID();
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      if (create(file, { pid: process.pid, host: hostname(), token })) return new FileLock(file, token);
      const left = readOwner(file);
      if (left && left !== 'busy' && released.delete(left.token)) return new FileLock(file, left.token);
      const owner = ownerOf(file);
      if (owner === 'stale') removeStale(file);
      else if (owner) return owner;
    }
    return UNKNOWN;
  }

  /** False once another process has taken over, which happens only after this process was suspended for long. */
  get held(): boolean {
    if (Math.abs(Date.now() - this.#seenAt) > HEARTBEAT * 1.5) this.#check();
    return !this.#lost;
  }

  /** Never throws: a file that another program holds is removed later. */
  dispose(): void {
    clearInterval(this.#beat);
    if (this.#lost || this.#isTaken()) return;
    this.#lost = true;
    released.add(this.#token);
    discard(this.#file, () => !released.has(this.#token) || this.#isTaken());
    if (!existsSync(this.#file)) released.delete(this.#token);
  }

  /** A file that cannot be read for a moment tells nothing. */
  #isTaken(): boolean {
    const owner = readOwner(this.#file);
    return owner !== 'busy' && owner?.token !== this.#token;
  }

  #check(): void {
    if (this.#isTaken()) this.#lost = true;
    else {
      this.#seenAt = Date.now();
      try {
        utimesSync(this.#file, new Date(), new Date());
      } catch {
        // The next beat tries again.
      }
    }
  }
}

/** True when another process is writing that file. */
export function isHeld(lockFile: string): boolean {
  const owner = ownerOf(lockFile);
  return owner !== undefined && owner !== 'stale';
}

/** False when there is a lock already. The file is never there without its owner, also when this process ends at any moment. */
function create(file: string, owner: LockOwner): boolean {
  if (existsSync(file)) return false;
  const draft = `${file}.${owner.token}`;
  try {
    writeFileSync(draft, JSON.stringify(owner), { flag: 'wx', mode: 0o600 });
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    // Not every file system has links.
    return createInPlace(file, owner);
  } finally {
    discard(draft);
  }
}
function createInPlace(file: string, owner: LockOwner): boolean {
  let fd: number;
  try {
    fd = openSync(file, 'wx', 0o600);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    writeFileSync(fd, JSON.stringify(owner));
    return true;
  } catch (error) {
    try {
      rmSync(file, { force: true });
    } catch {
      // It counts as stale soon.
    }
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** undefined when there is no lock. */
function ownerOf(file: string): LockOwner | 'stale' | undefined {
  let age: number;
  try {
    age = Date.now() - statSync(file).mtimeMs;
  } catch {
    return undefined;
  }
  const owner = readOwner(file);
  if (owner === 'busy') return age > STALE ? 'stale' : UNKNOWN;
  if (owner && released.has(owner.token)) return 'stale';
  if (!owner) return age > BEING_WRITTEN ? 'stale' : UNKNOWN;
  if (owner.host !== hostname()) return age > STALE ? 'stale' : owner;
  // A clock that was set back lets a lock be of the future; an owner that lives sets its time with the next heartbeat.
  return isAlive(owner.pid) && Math.abs(age) <= STALE ? owner : 'stale';
}

/** 'busy' while another program lets nobody read it. */
function readOwner(file: string): LockOwner | 'busy' | undefined {
  try {
    const parsed = ownerSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    return heldBy(error) === undefined ? undefined : 'busy';
  }
}

/** Whether any process has that id: one of another user, which may not be sent a signal, may hold the lock, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

/** Moves a stale lock away; only one process succeeds. Puts back a lock that another process took in between. */
function removeStale(file: string): void {
  const aside = `${file}.${crypto.randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const owner = ownerOf(aside);
  if (owner !== undefined && owner !== 'stale') renameSync(aside, file);
  else discard(aside);
}
