import { hunksOf } from '../../session/hunks.ts';
import type { Diff } from '../../session/model.ts';
import { plainLabel } from './rowText.ts';

/** So much of a change is told in one line, in characters. */
const BEGINNING = 100;

/** All diffs of one file in two short texts: `+2 −1`, and the changed lines as far as one line of a pick holds them, or what is said about the change. '' where there is nothing to say. */
export function changeSummary(diffs: readonly Diff[]): { readonly counts: string; readonly beginning: string } {
  const told = diffs.flatMap((diff) => (diff.summary ? [plainLabel((diff.after ?? diff.before ?? '').slice(0, 500))] : [])).join('   ');
  const all = diffs.filter((diff) => !diff.summary).map(hunksOf);
  if (all.length === 0 || all.some((one) => one.tooLong)) return { counts: '', beginning: told };
  const sum = (side: 'added' | 'removed') => all.reduce((total, one) => total + one[side], 0);
  const most = [...told].length + BEGINNING;
  let beginning = told;
  for (const { sign, text } of all.flatMap((one) => one.hunks.flat())) {
    if (sign === ' ' || text.trim() === '') continue;
    const next = `${beginning === '' ? '' : '   '}${sign === '+' ? '+' : '−'} ${plainLabel(text.slice(0, 2 * BEGINNING))}`;
    if ([...beginning, ...next].length > most) {
      beginning = `${[...beginning, ...next].slice(0, most).join('')}…`;
      break;
    }
    beginning += next;
  }
  return { counts: `+${sum('added')} −${sum('removed')}`, beginning };
}

/** What becomes of the file itself, as far as texts say it and not only words. */
export function fileBecomes(diffs: readonly Diff[]): 'new' | 'deleted' | 'changed' {
  const texts = diffs.filter((diff) => !diff.summary);
  if (texts.at(-1)?.after === null) return 'deleted';
  return texts[0]?.before === null ? 'new' : 'changed';
}
