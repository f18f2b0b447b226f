import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

const PARLEY = path.resolve('dist/parley.js');

/** A host as a process of its own. */
export interface Started {
  readonly child: ChildProcess;
  readonly address: string;
  readonly token: string;
}

export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-serve-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export function run(t: TestContext, folder: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [PARLEY, 'serve', '--data', path.join(folder, 'data'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: folder, USERPROFILE: folder },
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** Waits for the line that says where the host is. */
export async function started(t: TestContext, folder: string, ...args: readonly string[]): Promise<Started> {
  const child = run(t, folder, ...args);
  for await (const line of createInterface({ input: child.stdout })) return { child, ...(JSON.parse(line) as Omit<Started, 'child'>) };
  throw new Error('the host ended before it said where it is');
}
