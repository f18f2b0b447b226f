import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { utf8Variables, withoutSecrets } from '../../transport/environment.ts';
import { disownGroup, killLeftBehind, ownGroup } from '../../transport/ownedGroups.ts';
import { hasLeftBehind, signalTree } from '../../transport/processTree.ts';
import { plainFolder } from '../../transport/programFile.ts';
import { shellArguments, shellProgram } from './shellProgram.ts';

export interface CommandSpec {
  readonly command: string;
  readonly cwd: string;
  readonly seconds: number;
  readonly signal: AbortSignal;
}
export type CommandEnd =
  | { readonly type: 'exited'; readonly code: number | null; readonly signal: string | null }
  | { readonly type: 'timeout' }
  | { readonly type: 'failed'; readonly message: string };

/** Where a command prints. */
export type Printed = 'stdout' | 'stderr';

const PATIENCE_MS = 2000;
const QUIET_MS = 250;

/**
 * Runs a command line in a process group of its own. On abort or time-out the whole group gets SIGTERM and, two seconds later, SIGKILL; the
 * promise settles when the shell has ended.
 */
export function runCommand(spec: CommandSpec, onText: (text: string, from: Printed) => void): Promise<CommandEnd> {
  return new Promise((resolve) => {
    if (spec.signal.aborted) {
      resolve({ type: 'exited', code: null, signal: 'SIGTERM' });
      return;
    }
    const shell = shellProgram();
    const child = spawn(shell.file, shellArguments(shell, spec.command), {
      cwd: plainFolder(spec.cwd),
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment(),
    });
    const pid = child.pid;
    ownGroup(child, true);
    let timedOut = false;
    let kill: NodeJS.Timeout | undefined;
    let drained: NodeJS.Timeout | undefined;
    const end = (): void => {
      if (pid === undefined || kill) return;
      signalTree(pid, 'SIGTERM');
      kill = setTimeout(() => signalTree(pid, 'SIGKILL'), PATIENCE_MS);
    };
    const limit = setTimeout(() => {
      timedOut = true;
      end();
    }, spec.seconds * 1000);
    spec.signal.addEventListener('abort', end, { once: true });
    for (const from of ['stdout', 'stderr'] as const) {
      const stream = child[from];
      const decoder = new StringDecoder('utf8');
      stream.on('data', (chunk: Buffer) => {
        drained?.refresh();
        onText(decoder.write(chunk), from);
      });
    }
    const settle = (result: CommandEnd): void => {
      clearTimeout(limit);
      spec.signal.removeEventListener('abort', end);
      resolve(result);
    };
    child.on('error', (error) => settle({ type: 'failed', message: error.message }));
    child.on('exit', (code, signal) => {
      const finish = (): void => {
        clearTimeout(drained);
        clearTimeout(latest);
        clearTimeout(kill);
        // Kills processes that outlived the shell and may have ignored the first signal.
        if (kill && pid !== undefined) killLeftBehind(pid);
        if (pid !== undefined && !hasLeftBehind(pid, false)) disownGroup(pid);
        child.stdout.destroy();
        child.stderr.destroy();
        settle(timedOut ? { type: 'timeout' } : { type: 'exited', code, signal });
      };
      // A background process may hold the pipes open for ever: a quiet moment is the end of the output, and two seconds in any case.
      drained = setTimeout(finish, QUIET_MS);
      const latest = setTimeout(finish, PATIENCE_MS);
      child.on('close', finish);
    });
  });
}

/** The agent's environment without Parley's own secrets and the switch that makes an editor's binary a Node. */
function environment(): NodeJS.ProcessEnv {
  const { ELECTRON_RUN_AS_NODE: _, ...rest } = withoutSecrets(process.env);
  // A program of the working folder runs only when the command names it by a path.
  const onWindows = process.platform === 'win32' ? { NoDefaultCurrentDirectoryInExePath: '1' } : {};
  return { ...rest, ...onWindows, ...utf8Variables(rest), PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };
}
