import { existsSync } from 'node:fs';
import crossSpawn from 'cross-spawn';
import { Emitter } from '../base/emitter.ts';
import { t } from '../base/l10n.ts';
import { toDisposable } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Channel, Closed } from './channel.ts';
import type { LineBounds } from './lines.ts';
import { disownGroup, ownGroup } from './ownedGroups.ts';
import { killLeftBehind, signalTree } from './processTree.ts';
import { listenOnce, stdioChannel } from './stdio.ts';

export interface ProcessSpec {
  /** What a user calls it; its command line where nobody says. */
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
/** Variables meant for the editor's own runtime, which change what a foreign program does. */
const NOT_INHERITED = ['DEBUG', 'NODE_OPTIONS', 'ELECTRON_RUN_AS_NODE'];

/**
 * A child process as a channel over its stdin and stdout. It leads its own process group; disposing ends its input, then the whole group by
 * SIGTERM and SIGKILL. Whatever it started is ended when it has exited. Starting never throws: a failed start is a channel that closes.
 */
export function processChannel(spec: ProcessSpec, options: ProcessOptions): Channel {
  try {
    // Node refuses an empty name; cross-spawn on Windows runs cmd.exe with it.
    if (spec.command === '') throw new Error('The command is empty.');
    return startProcess(spec, options);
  } catch (error) {
    // Arguments that no program can be started with: an empty name, a null character.
    return closedChannel({ failure: 'broken', reason: t('{0} could not start: {1}', nameOf(spec), messageOf(error)), stderr: '' });
  }
}

function startProcess(spec: ProcessSpec, options: ProcessOptions): Channel {
  const patience = options.patience ?? PATIENCE;
  const closes = new Emitter<Closed>();
  const stderr = new Tail(STDERR_KEPT);
  const timers = new Set<NodeJS.Timeout>();
  let closed: Closed | undefined;
  let ending = false;

  const child = (options.spawn ?? crossSpawn.spawn)(spec.command, [...spec.args], {
    cwd: spec.cwd,
    env: environmentWith(spec.env),
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: 'pipe',
  });
  const { pid } = child;
  if (pid !== undefined) ownGroup(pid);
  const pipe = stdioChannel(child.stdout, child.stdin, options);

  let fresh = false;
  child.stdout.on('data', () => {
    fresh = true;
  });

  const later = (ms: number, run: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  };
  const finish = (how: Omit<Closed, 'stderr'>): void => {
    if (closed) return;
    for (const timer of timers) clearTimeout(timer);
    pipe.dispose();
    child.stdout.destroy();
    child.stderr.destroy();
    closed = { ...how, stderr: stderr.text() };
    closes.fire(closed);
    closes.dispose();
  };
  const end = (): void => {
    if (ending || closed) return;
    ending = true;
    child.stdin.end();
    later(patience.end, () => {
      if (pid !== undefined) signalTree(pid, 'SIGTERM');
      later(patience.term, () => {
        if (pid !== undefined) signalTree(pid, 'SIGKILL');
      });
    });
  };

  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
  child.on('error', (error: NodeJS.ErrnoException) => {
    options.log.warn(`${spec.command}: ${error.message}`);
    // On Windows cmd.exe runs in place of a program that is missing: then there is a pid, and this event replaces `exit`.
    if (pid !== undefined && error.code !== 'ENOENT') return;
    if (pid !== undefined) disownGroup(pid);
    finish(whyNotStarted(spec, error));
  });
  child.on('exit', (code, signal) => {
    const how = {
      reason: howEnded(nameOf(spec), ending, code, signal),
      failure: 'ended' as const,
      ...(code === null ? {} : { code }),
      ...(signal === null ? {} : { signal }),
    };
    if (pid !== undefined) {
      killLeftBehind(pid);
      disownGroup(pid);
    }
    child.once('close', () => finish(how));
    // Something that got away from the group may hold the pipe open: then silence decides.
    const drain = (): void => {
      fresh = false;
      later(DRAIN, () => setImmediate(() => (fresh ? drain() : finish(how))));
    };
    drain();
  });
  pipe.onClosed((why) => {
    if (why.failure !== 'broken' || closed) return;
    options.log.warn(`${spec.command}: ${why.reason}`);
    if (pid !== undefined) signalTree(pid, 'SIGKILL');
    finish({ reason: t('{0} was ended: {1}', nameOf(spec), why.reason), failure: 'broken' });
  });

  return {
    send: (line) => pipe.send(line),
    onMessage: (listener) => pipe.onMessage(listener),
    onClosed: (listener) => listenOnce(closed, closes, listener),
    dispose: end,
  };
}

function closedChannel(closed: Closed): Channel {
  const nothing = toDisposable(() => {});
  return {
    send: () => Promise.reject(new Error(closed.reason)),
    onMessage: () => nothing,
    onClosed: (listener) => {
      queueMicrotask(() => listener(closed));
      return nothing;
    },
    dispose: () => {},
  };
}

/** What a program started from here inherits, with what is added to it; an undefined value takes a variable away. */
export function environmentWith(added: ProcessSpec['env']): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env };
  for (const name of NOT_INHERITED) delete env[name];
  return mergeEnvironment(env, added, process.platform === 'win32');
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

/** What was started, as a user would call it. */
function nameOf(spec: ProcessSpec): string {
  return spec.name || commandLine(spec);
}

/** A command line in quotes, cut at 200 characters. */
export function commandLine({ command, args }: Pick<ProcessSpec, 'command' | 'args'>): string {
  const line = [command, ...args].join(' ');
  return `"${line.length > 200 ? `${line.slice(0, 200)}…` : line}"`;
}

function howEnded(name: string, ending: boolean, code: number | null, signal: string | null): string {
  if (ending) return t('{0} was ended.', name);
  return signal ? t('{0} was ended by {1}.', name, signal) : t('{0} ended with exit code {1}.', name, code ?? '?');
}

function whyNotStarted(spec: ProcessSpec, error: NodeJS.ErrnoException): Omit<Closed, 'stderr'> {
  if (!existsSync(spec.cwd))
    return { failure: 'noFolder', reason: t('{0} could not start: the folder {1} does not exist.', nameOf(spec), spec.cwd) };
  if (error.code === 'ENOENT') {
    return { failure: 'missing', reason: t('"{0}" was not found. Is it installed, and is it on the PATH of the editor?', spec.command) };
  }
  if (error.code === 'EACCES' || error.code === 'EPERM') {
    return {
      failure: 'forbidden',
      reason: t('"{0}" may not be executed. Check that it is a program and that its permissions allow it.', spec.command),
    };
  }
  return { failure: 'broken', reason: t('{0} could not start: {1}', nameOf(spec), error.message) };
}

/** The last bytes of a stream. */
class Tail {
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
