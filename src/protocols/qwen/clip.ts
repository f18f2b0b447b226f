import { t } from '../../base/l10n.ts';

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
  return `${text.slice(0, half)}\n${t('… {0} characters left out …', text.length - 2 * half)}\n${text.slice(-half)}`;
}
