import { limitReached, t } from '../../base/l10n.ts';
import { endDetail, type LinkEnd } from '../../base/outcomes.ts';
import type { LaunchOptions } from '../adapter.ts';
import type { ProductTraits } from './quirks.ts';

/* How an agent is started, with which options, and what its end means. */

/** The options of a profile of this protocol. */
export interface TalkOptions {
  readonly dialect: 'auto' | 'message' | 'envelope';
  readonly format: 'stream-json' | 'stream-chunk-json';
  /** Milliseconds between heartbeats; 0 sends none (envelope dialect). */
  readonly heartbeat: number;
  /** Milliseconds without a sign of life until the agent counts as unresponsive. */
  readonly patience: number;
  /** Members of every chat request of the envelope dialect besides the prompt: a model, sampling, the tools allowed (docs/protocols/qwen.md §4). */
  readonly request: object;
  /** Run the program's own script instead of the wrapper that is installed on the PATH. */
  readonly direct: boolean;
}

/** Milliseconds (docs/protocols/qwen.md §6). */
const HEARTBEAT = 5_000;
const PATIENCE = 10_000;

/**
 * Reads a profile's options: `dialect` (auto, message, envelope), `format` (stream-json, stream-chunk-json), `heartbeatSeconds`,
 * `timeoutSeconds`, `direct` (false runs the command as it is), and for the requests of the envelope dialect `model`, `temperature` and
 * `tools` (names with commas between). What cannot be read is left at its default and named in `problems`.
 */
export function readTalkOptions(
  options: LaunchOptions,
  args: readonly string[],
): { readonly options: TalkOptions; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const oneOf = <T extends string>(name: string, allowed: readonly T[], otherwise: T): T => {
    const value = options[name];
    const found = allowed.find((one) => one === value);
    if (value !== undefined && found === undefined)
      problems.push(t('Option {0}: “{1}” is invalid. Expected: {2}', name, value, allowed.join(', ')));
    return found ?? otherwise;
  };
  const seconds = (name: string, otherwise: number): number => {
    const value = options[name];
    if (value === undefined) return otherwise;
    const number = Number(value);
    if (Number.isFinite(number) && number >= 0 && number <= 3600) return number * 1000;
    problems.push(t('Option {0}: “{1}” is invalid. Expected: {2}', name, value, '0–3600'));
    return otherwise;
  };
  const { model, temperature, tools } = options;
  const warmth = temperature === undefined || temperature.trim() === '' ? Number.NaN : Number(temperature);
  if (temperature !== undefined && !Number.isFinite(warmth))
    problems.push(t('Option {0}: “{1}” is invalid. Expected: {2}', 'temperature', temperature, '0–2'));
  const names = (tools ?? '').split(',').flatMap((name) => name.trim() || []);
  const overrides = {
    ...(Number.isFinite(warmth) ? { temperature: warmth } : {}),
    ...(names.length > 0 ? { tool_overrides: names } : {}),
  };
  const asked = args[args.indexOf('--output-format') + 1];
  const chunked = args.includes('--output-format') && asked === 'stream-chunk-json';
  const format = oneOf('format', ['stream-json', 'stream-chunk-json'], chunked ? 'stream-chunk-json' : 'stream-json');
  const dialect = oneOf('dialect', ['auto', 'message', 'envelope'], 'auto');
  return {
    options: {
      format,
      // Only the envelope dialect has chunks.
      dialect: format === 'stream-chunk-json' ? 'envelope' : dialect,
      heartbeat: seconds('heartbeatSeconds', HEARTBEAT),
      patience: seconds('timeoutSeconds', PATIENCE),
      request: { ...(model ? { model } : {}), ...(Object.keys(overrides).length > 0 ? { options: overrides } : {}) },
      direct: oneOf('direct', ['true', 'false'], 'true') === 'true',
    },
    problems,
  };
}

/** How a process begins. */
export interface ProcessStart {
  /** Without what only the message dialect understands, for an agent that may not speak it. */
  readonly plain: boolean;
  /** The key of an earlier conversation to go on with. */
  readonly resume: string | null;
  /** The last of its messages that still counts. */
  readonly upTo: string | null;
}

/** The profile's arguments, and the flags it did not give itself. */
export function argsOf(given: readonly string[], peer: ProductTraits, options: TalkOptions, how: ProcessStart): readonly string[] {
  const args = [...given];
  const has = (flag: string) => args.some((arg) => arg === flag || arg.startsWith(`${flag}=`));
  const envelope = how.plain || options.dialect === 'envelope';
  const flags = envelope
    ? ([
        ['--input-format', 'stream-json'],
        ['--output-format', options.format],
      ] as const)
    : peer.flags;
  for (const [flag, value] of flags) if (!has(flag)) args.push(flag, ...(value === null ? [] : [value]));
  const copy = how.resume === null ? undefined : copyIn(how.resume);
  const resumed = copy ?? how.resume;
  if (resumed !== null && !isFlag(resumed) && !how.plain && !has('--resume') && !has('--continue')) {
    args.push('--resume', resumed, ...(copy === undefined ? [] : ['--fork-session']));
    if (how.upTo !== null && !isFlag(how.upTo)) args.push('--resume-session-at', how.upTo);
  }
  return args;
}

/** True of a name that the agent would read as a flag, or as nothing. */
function isFlag(name: string): boolean {
  return name === '' || name.startsWith('-');
}

/** The mode a process was started in, when its command line names one. */
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

const LONGEST = 300;

/** Meanings of exit codes of Qwen Code, where stderr explains nothing (docs/protocols/qwen.md §1.1). */
const CODES: Readonly<Record<number, () => string>> = {
  53: () => limitReached('turns'),
  55: () => limitReached('budget'),
};

/** The part of stderr that explains an end: the reason before a usage text, or the last of it (docs/protocols/qwen.md §1.8). */
export function explain(stderr: string): string {
  const usage = /^Usage:/m.exec(stderr);
  return usage ? stderr.slice(0, Math.min(usage.index, 2048)).trim() : stderr.slice(-4096).trim();
}

/** An end in a sentence or two for a user: who ended and how, and what it said about that last. */
export function sentenceOf(closed: LinkEnd): string {
  const said =
    reasonIn(closed.stderr ?? '', closed.signal !== undefined) ?? (closed.code === undefined ? undefined : CODES[closed.code]?.());
  return said === undefined ? closed.reason : `${closed.reason} ${said}`;
}

/** The agent was to go on with a conversation it does not keep, in the words of Qwen Code or Claude Code. */
export function knowsNoSuch(stderr: string): boolean {
  return /^No (saved session|conversation) found with/im.test(stderr);
}

/** Everything there is to know of an end, for who asks: what was started, and what it wrote. Nothing when it ended well without a word. */
export function detailOf(
  spec: { readonly command: string; readonly args: readonly string[] },
  said: string,
  end: Pick<LinkEnd, 'code' | 'signal'>,
): string | undefined {
  if (end.code === 0 && said === '') return undefined;
  return endDetail(end, [[spec.command, ...spec.args].join(' '), said].join('\n\n'));
}

/**
 * The line with the reason: the first before a usage text, the one that names an error, or the last. A program that was killed had no time to say
 * why, so its last line is about something else, as a warning is.
 */
function reasonIn(stderr: string, killed: boolean): string | undefined {
  const lines = explain(stderr)
    .split('\n')
    .flatMap((line) => plain(line) || [])
    .filter((line) => !WARNING.test(line));
  const found = /^Usage:/m.test(stderr) ? lines[0] : (lines.findLast(namesError) ?? (killed ? undefined : lines.at(-1)));
  return found !== undefined && found.length > LONGEST ? `${found.slice(0, LONGEST)}…` : found;
}

const WARNING = /^(?:\(node:\d+\) |\w*warning\b|ripgrep (?:is )?not (?:available|found))/i;

function namesError(line: string): boolean {
  return /^(\w*(Error|Exception)|error|fatal|panic)\b.*:/i.test(line);
}

function plain(line: string): string {
  return line.replaceAll(/\x1b\[[0-9;]*m/g, '').trim();
}
/** Milliseconds (docs/protocols/qwen.md §6). */
const WINDOW = 600_000;
const WAITS = [1_000, 4_000, 15_000] as const;
/** A start that fails this soon writes the reason to stderr and would fail again. */
const TOO_SOON = 5_000;
/** Exit codes that mean the agent will not do better the next time: input, sandbox, configuration, turn limit, budget. */
const FINAL_CODES: readonly (number | undefined)[] = [42, 44, 52, 53, 55];

/** Milliseconds to wait before the next start, three times in ten minutes and longer each time; undefined when it is enough. Notes the start. */
export function nextRestart(starts: number[], now: number): { readonly wait: number; readonly nth: number } | undefined {
  const recent = starts.filter((at) => now - at < WINDOW);
  const wait = WAITS[recent.length];
  if (wait === undefined) return undefined;
  starts.splice(0, starts.length, ...recent, now);
  return { wait, nth: starts.length };
}

/** True when starting it again may help. */
export function worthRestarting(exit: { readonly code?: number; readonly signal?: string }, lived: number, said: string): boolean {
  if (exit.code === 0 || FINAL_CODES.includes(exit.code)) return false;
  return exit.signal !== undefined || lived >= TOO_SOON || said.trim() === '';
}
