import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod/mini';
import { killTreeNow } from '../transport/processTree.ts';
import type { Profile } from './profiles.ts';

/** An agent host of this user (docs/servers.md). */
export interface RunningHost {
  readonly pid: number;
  /** `ws://…`, without the token. */
  readonly address: string;
  readonly token: string;
}

const entry = z.object({ pid: z.number(), address: z.string(), token: z.string() });
const line = z.object({ address: z.string(), token: z.string() });
/** Milliseconds a host may take to say where it listens. */
const START_WITHIN = 20_000;

/** The host that keeps its conversations in this folder; undefined when none runs. */
export function runningHost(data: string): RunningHost | undefined {
  try {
    const found = entry.safeParse(JSON.parse(readFileSync(path.join(data, 'host.json'), 'utf8')));
    if (!found.success) return undefined;
    process.kill(found.data.pid, 0);
    return found.data;
  } catch {
    return undefined;
  }
}

export interface HostStart {
  /** Folder of its conversations. */
  readonly data: string;
  readonly script: string;
  readonly profiles: readonly Profile[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Starts a host that outlives this process. Rejects with what it said when it ended at once. */
export async function startHost({ data, script, profiles, env }: HostStart): Promise<RunningHost> {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const file = path.join(data, 'agents.json');
  writeFileSync(file, JSON.stringify(profiles), { mode: 0o600 });
  const child = spawn(process.execPath, [script, 'serve', '--data', data, '--profile', file], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    windowsHide: true,
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said = (said + String(text)).slice(-2000);
  });
  const timer = setTimeout(() => child.kill(), START_WITHIN);
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const { address, token } = line.parse(JSON.parse(text));
      if (child.pid !== undefined) return { pid: child.pid, address, token };
    }
    throw new Error(said.trim() || 'The host ended at once.');
  } finally {
    clearTimeout(timer);
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  }
}

/** Asks a host to end. Its sessions come back with the next. */
export function stopHost({ pid }: RunningHost): void {
  // Windows knows no such signal: it would end the host alone, and its agents would stay.
  if (process.platform === 'win32') killTreeNow(pid);
  else process.kill(pid, 'SIGTERM');
}
