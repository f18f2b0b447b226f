import { splitChanges, taggedChanges } from '../base/fileChangesTag.ts';
import type { Content } from './model.ts';

/** Corrections as a prompt holds them, apart from the user's words. */
export function enclosed(texts: readonly string[]): string {
  return taggedChanges(texts.join('\n\n'));
}

/** Splits a prompt into its own content and the corrections at its end. */
export function withoutCorrections(prompt: readonly Content[]): { readonly prompt: readonly Content[]; readonly corrections?: string } {
  const last = prompt.at(-1);
  if (last?.type !== 'text') return { prompt };
  const { words, changes } = splitChanges(last.text);
  if (changes === undefined) return { prompt };
  return { prompt: [...prompt.slice(0, -1), ...(words === '' ? [] : [{ ...last, text: words }])], corrections: changes };
}
