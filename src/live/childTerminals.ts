import type { ChildProcess, ChildProcessByStdio, SpawnOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import crossSpawn from 'cross-spawn';
import type { Exit, TerminalHandle, TerminalSpec, Terminals } from '../protocols/ports.ts';
import { utf8Variables, withoutSecrets } from '../transport/environment.ts';
import { disownGroup, killLeftBehind, ownGroup } from '../transport/ownedGroups.ts';
import { environmentWith, mergeEnvironment } from '../transport/process.ts';
import { hasLeftBehind, signalTree } from '../transport/processTree.ts';
import { commandOf, lineInUtf8, workingFolder } from '../transport/programFile.ts';

/** Bytes of output kept when the agent names no limit. */
const DEFAULT_LIMIT = 1024 * 1024;
/** Milliseconds a command has to end by itself when it is killed. */
const KILL_PATIENCE = 2000;
/** The exit code of a command that was not found, as shells give it. */
const NOT_FOUND = 127;
/** Milliseconds without output after which the pipes of an exited command count as drained. */
const QUIET = 300;
/** Milliseconds after the exit of a command at which its pipes count as drained, even if output still comes. */
const DRAIN = 1000;

export interface ChildTerminal extends TerminalHandle {
  readonly spec: TerminalSpec;
  /** Gets each new piece of output, then undefined once when the command has ended. */
  onOutput(listener: (text: string | undefined) => void): void;
}

/**
 * Terminals as plain child processes with pipes, each the leader of its own process group. Arguments are never joined for a shell, unless the
 * agent gave a whole command line without arguments. Output survives release; only the process is ended, with
 * what it left in its group.
 */
export function childTerminals(options: {
  readonly cwd: string;
  readonly onCreate?: (terminal: ChildTerminal) => void;
  /** Starts the program. Default: cross-spawn, which finds `.cmd` files on Windows. */
  readonly spawn?: Spawn;
}): Terminals {
  return {
    async create(spec) {
      const terminal = await start(spec, options.cwd, options.spawn ?? crossSpawn.spawn);
      options.onCreate?.(terminal);
      return terminal;
    },
  };
}

type Spawn = (command: string, args: string[], options: SpawnOptions) => ChildProcess;

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Settles when the program runs; rejects when it could not be started. */
async function start(spec: TerminalSpec, cwd: string, spawn: Spawn): Promise<ChildTerminal> {
  const own = withoutSecrets(environmentWith(utf8Variables(process.env)));
  const env = mergeEnvironment(own, spec.env ?? {}, process.platform === 'win32');
  const { file, args } =
    spec.args === undefined ? { file: lineInUtf8(spec.command, process.env), args: [] } : commandOf(spec.command, spec.args, env);
  const child = spawn(file, [...args], {
    cwd: workingFolder(spec.args && file, spec.cwd ?? cwd),
    env,
    shell: spec.args === undefined,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  }) as Child;
  const command = new ChildCommand(spec, child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(command));
  });
}

/** One command: it runs, then it has exited and its pipes are drained, then it has ended. */
class ChildCommand implements ChildTerminal {
  readonly id = randomUUID();
  readonly spec: TerminalSpec;
  readonly #child: Child;
  readonly #tail: TerminalTail;
  readonly #listeners: ((text: string | undefined) => void)[] = [];
  readonly #exited: Promise<Exit>;
  #exit: Exit | undefined;
  /** Ends it by force a while after it was killed. */
  #lastResort: NodeJS.Timeout | undefined;
  /** Ends the draining once no more output comes. */
  #quiet: NodeJS.Timeout | undefined;
  /** True when it has ended but its group has not. */
  #hasLeftBehind = false;

  constructor(spec: TerminalSpec, child: Child) {
    this.spec = spec;
    this.#child = child;
    this.#tail = new TerminalTail(spec.limit ?? DEFAULT_LIMIT);
    ownGroup(child, true);
    for (const stream of [child.stdout, child.stderr]) this.#readFrom(stream);
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => this.#drain({ code, signal }, resolve));
      // On Windows a missing program starts (as cmd.exe) and then reports an error in place of `exit`.
      child.once('error', () => this.#drain({ code: NOT_FOUND, signal: null }, resolve));
    });
  }

  output(): ReturnType<TerminalHandle['output']> {
    return { ...this.#tail.read(), ...(this.#exit ? { exit: this.#exit } : {}) };
  }

  exited(): Promise<Exit> {
    return this.#exited;
  }

  onOutput(listener: (text: string | undefined) => void): void {
    this.#listeners.push(listener);
  }

  kill(): void {
    const { pid } = this.#child;
    if ((this.#exit && !this.#hasLeftBehind) || this.#lastResort || pid === undefined) return;
    // On Windows the number of one that has exited may be that of another process by now.
    if (this.#exit && process.platform === 'win32') return this.release();
    signalTree(pid, 'SIGTERM');
    this.#lastResort = setTimeout(() => this.release(), KILL_PATIENCE);
  }

  /** Ends the process, or what it left in its group. */
  release(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    if (!this.#exit) signalTree(pid, 'SIGKILL');
    else if (this.#hasLeftBehind) {
      killLeftBehind(pid);
      disownGroup(pid);
    }
    this.#hasLeftBehind = false;
  }

  #readFrom(stream: Readable): void {
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => {
      this.#quiet?.refresh();
      this.#tail.push(chunk);
      const text = decoder.write(chunk);
      if (text) for (const listener of this.#listeners) listener(text);
    });
  }

  /** Normally the pipes close with it (acp.md §10.4). A process it left running, such as a server, may hold them forever. */
  #drain(exit: Exit, resolve: (exit: Exit) => void): void {
    const timers: NodeJS.Timeout[] = [];
    const finish = (holdsPipes: boolean) => {
      if (this.#exit) return;
      for (const timer of timers) clearTimeout(timer);
      this.#finish(exit, holdsPipes);
      resolve(exit);
      for (const listener of this.#listeners) listener(undefined);
    };
    const afterReading = () => setImmediate(finish, true);
    this.#quiet = setTimeout(afterReading, QUIET);
    timers.push(this.#quiet, setTimeout(afterReading, DRAIN));
    this.#child.once('close', () => finish(false));
  }

  #finish(exit: Exit, holdsPipes: boolean): void {
    const { pid, stdout, stderr } = this.#child;
    // A pending kill or the release still has to end the rest of its process group.
    this.#hasLeftBehind = pid !== undefined && hasLeftBehind(pid, holdsPipes);
    if (!this.#hasLeftBehind) {
      clearTimeout(this.#lastResort);
      if (pid !== undefined) disownGroup(pid);
    }
    stdout.destroy();
    stderr.destroy();
    this.#exit = exit;
  }
}

/** The last bytes of a stream. Pushing costs the length of the chunk, whatever is kept. */
class TerminalTail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #truncated = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > 2 * this.#limit) this.#cut();
  }

  read(): { readonly text: string; readonly truncated: boolean } {
    this.#cut();
    return { text: (this.#chunks[0] ?? Buffer.alloc(0)).toString('utf8'), truncated: this.#truncated };
  }

  #cut(): void {
    const whole = Buffer.concat(this.#chunks, this.#size);
    const kept = this.#size > this.#limit ? fromCharacter(whole.subarray(this.#size - this.#limit)) : whole;
    this.#truncated ||= kept.length < this.#size;
    this.#chunks = [kept];
    this.#size = kept.length;
  }
}

/** Drops leading bytes of a truncated character. */
function fromCharacter(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 4 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
