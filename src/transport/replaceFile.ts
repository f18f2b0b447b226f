import { renameSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { t } from '../base/l10n.ts';
import { systemCode } from '../base/log.ts';

/** Milliseconds between attempts. Virus scanners, indexers and backups hold a file of Windows for some hundred milliseconds. */
const WAITS = [10, 20, 50, 100, 200, 400];

/** Milliseconds between attempts to remove what nobody waits for, at most. */
const LONGEST_WAIT = 30_000;

/** The code of an error that Windows gives while another program holds the file. */
export function heldBy(error: unknown): string | undefined {
  const code = systemCode(error);
  return code === 'EPERM' || code === 'EACCES' || code === 'EBUSY' ? code : undefined;
}

/** For the user: the file is held by another program, or protected. Any other error comes back as it is. */
export function explained(file: string, error: unknown): unknown {
  const code = heldBy(error) ?? (systemCode(error) === 'EROFS' ? 'EROFS' : undefined);
  if (code === undefined) return error;
  const text = t('{0} is open in another program, or protected ({1}). Close it there or allow writing, then try again.', file, code);
  return Object.assign(new Error(text, { cause: error }), { code });
}

/** Does something to a file: again for about 0.8 s while another program holds it, where `retries`; then rejects with an error about that. */
export async function whileHeld<Result>(file: string, run: () => Promise<Result>, retries = process.platform === 'win32'): Promise<Result> {
  for (const wait of retries ? WAITS : []) {
    try {
      return await run();
    } catch (error) {
      if (heldBy(error) === undefined) throw error;
    }
    await pause(wait);
  }
  return run().catch((error: unknown) => {
    throw explained(file, error);
  });
}

/** Renames `from` to `to`, replacing it, as `whileHeld`. */
export function replaceFile(from: string, to: string, move: typeof rename = rename): Promise<void> {
  return whileHeld(to, () => move(from, to), true);
}

/** `replaceFile` for callers that cannot wait for a promise; blocks the thread while it waits. */
export function replaceFileSync(from: string, to: string, move: typeof renameSync = renameSync): void {
  for (const wait of WAITS) {
    try {
      move(from, to);
      return;
    } catch (error) {
      if (heldBy(error) === undefined) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, wait);
  }
  try {
    move(from, to);
  } catch (error) {
    throw explained(to, error);
  }
}

const discarded = new Set<string>();

/**
 * Removes a file or folder that nobody needs any more: at once, or as soon as another program lets go of it. Never throws. `isWanted`, asked before
 * each attempt: it has come into use again and stays.
 */
export function discard(file: string, isWanted: () => boolean = () => false): void {
  if (discarded.has(file)) return;
  const attempt = (wait: number): void => {
    discarded.delete(file);
    if (isWanted()) return;
    try {
      rmSync(file, { force: true, recursive: true });
    } catch (error) {
      if (heldBy(error) === undefined) return;
      discarded.add(file);
      setTimeout(attempt, wait, Math.min(2 * wait, LONGEST_WAIT)).unref();
    }
  };
  attempt(100);
}
