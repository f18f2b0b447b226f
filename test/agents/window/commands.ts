import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Launch } from '../../../src/protocols/adapter.ts';

type Program = Pick<Extract<Launch, { kind: 'process' }>, 'command' | 'args' | 'env'>;

/**
 * Puts an agent onto a PATH as an installed one is: a command of that name that starts it with its environment and whatever arguments follow.
 * Arguments that Parley gives by itself are left out. The file.
 */
export function putCommand(folder: string, name: string, launch: Program, given: readonly string[] = []): string {
  const env = Object.entries(launch.env ?? {}).map(([key, value]) =>
    value === undefined ? `unset ${key}` : `export ${key}=${quoted(value)}`,
  );
  const args = launch.args.filter((one) => !given.includes(one));
  const start = ['exec', ...[launch.command, ...args].map(quoted), '"$@"'].join(' ');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  writeFileSync(file, ['#!/bin/sh', ...env, start, ''].join('\n'));
  chmodSync(file, 0o755);
  return file;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
