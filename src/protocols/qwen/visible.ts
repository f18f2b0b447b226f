import { say } from '../../base/say.ts';

/** Characters that change how text reads without being seen: controls except tab and line end, and direction marks. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Makes characters visible that could hide what a person is about to approve (qwen.md §5.4). */
export function visible(text: string): string {
  return text.replace(HIDDEN, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`);
}

/** The first line of a text, shortened. */
export function firstLine(text: string, longest = 120): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  const more = line.length < text.trim().length;
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : `${line}${more ? ' …' : ''}`;
}

/** At most this many UTF-16 units of a text, the middle taken out. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n${say('… {0} characters left out …', text.length - 2 * half)}\n${text.slice(-half)}`;
}
