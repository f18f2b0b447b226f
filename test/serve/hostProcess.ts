import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
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

const children = new WeakMap<TestContext, ChildProcess[]>();

/** A folder that goes when the test is over, after the hosts that write into it. */
export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-serve-'));
  t.after(async () => {
    for (const child of children.get(t) ?? []) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

export function run(t: TestContext, folder: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [PARLEY, 'serve', '--data', path.join(folder, 'data'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: folder, USERPROFILE: folder },
  });
  children.set(t, [...(children.get(t) ?? []), child]);
  return child;
}

/** Waits for the line that says where the host is. */
export async function started(t: TestContext, folder: string, ...args: readonly string[]): Promise<Started> {
  const child = run(t, folder, ...args);
  for await (const line of createInterface({ input: child.stdout })) return { child, ...(JSON.parse(line) as Omit<Started, 'child'>) };
  throw new Error('the host ended before it said where it is');
}
