import { t } from '../base/l10n.ts';
import type { TurnFile } from './model.ts';
import { oneLine, shortened, visibleText } from './visible.ts';

/* What a comparison of texts does not show of a changed file. */

/** Characters of the names of files that are not listed. */
const LONGEST_NAMES = 200;

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

const NO_LINES = ['binary', 'large', 'encoding', undefined, 'gone'] as const;

/** Why a file has no hunks. An earlier version did not keep the reason. `gone`: its text before the changes was kept, and is not there any more. */
export function noHunksWords(why: TurnFile['noLines'] | 'gone'): string {
  return t('{0|binary|large|not UTF-8|binary, large or not UTF-8|its earlier text is gone}', NO_LINES.indexOf(why) + 1);
}

/** True where its text is not in UTF-8 on either side, which is decided about as a whole, whatever lines were changed. */
export function isOtherEncoding(form: TurnFile['form']): boolean {
  return form !== undefined && [form.before, form.after].some((one) => !one.startsWith('UTF-8'));
}

/** Files that changed before or after prompts, whose changes nobody knows. */
export function betweenWords(names: readonly string[]): string {
  return `${t('Changed {0|on disk|while no prompt ran}', 2)}: ${visibleText(shortened(names.join(', '), LONGEST_NAMES))}`;
}
