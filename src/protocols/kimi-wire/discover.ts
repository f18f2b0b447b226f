import { whereIs } from '../../transport/programs.ts';
import type { Found, Search } from '../adapter.ts';
import { programOf } from './launch.ts';
import { probe } from './probe.ts';

/** Names under which programs that may speak Wire are installed (wire.md §1). One of them is shared with a program that does not. */
const CANDIDATES = ['kimi', 'kimi-cli', 'kimi-legacy', 'kimi-agent'];

/**
 * Asks each candidate on the PATH, and those among the user's own commands, what it is. A program that speaks another protocol is given with
 * that one. Rejects never.
 */
export async function discover({ cwd, path, commands }: Search, signal: AbortSignal): Promise<readonly Found[]> {
  const mine = commands.filter((command) => CANDIDATES.includes(programOf(command)));
  const asked = await Promise.all(
    [...new Set([...CANDIDATES, ...mine])].map(async (command): Promise<Found | undefined> => {
      if ((await whereIs(command, path)) === undefined) return undefined;
      const probed = await probe(command, { cwd, signal, env: { PATH: path } });
      switch (probed.kind) {
        case 'wire':
          return { protocol: 'kimi-wire', command, args: [], name: 'Kimi CLI', ...(probed.program ? { version: probed.program } : {}) };
        case 'kimiCode':
          return { protocol: 'acp', command, args: ['acp'], name: 'Kimi Code' };
        case 'silent':
          return { protocol: 'kimi-wire', command, args: [], name: command };
        case 'missing':
          return undefined;
      }
    }),
  );
  return asked.filter((found) => found !== undefined);
}
