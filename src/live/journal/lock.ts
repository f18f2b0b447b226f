import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
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

/** How often, and after how many milliseconds, to look again whether a writer of this process is done. */
const MOST_LOOKS = 40;
const LOOK_AFTER = 50;

/** Where process ids have one meaning: this computer, and on Linux this namespace of it, as containers may have its name. */
export const LOCK_HOST = [hostname(), pidNamespace()].filter(Boolean).join(' ');
function pidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux.
    return undefined;
  }
}
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
      if (create(file, { pid: process.pid, host: LOCK_HOST, token })) return new FileLock(file, token);
      const left = readOwner(file);
      if (left && left !== 'busy' && released.delete(left.token)) return new FileLock(file, left.token);
      const found = stateOf(file);
      if (found.kind === 'stale') removeStale(file, found.which);
      else if (found.kind === 'held') return found.owner;
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

/**
 * The lock that `take` takes. A writer of this process that was closed may hold it until what it writes has reached the file. Rejects with words for the
 * user while another window has it.
 */
export async function takeSettled(take: () => FileLock | LockOwner | undefined): Promise<FileLock | undefined> {
  for (let tries = 0; ; tries += 1) {
    const lock = take();
    if (lock === undefined || lock instanceof FileLock) return lock;
    if (lock.pid !== process.pid || tries >= MOST_LOOKS)
      throw new Error(t('The session is open in another window or can no longer be read.'));
    await new Promise((resolve) => setTimeout(resolve, LOOK_AFTER));
  }
}

/** When the owner of a lock that was left behind showed its last sign of life, in milliseconds since the epoch; 0 without such a lock. */
export function lastSignOfLife(lockFile: string): number {
  if (stateOf(lockFile).kind !== 'stale') return 0;
  return statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** True when another process is writing that file. */
export function isHeld(lockFile: string): boolean {
  return stateOf(lockFile).kind === 'held';
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

/** A stale lock has a name by which another one in its place is told from it. */
type LockState =
  | { readonly kind: 'free' }
  | { readonly kind: 'held'; readonly owner: LockOwner }
  | { readonly kind: 'stale'; readonly which: string };

function stateOf(file: string): LockState {
  let age: number;
  let which: string;
  try {
    const { mtimeMs, ino } = statSync(file);
    age = Date.now() - mtimeMs;
    which = `${ino}-${mtimeMs}`;
  } catch {
    return { kind: 'free' };
  }
  const owner = readOwner(file);
  const held = { kind: 'held', owner: owner === 'busy' || !owner ? UNKNOWN : owner } as const;
  if (owner === 'busy') return age > STALE ? { kind: 'stale', which } : held;
  if (!owner) return age > BEING_WRITTEN ? { kind: 'stale', which } : held;
  const stale = { kind: 'stale', which: owner.token } as const;
  if (released.has(owner.token)) return stale;
  if (owner.host !== LOCK_HOST) return age > STALE ? stale : held;
  // A clock that was set back lets a lock be of the future; an owner that lives sets its time with the next heartbeat.
  return isAlive(owner.pid) && Math.abs(age) <= STALE ? held : stale;
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

/**
 * Removes the stale lock `which`, not one that has taken its place. Only one process at a time may: the one that holds the claim on that very lock, a
 * file beside it. Whoever judged the lock before it was removed finds, with a claim of its own, that another lock is there.
 */
function removeStale(file: string, which: string): void {
  const claim = `${file}.${which.replace(/[^\w-]/g, '').slice(0, 60)}.removal`;
  const token = crypto.randomUUID();
  if (!create(claim, { pid: process.pid, host: LOCK_HOST, token })) {
    // The process that held it ended meanwhile.
    if (stateOf(claim).kind === 'stale') discard(claim);
    return;
  }
  try {
    if (isStale(file, which)) moveAway(file, which);
  } finally {
    const owner = readOwner(claim);
    if (owner === 'busy' || owner?.token === token) discard(claim);
  }
}

function moveAway(file: string, which: string): void {
  const aside = `${file}.${crypto.randomUUID()}`;
  try {
    renameSync(file, aside);
    // This process was suspended and another one took its claim for abandoned. The lock moved aside is put back, but never over another one.
    if (!isStale(aside, which)) linkSync(aside, file);
  } catch {
    // It is gone, or another process has the lock by now.
  }
  discard(aside);
}

function isStale(file: string, which: string): boolean {
  const found = stateOf(file);
  return found.kind === 'stale' && found.which === which;
}
