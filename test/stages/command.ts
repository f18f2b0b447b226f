import { spawn } from 'node:child_process';
import path from 'node:path';

const limitMs = 300_000;

/** Runs a program in its own process group to its end; resolves with its stdout. Rejects with all its output when it fails or takes five minutes. */
export function command(file: string, ...args: string[]): Promise<string> {
  const shell = process.platform === 'win32' && file === 'npm';
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], shell, detached: process.platform !== 'win32' });
    let stdout = '';
    let output = '';
    const gather = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      process.off('exit', sweep);
      act();
    };
    const sweep = (): void => killGroup(child.pid);
    const timer = setTimeout(() => {
      output += `\nended after ${limitMs / 1000} s without a result`;
      sweep();
    }, limitMs);
    process.once('exit', sweep);
    child.stdout.on('data', gather);
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', gather);
    child.once('error', (error) => settle(() => reject(error)));
    child.once('close', (code, signal) =>
      settle(() =>
        code === 0
          ? resolve(stdout)
          : reject(new Error(`${path.basename(file)} ${args.join(' ')}: ${signal ?? `exit code ${code}`}\n${output}`)),
      ),
    );
  });
}

/** Ends a process and everything it started in its group; harmless when all are gone. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // nothing is left of it
  }
}

/** Runs npm with the npm that started us, if one did. */
export function npm(...args: string[]): Promise<string> {
  const own = process.env.npm_execpath;
  return own?.endsWith('.js') ? command(process.execPath, own, ...args) : command('npm', ...args);
}
