import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import crossSpawn from 'cross-spawn';
import { Once } from '../base/emitter.ts';
import { t } from '../base/l10n.ts';
import type { Disposable } from '../base/lifetime.ts';
import { type Log, messageOf, systemCode } from '../base/log.ts';
import { type Channel, type Closed, closedChannel } from './channel.ts';
import { HOST_TOKEN } from './environment.ts';
import type { LineBounds } from './lines.ts';
import { disownGroup, killLeftBehind, ownGroup } from './ownedGroups.ts';
import { signalTree } from './processTree.ts';
import { commandOf, workingFolder } from './programFile.ts';
import { stdioChannel } from './stdio.ts';

export interface ProcessSpec {
  /** The user's name for the program; by default its command line. */
  readonly name?: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to what the child inherits; an undefined value takes a variable away. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}
export interface ProcessOptions extends LineBounds {
  readonly log: Log;
  /** Starts the program. Default: cross-spawn. */
  readonly spawn?: typeof crossSpawn.spawn;
  /** Milliseconds after the end of its input until SIGTERM, and from there until SIGKILL (wire.md §12). */
  readonly patience?: { readonly end: number; readonly term: number };
}

const STDERR_KEPT = 64 * 1024;
/** After the process has exited: how long what it wrote may still be on its way, when something it started holds the pipe. */
const DRAIN = 300;
const PATIENCE = { end: 5_000, term: 3_000 };
/** Variables meant for the editor's own runtime, which change what a foreign program does, and the key to the agent host. */
const NOT_INHERITED = { DEBUG: undefined, NODE_OPTIONS: undefined, ELECTRON_RUN_AS_NODE: undefined, [HOST_TOKEN]: undefined };

/**
 * A child process as a channel over its stdin and stdout. It leads its own process group; disposing ends its input, then the whole group by
 * SIGTERM and SIGKILL. Whatever it started is ended when it has exited. Starting never throws: a failed start is a channel that closes.
 */
export function processChannel(spec: ProcessSpec, options: ProcessOptions): Channel {
  try {
    // Node refuses an empty name; cross-spawn on Windows runs cmd.exe with it.
    if (spec.command === '') throw new Error('The command is empty.');
    return new ProcessChannel(spec, options);
  } catch (error) {
    // A program that is missing, or arguments that none can be started with: an empty name, a null character.
    return closedChannel({ ...whyNotStarted(spec, error), stderr: '' });
  }
}

class ProcessChannel implements Channel {
  readonly #spec: ProcessSpec;
  readonly #options: ProcessOptions;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #pipe: Channel;
  readonly #stderr = new ErrorTail(STDERR_KEPT);
  readonly #closed = new Once<Closed>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #ending = false;
  /** Something was read since this was last looked at. */
  #fresh = false;

  /** Throws for arguments that no program can be started with. */
  constructor(spec: ProcessSpec, options: ProcessOptions) {
    this.#spec = spec;
    this.#options = options;
    const env = environmentWith(spec.env);
    const { file, args } = commandOf(spec.command, spec.args, env);
    const child = (options.spawn ?? crossSpawn.spawn)(file, [...args], {
      cwd: workingFolder(file, spec.cwd),
      env,
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: 'pipe',
    });
    this.#child = child;
    ownGroup(child);
    this.#pipe = stdioChannel(child.stdout, child.stdin, options);
    child.stdout.on('data', () => {
      this.#fresh = true;
    });
    child.stderr.on('data', (chunk: Buffer) => this.#stderr.add(chunk));
    child.on('error', (error) => this.#failed(error));
    child.on('exit', (code, signal) => this.#exited(code, signal));
    this.#pipe.onClosed((why) => this.#pipeClosed(why));
  }

  send(line: string): Promise<void> {
    return this.#pipe.send(line);
  }

  onMessage(listener: (line: string) => void): Disposable {
    return this.#pipe.onMessage(listener);
  }

  onClosed(listener: (closed: Closed) => void): Disposable {
    return this.#closed.listen(listener);
  }

  dispose(): void {
    if (this.#ending || this.#closed.value) return;
    this.#ending = true;
    const patience = this.#options.patience ?? PATIENCE;
    this.#child.stdin.end();
    this.#later(patience.end, () => {
      this.#signal('SIGTERM');
      this.#later(patience.term, () => this.#signal('SIGKILL'));
    });
  }

  #failed(error: Error): void {
    this.#options.log.warn(`${this.#spec.command}: ${error.message}`);
    const { pid } = this.#child;
    // On Windows cmd.exe runs in place of a program that is missing: then there is a pid, and this event replaces `exit`.
    if (pid !== undefined && systemCode(error) !== 'ENOENT') return;
    if (pid !== undefined) disownGroup(pid);
    this.#finish(whyNotStarted(this.#spec, error));
  }

  #exited(code: number | null, signal: string | null): void {
    const how = {
      reason: this.#ending ? t('The connection was lost.') : stoppedByItself(this.#spec),
      failure: 'ended' as const,
      ...(code === null ? {} : { code }),
      ...(signal === null ? {} : { signal }),
    };
    const { pid } = this.#child;
    if (pid !== undefined) {
      killLeftBehind(pid);
      disownGroup(pid);
    }
    this.#child.once('close', () => this.#finish(how));
    this.#finishWhenSilent(how);
  }

  /** Something that got away from the group may hold the pipe open: then silence decides. */
  #finishWhenSilent(how: Omit<Closed, 'stderr'>): void {
    this.#fresh = false;
    this.#later(DRAIN, () => setImmediate(() => (this.#fresh ? this.#finishWhenSilent(how) : this.#finish(how))));
  }

  #pipeClosed(why: Closed): void {
    if (why.failure !== 'broken' || this.#closed.value) return;
    this.#options.log.warn(`${this.#spec.command}: ${why.reason}`);
    this.#signal('SIGKILL');
    this.#finish({ reason: `${stoppedByItself(this.#spec)} ${why.reason}`, failure: 'broken' });
  }

  #finish(how: Omit<Closed, 'stderr'>): void {
    if (this.#closed.value) return;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#pipe.dispose();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
    this.#closed.fire({ ...how, stderr: this.#stderr.text() });
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#child.pid !== undefined) signalTree(this.#child.pid, signal);
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }
}

/** The inherited environment of a program started here, with `added` applied; an undefined value removes a variable. */
export function environmentWith(added: ProcessSpec['env']): NodeJS.ProcessEnv {
  const onWindows = process.platform === 'win32';
  const env = mergeEnvironment({ ...process.env }, NOT_INHERITED, onWindows);
  // Keeps cmd.exe from running a program of the working folder in place of the one on the PATH.
  if (onWindows) env.NoDefaultCurrentDirectoryInExePath = '1';
  return mergeEnvironment(env, added, onWindows);
}

/** Sets or, where the value is undefined, removes variables in `env`. Windows knows `Path` and `PATH` as one name. */
export function mergeEnvironment(env: NodeJS.ProcessEnv, added: ProcessSpec['env'], ignoresCase: boolean): NodeJS.ProcessEnv {
  for (const [name, value] of Object.entries(added)) {
    if (ignoresCase) for (const known of Object.keys(env)) if (known.toUpperCase() === name.toUpperCase()) delete env[known];
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
  return env;
}

/** The program and arguments that `processChannel` starts for it: on Windows node and the script behind a batch file of npm. One that is missing stays. */
export function programFor({ command, args, env }: Pick<ProcessSpec, 'command' | 'args' | 'env'>): Pick<ProcessSpec, 'command' | 'args'> {
  try {
    const found = commandOf(command, args, environmentWith(env));
    return { command: found.file, args: found.args };
  } catch {
    return { command, args };
  }
}

/** The user's name for the started program. */
function nameOf(spec: ProcessSpec): string {
  return spec.name || commandLine(spec);
}

/** A command line in quotes, cut at 200 characters. */
export function commandLine({ command, args }: Pick<ProcessSpec, 'command' | 'args'>): string {
  const line = [command, ...args].join(' ');
  return `"${line.length > 200 ? `${line.slice(0, 200)}…` : line}"`;
}

function stoppedByItself(spec: ProcessSpec): string {
  return t('{0} stopped unexpectedly.', nameOf(spec));
}

function whyNotStarted(spec: ProcessSpec, error: unknown): Omit<Closed, 'stderr'> {
  const code = systemCode(error);
  if (!existsSync(spec.cwd))
    return { failure: 'noFolder', reason: t('{0} could not start: {1}', nameOf(spec), t('{0} does not exist.', spec.cwd)) };
  if (code === 'ENOENT') {
    return {
      failure: 'missing',
      reason: t('“{0}” was not found. Is it installed, and is it on the PATH that Parley was started with?', spec.command),
    };
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return {
      failure: 'forbidden',
      reason: t('“{0}” may not be executed. Check that it is a program and that its permissions allow it.', spec.command),
    };
  }
  return { failure: 'broken', reason: t('{0} could not start: {1}', nameOf(spec), messageOf(error)) };
}

/** The last bytes of a stream. */
class ErrorTail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) >= this.#limit) this.#bytes -= this.#chunks.shift()?.length ?? 0;
  }

  text(): string {
    const whole = Buffer.concat(this.#chunks);
    return whole.subarray(Math.max(0, whole.length - this.#limit)).toString('utf8');
  }
}
