import { say } from '../../base/say.ts';
import type { LaunchOptions } from '../adapter.ts';
import type { TalkOptions } from './talk.ts';

/** Milliseconds (qwen.md §6). */
const HEARTBEAT = 5_000;
const PATIENCE = 10_000;

/**
 * Reads a profile's options: `dialect` (auto, message, envelope), `format` (stream-json, stream-chunk-json), `heartbeatSeconds`,
 * `timeoutSeconds`, `direct` (false runs the command as it is). What cannot be read is left at its default and named in `problems`.
 */
export function readTalkOptions(
  options: LaunchOptions,
  args: readonly string[],
): { readonly options: TalkOptions; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const oneOf = <T extends string>(name: string, allowed: readonly T[], otherwise: T): T => {
    const value = options[name];
    const found = allowed.find((one) => one === value);
    if (value !== undefined && found === undefined) problems.push(say('Option {0}: "{1}" is none of {2}', name, value, allowed.join(', ')));
    return found ?? otherwise;
  };
  const seconds = (name: string, otherwise: number): number => {
    const value = options[name];
    if (value === undefined) return otherwise;
    const number = Number(value);
    if (Number.isFinite(number) && number >= 0 && number <= 3600) return number * 1000;
    problems.push(say('Option {0}: "{1}" is no number of seconds', name, value));
    return otherwise;
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
      direct: oneOf('direct', ['true', 'false'], 'true') === 'true',
    },
    problems,
  };
}
