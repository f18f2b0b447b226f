import { t } from '../../base/l10n.ts';
import { endDetail, type LinkEnd } from '../../base/outcomes.ts';
import type { Remedy } from '../../session/model.ts';

/** The process to start. `E` is the environment, which may hold what JSON cannot, and stays outside the conversation. */
export interface ProcessCommand<E = unknown> {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: E;
  readonly cwd: string;
}
export interface WireLaunch<E> {
  readonly spec: ProcessCommand<E>;
  /** The session it opens; absent when the arguments leave that to the agent. */
  readonly key?: string;
}

const SESSION_FLAGS = ['--session', '--resume', '-S', '-r'];
const OWN_CHOICE = ['--continue', '-C'];

/**
 * The command line: `--wire` unless the program speaks nothing else, and a session id chosen here, so that the session can continue after a crash.
 * The user's own arguments take precedence.
 */
export function wireLaunch<E>({ command, args, env, cwd }: ProcessCommand<E>, key: string, sessionFlag = true): WireLaunch<E> {
  const all = [...args];
  const spec: ProcessCommand<E> = { command, args: all, env, cwd };
  if (programOf(command) === 'kimi-agent') return { spec };
  if (!all.includes('--wire')) all.push('--wire');
  const own = sessionIn(all);
  if (own !== undefined) return { spec, key: own };
  // A name that reads as a flag would be one.
  if (!sessionFlag || /^(?:-|$)/.test(key) || all.some((arg) => OWN_CHOICE.includes(arg))) return { spec };
  all.push('--session', key);
  return { spec, key };
}
function sessionIn(args: readonly string[]): string | undefined {
  const at = args.findIndex((arg) => SESSION_FLAGS.includes(arg));
  return at < 0 ? args.find((arg) => /^--(session|resume)=/.test(arg))?.replace(/^[^=]*=/, '') : args[at + 1];
}

/** Arguments that turn approvals off. `-y` means something else to programs that only start the agent (`npx -y`). */
export function startsWithoutAsking(program: string, args: readonly string[]): boolean {
  return args.some((arg) => ['--yolo', '--auto-approve', '--afk'].includes(arg)) || (program.startsWith('kimi') && args.includes('-y'));
}
/** Commands that turn approvals on or off (wire.md §4). The user confirms them. */
export function turnsAsksOff(text: string): boolean {
  return /^\s*\/(yolo|afk)(\s|$)/.test(text);
}

/** The name of a program without its folder and ending. */
export function programOf(command: string): string {
  return (command.split(/[/\\]/).at(-1) ?? '').replace(/\.(exe|cmd|bat|ps1)$/i, '').toLowerCase();
}

/** An old server ended because it does not know the session flag. */
export function refusedSessionFlag(closed: LinkEnd): boolean {
  return closed.code === 2 && /(no such option|unrecognized argument|unexpected argument).{0,40}--session/is.test(closed.stderr ?? '');
}

/** The program of the same name that has no Wire (wire.md §1). */
export function isKimiCode(closed: LinkEnd): boolean {
  return /unknown option '?--wire/i.test(closed.stderr ?? '');
}

/** Why it closed, for a user, and what they can do about it. */
export function whyClosed(
  closed: LinkEnd,
  program: { readonly command: string; readonly file?: string | undefined; readonly version?: string | undefined },
): { readonly reason: string; readonly detail?: string; readonly next: readonly Remedy[] } {
  const written = endDetail(closed, closed.stderr ?? '');
  const detail = written === '' ? {} : { detail: written };
  if (isKimiCode(closed)) {
    const { command, file, version } = program;
    const name = version === undefined ? 'Kimi Code' : `Kimi Code ${version}`;
    const reason = t(
      '{0} is {1}, which does not speak Wire. Choose it again among the agents, as ACP: “{2} acp”.',
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
