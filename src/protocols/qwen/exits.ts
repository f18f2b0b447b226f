import { t } from '../../base/l10n.ts';
import type { Closed } from '../../transport/channel.ts';
import type { ProcessSpec } from '../../transport/process.ts';

const LONGEST = 300;

/** What exit codes of the shipped agent mean, for an end that nothing else explains (qwen.md §1.1). */
const CODES: Readonly<Record<number, () => string>> = {
  42: () => t('It could not use what it was given as input.'),
  44: () => t('Its sandbox could not be set up.'),
  52: () => t('Its settings are not as they must be.'),
  53: () => t('It has used up the turns it may take.'),
  55: () => t('It has used up its budget.'),
};

/** What of stderr explains an end: the reason before a usage text, or the last of it (qwen.md §1.8). */
export function explain(stderr: string): string {
  const usage = /^Usage:/m.exec(stderr);
  return usage ? stderr.slice(0, Math.min(usage.index, 2048)).trim() : stderr.slice(-4096).trim();
}

/** An end in a sentence or two for a user: who ended and how, and what it said about that last. */
export function sentenceOf(closed: Closed): string {
  const said = reasonIn(closed.stderr) ?? (closed.code === undefined ? undefined : CODES[closed.code]?.());
  return said === undefined ? closed.reason : `${closed.reason} ${said}`;
}

/** The agent was to go on with a conversation it does not keep, in the words of Qwen Code or Claude Code. */
export function knowsNoSuch(stderr: string): boolean {
  return /^No (saved session|conversation) found with/im.test(stderr);
}

/** Everything there is to know of an end, for who asks: what was started, and what it wrote. Nothing when it ended well without a word. */
export function detailOf(spec: ProcessSpec, said: string, code: number | undefined): string | undefined {
  if (code === 0 && said === '') return undefined;
  return [[spec.command, ...spec.args].join(' '), said].filter((text) => text !== '').join('\n\n');
}

/** The line that says why: the first before a usage text, the one that names an error, or the last. */
function reasonIn(stderr: string): string | undefined {
  const lines = explain(stderr)
    .split('\n')
    .flatMap((line) => plain(line) || []);
  const found = /^Usage:/m.test(stderr) ? lines[0] : (lines.findLast(namesError) ?? lines.at(-1));
  return found !== undefined && found.length > LONGEST ? `${found.slice(0, LONGEST)}…` : found;
}

function namesError(line: string): boolean {
  return /^(\w*(Error|Exception)|error|fatal|panic)\b.*:/i.test(line);
}

function plain(line: string): string {
  return line.replaceAll(/\x1b\[[0-9;]*m/g, '').trim();
}
