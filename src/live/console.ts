import { type Log, messageOf } from '../base/log.ts';
import { visibleText } from '../session/visible.ts';

/* Writes the output of Parley's programs to their terminal, without control characters, because agents choose some of the words. */

/** Writes a text to stderr. */
export function writeError(text: string): void {
  process.stderr.write(`${visibleText(text)}\n`);
}

const line = (level: string) => (message: string, cause?: unknown) =>
  writeError(`[${level}] ${message}${cause === undefined ? '' : `: ${messageOf(cause)}`}`);

/** The log on stderr, without traces. */
export const stderrLog: Log = { trace: () => {}, info: line('info'), warn: line('warn'), error: line('error') };

/** Control and bidirectional characters that JSON leaves as they are. */
const RAW = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A value as one line of JSON, with such characters escaped: readers get the same value. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value);
  return text.replace(RAW, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
