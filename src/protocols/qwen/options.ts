import { t } from '../../base/l10n.ts';
import type { LaunchOptions } from '../adapter.ts';
import type { TalkOptions } from './talk.ts';

/** Milliseconds (qwen.md §6). */
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
    if (value !== undefined && found === undefined) problems.push(t('Option {0}: "{1}" is none of {2}', name, value, allowed.join(', ')));
    return found ?? otherwise;
  };
  const seconds = (name: string, otherwise: number): number => {
    const value = options[name];
    if (value === undefined) return otherwise;
    const number = Number(value);
    if (Number.isFinite(number) && number >= 0 && number <= 3600) return number * 1000;
    problems.push(t('Option {0}: "{1}" is no number of seconds', name, value));
    return otherwise;
  };
  const { model, temperature, tools } = options;
  const warmth = temperature === undefined || temperature.trim() === '' ? Number.NaN : Number(temperature);
  if (temperature !== undefined && !Number.isFinite(warmth)) problems.push(t('Option {0}: "{1}" is no number', 'temperature', temperature));
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
