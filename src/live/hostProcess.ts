import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod/mini';
import type { ApprovalRule } from '../session/policy.ts';
import { killTreeNow } from '../transport/processTree.ts';
import { replaceFileSync } from '../transport/replaceFile.ts';
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

/** Settings that a host reloads on every change. */
export interface HostSettings {
  readonly profiles: readonly Profile[];
  readonly rules: readonly (ApprovalRule & { readonly agent?: string })[];
  readonly guardedFiles: readonly string[];
}

export interface HostStart {
  /** Folder of its conversations. */
  readonly data: string;
  readonly script: string;
  readonly settings: HostSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The files with the settings of the host of this folder. */
export function writeHostSettings(data: string, { profiles, ...rules }: HostSettings): { readonly agents: string; readonly rules: string } {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const files = { agents: path.join(data, 'agents.json'), rules: path.join(data, 'rules.json') };
  for (const [file, value] of [
    [files.agents, profiles],
    [files.rules, rules],
  ] as const) {
    writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
    replaceFileSync(`${file}.new`, file);
  }
  return files;
}

/** Starts a host that outlives this process. Rejects with the host's output when it ends at once. */
export async function startHost({ data, script, settings, env }: HostStart): Promise<RunningHost> {
  const { agents, rules } = writeHostSettings(data, settings);
  const child = spawn(process.execPath, [script, 'serve', '--data', data, '--profile', agents, '--rules', rules], {
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

/** Asks a host to end. The next host restores its sessions. */
export function stopHost({ pid }: RunningHost): void {
  // Windows has no such signal: it would end the host alone and leave its agents running.
  if (process.platform === 'win32') killTreeNow(pid);
  else process.kill(pid, 'SIGTERM');
}
