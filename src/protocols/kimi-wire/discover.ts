import { parseJson } from '../../base/json.ts';
import { silentLog } from '../../base/log.ts';
import { processChannel } from '../../transport/process.ts';
import { whereIs } from '../../transport/programs.ts';
import type { Found, Search } from '../adapter.ts';
import { parseVersion, type Version } from './codec.ts';
import { programOf } from './launch.ts';
import { info } from './schema.ts';

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

export type Probed =
  | { readonly kind: 'wire'; readonly version: Version; readonly program?: string }
  /** The program of the same name that speaks ACP instead. */
  | { readonly kind: 'kimiCode' }
  | { readonly kind: 'missing' }
  /** It runs, but does not say what it is: versions before `info`. */
  | { readonly kind: 'silent'; readonly why: string };

export interface ProbeOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  /** Milliseconds. */
  readonly limit?: number;
}

/** Asks a program what it is by `info --json`, which changes nothing (wire.md §1). Never rejects; the process is gone when it settles. */
export function probe(command: string, options: ProbeOptions): Promise<Probed> {
  const spec = { command, args: ['info', '--json'], env: options.env ?? {}, cwd: options.cwd };
  const channel = processChannel(spec, { log: silentLog, patience: { end: 0, term: 500 }, limit: 1024 * 1024 });
  return new Promise((resolve) => {
    let said = '';
    const stop = () => channel.dispose();
    const timer = setTimeout(stop, options.limit ?? 10_000);
    options.signal?.addEventListener('abort', stop, { once: true });
    channel.onMessage((line) => {
      said += said.length < 64 * 1024 ? `${line}\n` : '';
    });
    channel.onClosed((closed) => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', stop);
      if (closed.failure === 'missing' || closed.failure === 'forbidden') return resolve({ kind: 'missing' });
      if (/unknown option '?--json/i.test(closed.stderr)) return resolve({ kind: 'kimiCode' });
      resolve((closed.code === 0 && readInfo(said)) || { kind: 'silent', why: closed.stderr.trim().slice(-500) || closed.reason });
    });
  });
}

function readInfo(text: string): Probed | undefined {
  try {
    const parsed = info.safeParse(parseJson(text));
    const version = parsed.success ? parseVersion(parsed.data.wire_protocol_version) : undefined;
    const program = parsed.data?.kimi_cli_version;
    return version && { kind: 'wire', version, ...(program ? { program } : {}) };
  } catch {
    return undefined;
  }
}
