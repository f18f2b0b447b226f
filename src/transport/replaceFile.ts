import { renameSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between attempts. Virus scanners, indexers and backups hold a file of Windows for some hundred milliseconds. */
const WAITS = [10, 20, 50, 100, 200, 400];

/** True for the errors of Windows while another program holds the file. */
const isHeld = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EPERM' || code === 'EACCES' || code === 'EBUSY';
};

/** Renames `from` to `to`, replacing it. Tries again for about 0.8 s while another program holds `to`; then rejects with the last error. */
export async function replaceFile(from: string, to: string, move: typeof rename = rename): Promise<void> {
  for (const wait of WAITS) {
    try {
      return await move(from, to);
    } catch (error) {
      if (!isHeld(error)) throw error;
    }
    await pause(wait);
  }
  await move(from, to);
}

/** `replaceFile` for callers that cannot wait for a promise; blocks the thread while it waits. */
export function replaceFileSync(from: string, to: string, move: typeof renameSync = renameSync): void {
  for (const wait of WAITS) {
    try {
      move(from, to);
      return;
    } catch (error) {
      if (!isHeld(error)) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, wait);
  }
  move(from, to);
}
