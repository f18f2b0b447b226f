import { HIDDEN } from '../session/visible.ts';

/** UTF-16 units; a user does not read a longer one before committing it. */
const LONGEST = 5000;

/**
 * The message in an agent's answer, without the fence that some models put around it. The changes it was made of may have been written by anybody: it
 * holds no character that does not show, and nothing far below what is in sight.
 */
export function messageIn(answer: string): string {
  const text = answer.slice(0, 2 * LONGEST).replaceAll('\r\n', '\n');
  const bare = /^\s*```\w*\n(.*?)\n```\s*$/s.exec(text)?.[1] ?? text;
  return bare
    .replace(HIDDEN, '')
    .replace(/\n[^\S\n]{0,1000}(?=\n[^\S\n]{0,1000}\n)/g, '')
    .trim()
    .slice(0, LONGEST);
}
