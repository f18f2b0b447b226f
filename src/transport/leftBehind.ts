import { execFile, spawnSync } from 'node:child_process';
import { systemProgram } from './programFile.ts';

/*
 * Windows has no process groups. The children of a process that has exited are found by their parent's number, which they keep, and by the time
 * that process lived in.
 */

/** A process that has exited. Times are milliseconds since 1970. */
export interface Exited {
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}
/** A process that runs. */
export interface RunningProcess {
  readonly pid: number;
  /** The number of the process that started it, also when that has exited and another one has its number by now. */
  readonly parent: number;
  readonly began: number;
  readonly kind: 'plain' | 'window' | 'consoleHost';
}

/**
 * The numbers of the processes to end: descendants that exited processes left running. A number belongs to one process at a time, so a child that
 * began while its parent's number belonged to an exited process is a child of that process.
 *
 * Two kinds are spared. A process without a console has detached itself, as it would from a process group: neither its parent nor itself has a child
 * that hosts a console. A process with a window may be in use, and so may those that it started.
 */
export function leftBehind(exited: readonly Exited[], running: readonly RunningProcess[]): readonly number[] {
  const started = new Map<number, RunningProcess[]>();
  for (const one of running) {
    const others = started.get(one.parent);
    if (others) others.push(one);
    else started.set(one.parent, [one]);
  }
  const childrenOf = ({ pid, from, to }: Exited) => (started.get(pid) ?? []).filter(({ began }) => began >= from && began <= to);
  const livesOf = ({ pid, began }: RunningProcess): Exited => ({ pid, from: began, to: Number.POSITIVE_INFINITY });
  const hasConsole = (one: Exited) => childrenOf(one).some(({ kind }) => kind === 'consoleHost');
  const found = new Map<number, RunningProcess>();
  const add = (one: RunningProcess): void => {
    if (one.kind === 'plain' && one.pid !== process.pid) found.set(one.pid, one);
  };
  for (const parent of exited) for (const one of childrenOf(parent)) if (hasConsole(parent) || hasConsole(livesOf(one))) add(one);
  // The loop also visits what it adds to the map.
  for (const parent of found.values()) for (const one of childrenOf(livesOf(parent))) add(one);
  return [...found.keys()];
}

/** The creation time of a process counts in ticks of the clock. */
const TICK = 20;
/** How many exited processes are remembered. */
const MOST = 500;

/** Processes that Parley started: those that run, and those that have exited and whose children were not looked for yet. */
export class StartedProcesses {
  readonly #running = new Map<number, number>();
  #exited: readonly Exited[] = [];

  started(pid: number, now = Date.now()): void {
    this.#running.set(pid, now - TICK);
  }

  exited(pid: number, now = Date.now()): void {
    const from = this.#running.get(pid);
    if (from === undefined) return;
    this.#running.delete(pid);
    this.#exited = [...this.#exited.slice(1 - MOST), { pid, from, to: now }];
  }

  /** Returns and forgets the exited ones with these numbers, or all. */
  take(pids?: ReadonlySet<number>): readonly Exited[] {
    const isTaken = ({ pid }: Exited) => pids === undefined || pids.has(pid);
    const taken = this.#exited.filter(isTaken);
    this.#exited = this.#exited.filter((one) => !isTaken(one));
    return taken;
  }
}

const POWERSHELL = 'WindowsPowerShell\\v1.0\\powershell.exe';
const PATIENCE = 4000;
const LARGEST_LIST = 4 * 1024 * 1024;
/** A line for each process: its number, that of its parent, when it began, and `w` where it has a window, `c` where it hosts a console. */
const SCRIPT = [
  '$seen = @{}',
  'foreach ($one in [Diagnostics.Process]::GetProcesses()) { try { if ($one.MainWindowHandle -ne 0) { $seen[[int]$one.Id] = 1 } } catch { } }',
  '$zero = [datetime]::new(1970, 1, 1, 0, 0, 0, [DateTimeKind]::Utc)',
  "Get-CimInstance Win32_Process -Property Name, ProcessId, ParentProcessId, CreationDate | Where-Object { $_.CreationDate } | ForEach-Object { $kind = if ($_.Name -in 'conhost.exe', 'OpenConsole.exe') { 'c' } elseif ($seen.ContainsKey([int]$_.ProcessId)) { 'w' } else { 'p' }",
  '$began = [int64][Math]::Floor(($_.CreationDate.ToUniversalTime() - $zero).TotalMilliseconds)',
  "'{0} {1} {2} {3}' -f $_.ProcessId, $_.ParentProcessId, $began, $kind }",
].join('; ');
const ARGUMENTS = ['-NoProfile', '-NonInteractive', '-Command', SCRIPT];

const options = () => ({
  windowsHide: true,
  timeout: PATIENCE,
  maxBuffer: LARGEST_LIST,
  // Where PowerShell 7 has its modules, which Windows PowerShell cannot load.
  env: Object.fromEntries(Object.entries(process.env).filter(([name]) => name.toUpperCase() !== 'PSMODULEPATH')),
});

const KINDS: Readonly<Record<string, RunningProcess['kind']>> = { p: 'plain', w: 'window', c: 'consoleHost' };

export function readList(text: string): readonly RunningProcess[] {
  return text.split('\n').flatMap((line): RunningProcess[] => {
    const [, pid, parent, began, letter = ''] = /^(\d{1,10}) (\d{1,10}) (\d{1,15}) ([pwc])\s*$/.exec(line) ?? [];
    const kind = KINDS[letter];
    return kind === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), began: Number(began), kind }];
  });
}

/** How processes are listed and ended. */
export interface System {
  readonly list: () => Promise<readonly RunningProcess[]>;
  readonly listNow: () => readonly RunningProcess[];
  readonly end: (pid: number) => void;
}
const here: System = {
  list: () =>
    new Promise((resolve) => {
      execFile(systemProgram(POWERSHELL), ARGUMENTS, { ...options(), encoding: 'utf8' }, (_, printed) => resolve(readList(printed ?? '')));
    }),
  listNow: () => readList(spawnSync(systemProgram(POWERSHELL), ARGUMENTS, { ...options(), encoding: 'utf8' }).stdout ?? ''),
  end: (pid) => process.kill(pid, 'SIGKILL'),
};

/** Ends what exited processes left running. */
export class LeftBehind {
  readonly lives = new StartedProcesses();
  readonly #system: System;
  readonly #wanted = new Set<number>();
  /** One list at a time: it takes a second. */
  #last: Promise<void> = Promise.resolve();

  constructor(system: System = here) {
    this.#system = system;
  }

  /** Ends what the exited process left; settles when that is done, and never rejects. */
  end(pid: number): Promise<void> {
    this.#wanted.add(pid);
    this.#last = this.#last.then(async () => {
      const exited = this.lives.take(this.#wanted);
      this.#wanted.clear();
      if (exited.length === 0) return;
      const running = await this.#system.list().catch(() => []);
      this.#endAll(leftBehind(exited, running));
    });
    return this.#last;
  }

  /** Ends at once what all of them left, for the end of this process. */
  endNow(): void {
    const exited = this.lives.take();
    if (exited.length > 0) this.#endAll(leftBehind(exited, this.#system.listNow()));
  }

  #endAll(pids: readonly number[]): void {
    for (const pid of pids) {
      try {
        this.#system.end(pid);
      } catch {
        // It has exited meanwhile.
      }
    }
  }
}
