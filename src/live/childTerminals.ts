import type { ChildProcess, ChildProcessByStdio, SpawnOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import crossSpawn from 'cross-spawn';
import type { Exit, TerminalHandle, TerminalSpec, Terminals } from '../protocols/ports.ts';
import { withoutSecrets } from '../transport/environment.ts';
import { disownGroup, ownGroup } from '../transport/ownedGroups.ts';
import { environmentWith, mergeEnvironment } from '../transport/process.ts';
import { hasLeftBehind, killLeftBehind, signalTree } from '../transport/processTree.ts';

/** Bytes of output kept when the agent names no limit. */
const DEFAULT_LIMIT = 1024 * 1024;
/** Milliseconds a command has to end by itself when it is killed. */
const KILL_PATIENCE = 2000;
/** The exit code of a command that was not found, as shells give it. */
const NOT_FOUND = 127;
/** Milliseconds of silence after which a command that has exited has said all, and after which it has in any case. */
const QUIET = 300;
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

function start(spec: TerminalSpec, cwd: string, spawn: Spawn): Promise<ChildTerminal> {
  const child = spawn(spec.command, [...(spec.args ?? [])], {
    cwd: spec.cwd ?? cwd,
    env: mergeEnvironment(withoutSecrets(environmentWith({})), spec.env ?? {}, process.platform === 'win32'),
    shell: spec.args === undefined,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  }) as ChildProcessByStdio<null, Readable, Readable>;
  if (child.pid !== undefined) ownGroup(child.pid);
  const limit = spec.limit ?? DEFAULT_LIMIT;
  const listeners: ((text: string | undefined) => void)[] = [];
  const tail = new Tail(limit);
  let exit: Exit | undefined;
  let last: NodeJS.Timeout | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let left = false;
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => {
      quiet?.refresh();
      tail.push(chunk);
      const text = decoder.write(chunk);
      if (text) for (const listener of listeners) listener(text);
    });
  }
  const exited = new Promise<Exit>((resolve) => {
    const ended = (code: number | null, signal: string | null) => {
      const finish = () => {
        if (exit) return;
        for (const timer of [quiet, latest]) clearTimeout(timer);
        // What it left in its group is still to be ended, by a kill that is under way or by the release.
        left = child.pid !== undefined && hasLeftBehind(child.pid);
        if (!left) {
          clearTimeout(last);
          if (child.pid !== undefined) disownGroup(child.pid);
        }
        child.stdout.destroy();
        child.stderr.destroy();
        exit = { code, signal };
        resolve(exit);
        for (const listener of listeners) listener(undefined);
      };
      // Normally the pipes close with it (acp.md §10.4). What it left running, a server for example, may hold them for ever.
      const afterReading = () => setImmediate(finish);
      quiet = setTimeout(afterReading, QUIET);
      const latest = setTimeout(afterReading, DRAIN);
      child.once('close', finish);
    };
    child.once('exit', ended);
    // On Windows a missing program starts (as cmd.exe) and then reports an error in place of `exit`.
    child.once('error', () => ended(NOT_FOUND, null));
  });
  const end = () => {
    if (child.pid === undefined) return;
    if (!exit) signalTree(child.pid, 'SIGKILL');
    else if (left) {
      killLeftBehind(child.pid);
      disownGroup(child.pid);
    }
    left = false;
  };
  const kill = () => {
    if ((exit && !left) || last || child.pid === undefined) return;
    signalTree(child.pid, 'SIGTERM');
    last = setTimeout(end, KILL_PATIENCE);
  };
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () =>
      resolve({
        id: randomUUID(),
        spec,
        output: () => ({ ...tail.read(), ...(exit ? { exit } : {}) }),
        exited: () => exited,
        kill,
        release: end,
        onOutput: (listener) => void listeners.push(listener),
      }),
    );
  });
}

/** The last bytes of a stream. Pushing costs the length of the chunk, whatever is kept. */
class Tail {
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

/** Drops the bytes of a character whose beginning was cut off. */
function fromCharacter(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 4 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
