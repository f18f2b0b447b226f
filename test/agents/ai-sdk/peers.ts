import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { LaunchOptions } from '../../../src/protocols/adapter.ts';
import { TIMING } from '../../../src/protocols/ai-sdk/state.ts';
import type { Tool } from '../../../src/protocols/ports.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { open, person } from '../../protocols/ai-sdk/talk.ts';
import { modernNode, peerFolder } from '../lab.ts';

const here = path.resolve('test/agents/ai-sdk');
/** What parley-agent is started with; the other servers do not look at it. */
export const TOKEN = 'test-token';

/** Whatever lives long enough to end what was started for it. */
interface Owner {
  after(end: () => Promise<void>): void;
}

/** Starts a script of this folder with the newer node; gives the address it prints. */
export async function started(
  t: Owner,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn(modernNode(), [path.resolve(here, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH ?? '', HOME: process.env.TMPDIR ?? '/tmp', ...env },
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const address = /https?:\/\/\S+/.exec(line)?.[0];
    if (address) return address;
  }
  throw new Error(`${script} ended without an address`);
}

export function serverOf(t: Owner, version: number): Promise<string> {
  return started(t, 'server.mjs', [peerFolder(`ai-sdk-${version}`)]);
}

/** Parley talking to that address, at real-life pace. */
export async function parley(t: TestContext, url: string, tools: readonly Tool[] = [], options: LaunchOptions = {}) {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const live = open(url, { tools, options, headers, timing: TIMING }, newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/w'));
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  return person(live);
}

export interface Script {
  readonly id: string;
  readonly prompts: readonly string[];
  readonly tools: object;
  /** The system text of a page. */
  readonly system?: string;
  /** What each of the client's tools answers. */
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly approve?: boolean;
  readonly reason?: string;
  /** Gone as soon as that text is there. */
  readonly leaveAt?: string;
  /** A page that was loaded again, with these messages. */
  readonly resume?: boolean;
  readonly messages?: readonly OfficialMessage[];
}
export interface OfficialMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
  readonly metadata?: unknown;
}

/** A client of that version holds the conversation: the official class with its own transport, a page with useChat, or one with assistant-ui. */
export async function official(
  version: number,
  url: string,
  script: Script,
  client: 'official' | 'react' | 'assistant' = 'official',
): Promise<{ messages: OfficialMessage[]; failures: string[] }> {
  const given = JSON.stringify({ headers: { authorization: `Bearer ${TOKEN}` }, ...script });
  const args = [
    path.resolve(here, `${client}Client.mjs`),
    peerFolder(`${client === 'assistant' ? 'assistant-ui' : 'ai-sdk'}-${version}`),
    url,
    given,
  ];
  const { stdout } = await promisify(execFile)(modernNode(), args, { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as { messages: OfficialMessage[]; failures: string[] };
}
