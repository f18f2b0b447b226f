import { existsSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import type { ProcessSpec } from '../../transport/process.ts';
import type { Launch } from '../adapter.ts';
import type { Peer } from './peers.ts';
import type { TalkOptions } from './talk.ts';

export type ProcessLaunch = Extract<Launch, { kind: 'process' }>;

/** How a process begins. */
export interface Beginning {
  /** Without what only the message dialect understands, for an agent that may not speak it. */
  readonly plain: boolean;
  /** The key of an earlier conversation to go on with. */
  readonly resume?: string;
  /** The last of its messages that still counts. */
  readonly upTo?: string;
}

/** The process to start: the profile's command with the flags it did not give itself. */
export function processOf(launch: ProcessLaunch, peer: Peer, options: TalkOptions, how: Beginning): ProcessSpec {
  const program = options.direct ? directly(launch) : launch;
  const args = [...program.args];
  const given = (flag: string) => args.some((arg) => arg === flag || arg.startsWith(`${flag}=`));
  const envelope = how.plain || options.dialect === 'envelope';
  const flags = envelope
    ? ([
        ['--input-format', 'stream-json'],
        ['--output-format', options.format],
      ] as const)
    : peer.flags;
  for (const [flag, value] of flags) if (!given(flag)) args.push(flag, ...(value === null ? [] : [value]));
  if (how.resume !== undefined && !how.plain && !given('--resume') && !given('--continue')) {
    const copy = copyIn(how.resume);
    args.push('--resume', ...(copy === undefined ? [how.resume] : [copy, '--fork-session']));
    if (how.upTo !== undefined) args.push('--resume-session-at', how.upTo);
  }
  return { name: peer.called, command: program.command, args, env: { ...peer.env, ...launch.env }, cwd: launch.cwd };
}

/** The mode a process was started in, when its command line says so. */
export function modeIn(args: readonly string[]): string | undefined {
  const at = args.findLastIndex((arg) => MODE.test(arg));
  const [, , inside] = MODE.exec(args[at] ?? '') ?? [];
  return inside ?? (at < 0 ? undefined : args[at + 1]);
}

const MODE = /^--(approval|permission)-mode(?:=(.*))?$/s;
const COPY = 'copy:';

/** The key of a copy that is made when it is opened. */
export function copyKey(of: string): string {
  return `${COPY}${of}`;
}

/** The conversation of which that is to be a copy. */
export function copyIn(key: string): string | undefined {
  return key.startsWith(COPY) ? key.slice(COPY.length) : undefined;
}

/**
 * The installed `qwen` is a wrapper that starts itself again; the script beside it does the same work in one process (qwen.md §1.1). What is
 * not laid out like that is run as it stands.
 */
export function directly(launch: ProcessLaunch): { readonly command: string; readonly args: readonly string[] } {
  const plain = { command: launch.command, args: launch.args };
  const [first, ...rest] = launch.args;
  if (/^node(\.exe)?$/i.test(path.basename(launch.command)) && first !== undefined && path.basename(first) === 'cli-entry.js') {
    const script = path.join(path.dirname(path.resolve(launch.cwd, first)), 'cli.js');
    return existsSync(script) ? { command: launch.command, args: [script, ...rest] } : plain;
  }
  if (!/^qwen(\.cmd)?$/i.test(path.basename(launch.command))) return plain;
  const found = locate(launch.command, launch.env.PATH ?? process.env.PATH ?? '', launch.cwd);
  if (found === undefined) return plain;
  const script = [path.dirname(found), path.join(path.dirname(found), 'node_modules', '@qwen-code', 'qwen-code')]
    .filter((folder) => existsSync(path.join(folder, 'cli-entry.js')))
    .map((folder) => path.join(folder, 'cli.js'))
    .find((file) => existsSync(file));
  return script === undefined ? plain : { command: 'node', args: [script, ...launch.args] };
}

/** The file a command stands for, its links followed. */
function locate(command: string, searched: string, cwd: string): string | undefined {
  const names = process.platform === 'win32' ? [command, `${command}.cmd`] : [command];
  const folders = /[\\/]/.test(command) ? [''] : searched.split(path.delimiter).filter(Boolean);
  for (const folder of folders) {
    for (const name of names) {
      const file = path.resolve(cwd, folder, name);
      try {
        if (statSync(file).isFile()) return realpathSync(file);
      } catch {
        // Not here.
      }
    }
  }
  return undefined;
}
