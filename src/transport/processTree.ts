import { execFile, spawnSync } from 'node:child_process';
import { systemProgram } from './programFile.ts';

/** Started by its path, because the working folder may hold a program of that name. */
const TASKKILL = systemProgram('taskkill.exe');

/**
 * Signals a process and everything it started. On POSIX the child must lead its own group (`detached: true` at spawn); on Windows the tree is
 * ended by force whatever the signal. A tree that is gone already is no error.
 */
export function signalTree(pid: number, signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
  if (process.platform === 'win32') {
    execFile(TASKKILL, ['/pid', String(pid), '/T', '/F'], () => {});
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone.
    }
  }
}

/** As `signalTree` with SIGKILL, for the end of this process: nothing asynchronous would still run. */
export function killTreeNow(pid: number): void {
  if (process.platform === 'win32')
    spawnSync(TASKKILL, ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true, timeout: 5_000 });
  else signalTree(pid, 'SIGKILL');
}

/**
 * True while something is left in the group of a process that has exited. Windows has no groups: there it is whether something still holds the pipes
 * (`holdsPipes`).
 */
export function hasLeftBehind(pid: number, holdsPipes: boolean): boolean {
  if (process.platform === 'win32') return holdsPipes;
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
