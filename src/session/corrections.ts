import type { Content } from './model.ts';

const [OPEN, CLOSE] = ['<file-changes-by-user>\n', '\n</file-changes-by-user>'];

/** Corrections as they stand in a prompt, apart from the user's words. */
export function enclosed(texts: readonly string[]): string {
  return `${OPEN}${texts.join('\n\n')}${CLOSE}`;
}

/** Splits a prompt into its own content and the corrections at its end. */
export function withoutCorrections(prompt: readonly Content[]): { readonly prompt: readonly Content[]; readonly corrections?: string } {
  const last = prompt.at(-1);
  if (last?.type !== 'text' || !last.text.endsWith(CLOSE)) return { prompt };
  const from = last.text.lastIndexOf(OPEN);
  if (from < 0) return { prompt };
  const text = last.text.slice(0, from).trimEnd();
  const corrections = last.text.slice(from + OPEN.length, -CLOSE.length);
  return { prompt: [...prompt.slice(0, -1), ...(text === '' ? [] : [{ ...last, text }])], corrections };
}
