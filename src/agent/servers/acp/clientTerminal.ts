import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../base/log.ts';
import type { CommandEnd, CommandSpec } from '../../tools/runCommand.ts';
import { shellArguments, shellProgram } from '../../tools/shellProgram.ts';

export type Ask = (method: string, params: object) => Promise<unknown>;

/** How long a client has to end a command that was killed, before its output is taken as it is. Milliseconds. */
const PATIENCE_MS = 2000;
const STOPPED: CommandEnd = { type: 'exited', code: null, signal: 'SIGTERM' };

/**
 * Runs a command in the client's terminal (acp.md §10). A command that takes too long, or is not wanted any more, is killed there. The user
 * who says stop waits for nothing of it: kill and release go on behind, and so does a client that answers neither.
 */
export async function runInClient(
  ask: Ask,
  spec: CommandSpec,
  onTerminal: (terminalId: string) => void,
  onText: (text: string) => void,
): Promise<CommandEnd> {
  const { signal } = spec;
  if (signal.aborted) return STOPPED;
  const stopped = new Promise<CommandEnd>((resolve) => signal.addEventListener('abort', () => resolve(STOPPED), { once: true }));
  return Promise.race([
    stopped,
    run(ask, spec, onTerminal, onText).catch((error): CommandEnd => ({ type: 'failed', message: messageOf(error) })),
  ]);
}

async function run(
  ask: Ask,
  { command, cwd, seconds, signal }: CommandSpec,
  onTerminal: (terminalId: string) => void,
  onText: (text: string) => void,
): Promise<CommandEnd> {
  const { terminalId } = (await ask('terminal/create', { ...commandOf(command), cwd })) as { terminalId: string };
  const kill = () => ask('terminal/kill', { terminalId }).catch(() => undefined);
  // Behind the kill, but not for ever: a client may answer it only when the command has ended.
  const killAndRelease = async () => {
    await Promise.race([kill(), pause(PATIENCE_MS, undefined, { ref: false })]);
    await release();
  };
  const release = () => ask('terminal/release', { terminalId }).catch(() => undefined);
  const limit = new AbortController();
  const stop = () => {
    limit.abort();
    void killAndRelease();
  };
  if (signal.aborted) {
    stop();
    return STOPPED;
  }
  onTerminal(terminalId);
  signal.addEventListener('abort', stop, { once: true });
  const exit = ask('terminal/wait_for_exit', { terminalId }) as Promise<{ exitCode?: number | null; signal?: string | null }>;
  exit.catch(() => undefined);
  const late = pause(seconds * 1000, 'late' as const, { signal: limit.signal });
  late.catch(() => undefined);
  try {
    const end = await Promise.race([exit, late]);
    if (end === 'late') await Promise.race([kill().then(() => exit), pause(PATIENCE_MS, undefined, { ref: false })]);
    const { output } = (await ask('terminal/output', { terminalId })) as { output: string };
    if (!signal.aborted) onText(output);
    return end === 'late' ? { type: 'timeout' } : { type: 'exited', code: end.exitCode ?? null, signal: end.signal ?? null };
  } finally {
    limit.abort();
    signal.removeEventListener('abort', stop);
    if (!signal.aborted) void release();
  }
}

/** A client on Windows would run a bare command line in cmd.exe; the model was told of the agent's own shell. */
function commandOf(command: string): { readonly command: string; readonly args?: readonly string[] } {
  if (process.platform !== 'win32') return { command };
  const shell = shellProgram();
  return { command: shell.file, args: shellArguments(shell, command) };
}
