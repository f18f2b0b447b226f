import { t } from '../../base/l10n.ts';
import type { Remedy } from '../../session/model.ts';
import type { Closed } from '../../transport/channel.ts';
import type { ProcessSpec } from '../../transport/process.ts';
import type { Launch } from '../adapter.ts';

export type ProcessLaunch = Extract<Launch, { kind: 'process' }>;
export interface WireLaunch {
  readonly spec: ProcessSpec;
  /** The session it opens; absent when the arguments leave that to the server. */
  readonly key?: string;
}

const SESSION_FLAGS = ['--session', '--resume', '-S', '-r'];
const OWN_CHOICE = ['--continue', '-C'];

/**
 * What to start: `--wire` unless the program speaks nothing else, and a session id of our own, so that a crash can go on with the same one. The
 * user's own arguments win.
 */
export function wireLaunch(launch: ProcessLaunch, key: string, sessionFlag = true): WireLaunch {
  const args = [...launch.args];
  const spec = (): ProcessSpec => ({ command: launch.command, args, env: launch.env, cwd: launch.cwd });
  if (programOf(launch.command) === 'kimi-agent') return { spec: spec() };
  if (!args.includes('--wire')) args.push('--wire');
  const told = args.findIndex((arg) => SESSION_FLAGS.includes(arg));
  const named = told < 0 ? args.find((arg) => /^--(session|resume)=/.test(arg))?.replace(/^[^=]*=/, '') : args[told + 1];
  if (named !== undefined) return { spec: spec(), key: named };
  if (!sessionFlag || args.some((arg) => OWN_CHOICE.includes(arg))) return { spec: spec() };
  args.push('--session', key);
  return { spec: spec(), key };
}

/** The name of a program without its folder and ending. */
export function programOf(command: string): string {
  return (command.split(/[/\\]/).at(-1) ?? '').replace(/\.(exe|cmd|bat|ps1)$/i, '').toLowerCase();
}

/** An old server ended because it does not know the session flag. */
export function refusedSessionFlag(closed: Closed): boolean {
  return closed.code === 2 && /(no such option|unrecognized argument|unexpected argument).{0,40}--session/is.test(closed.stderr);
}

/** The program of the same name that has no Wire (wire.md §1). */
export function isKimiCode(closed: Closed): boolean {
  return /unknown option '?--wire/i.test(closed.stderr);
}

/** Why it closed, for a user, and what they can do about it. */
export function whyClosed(
  closed: Closed,
  program: { readonly command: string; readonly file?: string | undefined; readonly version?: string | undefined },
): { readonly reason: string; readonly detail?: string; readonly next: readonly Remedy[] } {
  const stderr = closed.stderr.trim();
  const detail = stderr === '' ? {} : { detail: stderr };
  if (isKimiCode(closed)) {
    const { command, file, version } = program;
    const name = version === undefined ? 'Kimi Code' : `Kimi Code ${version}`;
    const reason = t(
      '{0} is {1}, which does not speak Wire. Choose it again among the agents, as ACP: "{2} acp".',
      file ?? command,
      name,
      command,
    );
    return { reason, ...detail, next: ['pickAgent', 'openSettings', 'showLog'] };
  }
  const isUnstartable = closed.failure === 'missing' || closed.failure === 'forbidden' || closed.failure === 'noFolder';
  return {
    reason: closed.reason,
    ...detail,
    next: isUnstartable ? ['pickAgent', 'openSettings', 'showLog'] : ['restart', 'showLog', 'pickAgent'],
  };
}
