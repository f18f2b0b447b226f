import path from 'node:path';
import type { Protocol, Search } from '../protocols/adapter.ts';
import { versionOf, whereIs } from '../transport/programs.ts';
import { type KnownAgent, knownAgents } from './knownAgents.ts';

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

/** Which of the agents are on this PATH. Versions that are not known after `wait` milliseconds are left out; asking goes on for the next time. */
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
  search: Search,
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
