import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Disposable } from '../base/lifetime.ts';
import type { Options } from './usage.ts';

const AGENT = path.join(typeof __dirname === 'string' ? __dirname : path.resolve('dist'), 'parley-agent.js');
const QWEN = ['--input-format', 'stream-chunk-json', '--output-format', 'stream-chunk-json'];
const ARGS: Readonly<Record<string, readonly string[]>> = {
  'kimi-wire': ['--wire'],
  acp: ['--face', 'acp'],
  a2a: ['--face', 'a2a'],
  qwen: QWEN,
};

/** Protocols that the bundled agent serves at an address. */
const SERVED: readonly string[] = ['ai-sdk'];

export function isBundled(protocol: string): boolean {
  return Object.hasOwn(ARGS, protocol) || SERVED.includes(protocol);
}

export interface BundledAgent extends Disposable {
  readonly options: Partial<Options>;
}

/** How the bundled agent is reached over a protocol. One that knows only addresses has it started here. */
export async function bundledAgent({ protocol, cwd, env, args }: Options): Promise<BundledAgent> {
  const own = ARGS[protocol];
  if (own) return { options: { command: process.execPath, args: [AGENT, ...own, ...args] }, dispose() {} };
  const token = randomBytes(32).toString('base64url');
  const child = spawn(process.execPath, [AGENT, '--face', protocol, '--work-dir', cwd, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env, PARLEY_AGENT_TOKEN: token },
  });
  const dispose = () => void child.kill();
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /https?:\/\/\S+/.exec(line)?.[0];
    if (url !== undefined) return { options: { url, headers: { authorization: `Bearer ${token}` } }, dispose };
  }
  throw new Error('The bundled agent ended before it said where it listens.');
}
