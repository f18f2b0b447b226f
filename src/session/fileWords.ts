import type { TurnFile } from './model.ts';
import { oneLine, visibleText } from './visible.ts';

/* What a comparison of texts does not show of a changed file. */

/** Where a symbolic link leads and led, as lines that were added and removed. */
export function linkWords({ before, after }: { readonly before?: string | undefined; readonly after?: string | undefined }): string {
  const words = (sign: string, target: string | undefined) => (target === undefined ? [] : [`${sign} → ${visibleText(oneLine(target))}`]);
  return [...words('+', after), ...words('−', before)].join(' ');
}

/** The rights on a file and the encoding of its text, before and now, once where that is the same; '' where neither is worth a word. */
export function mannerWords({ permissions, form }: { readonly [Key in 'permissions' | 'form']?: TurnFile[Key] | undefined }): string {
  return [permissions, form]
    .flatMap((one) => (one ? [visibleText(one.before === one.after ? one.after : `${one.before} → ${one.after}`)] : []))
    .join(' · ');
}
