import { spawn } from 'node:child_process';
import path from 'node:path';

/** How long the user's shell may take to say its PATH, in milliseconds. */
const PATIENCE = 5000;
const MARK = '\u0001';

let known: Promise<string> | undefined;

/**
 * The PATH of the user's login shell together with our own: an editor started from a desktop has only a short one. Asked once; where there is
 * no such shell, or it does not answer, it is our own. Never rejects.
 */
export function loginPath(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  known ??= ask(env).then((found) => joined(env.PATH ?? '', found ?? ''));
  return known;
}

/** For tests: the next call asks again. */
export function forgetLoginPath(): void {
  known = undefined;
}

function ask(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const shell = env.SHELL;
  if (process.platform === 'win32' || !shell || !path.isAbsolute(shell)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    // Interactive, too: version managers are set up in the files of interactive shells. Marks keep what those print apart.
    const child = spawn(shell, ['-i', '-l', '-c', `printf '${MARK}%s${MARK}' "$PATH"`], {
      stdio: ['ignore', 'pipe', 'ignore'],
      // A session of its own has no terminal to stop for.
      detached: true,
    });
    let said = '';
    const settle = (found: string | undefined) => {
      clearTimeout(timer);
      resolve(found);
    };
    const timer = setTimeout(() => {
      if (child.pid !== undefined) {
        try {
          process.kill(-child.pid, 'SIGKILL');
        } catch {
          // The process has already exited.
        }
      }
      settle(undefined);
    }, PATIENCE);
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
    child.on('error', () => settle(undefined));
    child.on('close', () => settle(said.split(MARK)[1]));
  });
}

function joined(ours: string, theirs: string): string {
  return [...new Set([...ours.split(path.delimiter), ...theirs.split(path.delimiter)])].filter(Boolean).join(path.delimiter);
}
