import { execFile } from 'node:child_process';

/**
 * Signals a process and everything it started. On POSIX the child must lead its own group (`detached: true` at spawn); on Windows the tree is
 * ended by force whatever the signal. A tree that is gone already is no error.
 */
export function signalTree(pid: number, signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
  if (process.platform === 'win32') {
    execFile('taskkill', ['/pid', String(pid), '/T', '/F'], () => {});
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
