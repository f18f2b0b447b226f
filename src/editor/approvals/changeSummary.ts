import { hunksOf } from '../../session/hunks.ts';
import type { Diff } from '../../session/model.ts';
import { plainLabel } from './optionRows.ts';

/** So much of a change is told in one line, in characters. */
const BEGINNING = 100;

/** All diffs of one file in two short texts: `+2 −1`, and the changed lines as far as one line of a pick holds them, or what is said about the change. '' where there is nothing to say. */
export function changeSummary(diffs: readonly Diff[]): { readonly counts: string; readonly beginning: string } {
  const said = diffs.flatMap((diff) => (diff.summary ? [plainLabel((diff.after ?? diff.before ?? '').slice(0, 500))] : []));
  if (said.length > 0) return { counts: '', beginning: said.join('   ') };
  const all = diffs.map(hunksOf);
  if (all.length === 0 || all.some((one) => one.tooLong)) return { counts: '', beginning: '' };
  const sum = (side: 'added' | 'removed') => all.reduce((total, one) => total + one[side], 0);
  let beginning = '';
  for (const { sign, text } of all.flatMap((one) => one.hunks.flat())) {
    if (sign === ' ' || text.trim() === '') continue;
    const next = `${beginning === '' ? '' : '   '}${sign === '+' ? '+' : '−'} ${plainLabel(text.slice(0, 2 * BEGINNING))}`;
    if ([...beginning, ...next].length > BEGINNING) {
      beginning = `${[...beginning, ...next].slice(0, BEGINNING).join('')}…`;
      break;
    }
    beginning += next;
  }
  return { counts: `+${sum('added')} −${sum('removed')}`, beginning };
}
