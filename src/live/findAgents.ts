import { spawn } from 'node:child_process';
import path from 'node:path';
import type { AgentSearch, Protocol } from '../protocols/adapter.ts';
import { versionOf, whereIs } from '../transport/programs.ts';

/** An agent many people have: how it is started, and where it comes from. Data only; nothing here is installed or run by itself. */
export interface KnownAgent {
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The package of the npm registry that brings the command. */
  readonly npm?: string;
}

/** acp.md §15. */
export const knownAgents: readonly KnownAgent[] = [
  { id: 'gemini', name: 'Gemini CLI', protocol: 'acp', command: 'gemini', args: ['--acp'], npm: '@google/gemini-cli' },
  { id: 'qwen', name: 'Qwen Code', protocol: 'acp', command: 'qwen', args: ['--acp'], npm: '@qwen-code/qwen-code' },
  { id: 'opencode', name: 'OpenCode', protocol: 'acp', command: 'opencode', args: ['acp'], npm: 'opencode-ai' },
  { id: 'kimi', name: 'Kimi Code', protocol: 'acp', command: 'kimi', args: ['acp'], npm: '@moonshot-ai/kimi-code' },
  { id: 'claude', name: 'Claude', protocol: 'acp', command: 'claude-agent-acp', args: [], npm: '@agentclientprotocol/claude-agent-acp' },
  { id: 'claude-code', name: 'Claude Code', protocol: 'qwen', command: 'claude', args: [], npm: '@anthropic-ai/claude-code' },
  { id: 'codex', name: 'Codex', protocol: 'acp', command: 'codex-acp', args: [], npm: '@agentclientprotocol/codex-acp' },
  { id: 'copilot', name: 'GitHub Copilot', protocol: 'acp', command: 'copilot', args: ['--acp'], npm: '@github/copilot' },
];

/** Command lines that sign the user in, by the command of the agent, where that alone does not ask for it. */
const LOGINS: ReadonlyMap<string, string> = new Map([
  ['opencode', 'opencode auth login'],
  ['claude-agent-acp', 'claude /login'],
  ['claude', 'claude /login'],
  ['codex-acp', 'codex login'],
  ['copilot', 'copilot login'],
]);

/** The command line with which a user signs in to the agent of that command: its login where it is known, otherwise the command itself. */
export function loginLine(command: string): string {
  return LOGINS.get(path.parse(command).name) ?? command;
}

export interface FoundAgent {
  readonly agent: KnownAgent;
  /** Path of its command; absent when not found. */
  readonly file?: string;
  /** The version it reported in time. */
  readonly version?: string;
  /** The version, if reported late: settles within some seconds, with undefined when none comes. */
  readonly late?: Promise<string | undefined>;
}

/** How long a late version is waited for, in milliseconds. */
const LATE = 10_000;

/** Returns the agents on this PATH. Versions that are not known after `wait` milliseconds are left out; asking goes on for the next time. */
export async function findAgents(agents: readonly KnownAgent[], searched: string, wait: number): Promise<readonly FoundAgent[]> {
  return Promise.all(
    agents.map(async (agent): Promise<FoundAgent> => {
      const file = await whereIs(agent.command, searched);
      if (file === undefined) return { agent };
      const asked = versionOf(file, searched);
      const version = await Promise.race([asked, later(wait)]);
      return { agent, file, ...(version === undefined ? { late: Promise.race([asked, later(LATE)]) } : { version }) };
    }),
  );
}

/**
 * Agents whose programs share their names with others, so that the protocols ask them what they are. One program under two names of the same
 * folder counts once, under the first.
 */
export async function discoverAgents(
  protocols: Readonly<Record<string, Protocol>>,
  search: AgentSearch,
  wait: number,
): Promise<readonly FoundAgent[]> {
  const signal = new AbortController().signal;
  const asked = await Promise.all(Object.values(protocols).map((protocol) => protocol.discover?.(search, signal) ?? []));
  const found = new Map<string, FoundAgent>();
  for (const { command, version: said, ...one } of asked.flat()) {
    const file = await whereIs(command, search.path);
    if (file === undefined) continue;
    const version = said ?? (await Promise.race([versionOf(file, search.path), later(wait)]));
    const known = knownAgents.find((agent) => agent.protocol === one.protocol && agent.command === command);
    const { name: word } = path.parse(command);
    const id = knownAgents.some((agent) => agent.id === word) ? `${word}-${one.protocol}` : word;
    const agent = known ?? { id, ...one, command };
    const key = JSON.stringify([agent.name, version ?? command, path.dirname(file)]);
    if (!found.has(key)) found.set(key, { agent, file, ...(version === undefined ? {} : { version }) });
  }
  return [...found.values()];
}

function later(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });
}

/** How long the user's shell may take to say its PATH, in milliseconds. */
const PATIENCE = 5000;
const MARK = '\u0001';

let shellPath: Promise<string> | undefined;

/**
 * The PATH of the user's login shell together with our own: an editor started from a desktop has only a short one. Asked once; where there is
 * no such shell, or it does not answer, it is our own. Never rejects.
 */
export function loginPath(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  shellPath ??= askShell(env).then((found) => joined(env.PATH ?? '', found ?? ''));
  return shellPath;
}

/** For tests: the next call asks again. */
export function forgetLoginPath(): void {
  shellPath = undefined;
}

function askShell(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const shell = env.SHELL;
  if (process.platform === 'win32' || !shell || !path.isAbsolute(shell)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    // Interactive, too: version managers are set up in the files of interactive shells. Marks keep what those print apart.
    const child = spawn(shell, ['-i', '-l', '-c', `printf '${MARK}%s${MARK}' "$PATH"`], {
      stdio: ['ignore', 'pipe', 'ignore'],
      // A session of its own has no terminal to stop for.
      detached: true,
    });
    let said = '';
    const settle = (found: string | undefined) => {
      clearTimeout(timer);
      resolve(found);
    };
    const timer = setTimeout(() => {
      if (child.pid !== undefined) {
        try {
          process.kill(-child.pid, 'SIGKILL');
        } catch {
          // The process has already exited.
        }
      }
      settle(undefined);
    }, PATIENCE);
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
    child.on('error', () => settle(undefined));
    child.on('close', () => settle(said.split(MARK)[1]));
  });
}

function joined(ours: string, theirs: string): string {
  return [...new Set([...ours.split(path.delimiter), ...theirs.split(path.delimiter)])].filter(Boolean).join(path.delimiter);
}
