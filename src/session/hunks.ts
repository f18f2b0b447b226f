import { structuredPatch } from 'diff';
import type { Diff } from './model.ts';

export interface DiffLine {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
  /** 1-based; absent where the side has no such line or nobody knows its number. */
  readonly before?: number;
  readonly after?: number;
}
export interface Hunks {
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly (readonly DiffLine[])[];
  /** The two sides are too different or too long to compare here. */
  readonly tooLong?: true;
}

const LONGEST = 400_000;
const MOST_EDITS = 4000;
const known = new WeakMap<Diff, Hunks>();

/** The changed lines of a diff with three lines around them. Worked out once per diff. */
export function hunksOf(diff: Diff): Hunks {
  const found = known.get(diff) ?? compare(diff);
  known.set(diff, found);
  return found;
}

function compare(diff: Diff): Hunks {
  const before = diff.before ?? '';
  const after = diff.after ?? '';
  const fits = before.length + after.length <= LONGEST;
  const patch = fits ? structuredPatch('', '', before, after, '', '', { context: 3, maxEditLength: MOST_EDITS }) : undefined;
  if (!patch) return { added: 0, removed: 0, hunks: [], tooLong: true };
  // An excerpt without a place has no line numbers to show.
  const placed = (side: number | undefined) => (diff.excerpt ? side : 1);
  const beforeBase = placed(diff.excerpt?.beforeLine);
  const afterBase = placed(diff.excerpt?.afterLine);
  let added = 0;
  let removed = 0;
  const hunks = patch.hunks.map((hunk) => {
    let oldLine = hunk.oldStart;
    let newLine = hunk.newStart;
    const lines: DiffLine[] = [];
    for (const line of hunk.lines) {
      const sign = line[0];
      if (sign !== '+' && sign !== '-' && sign !== ' ') continue;
      if (sign === '+') added += 1;
      if (sign === '-') removed += 1;
      lines.push({
        sign,
        text: line.slice(1),
        ...(sign !== '+' && beforeBase !== undefined ? { before: oldLine + beforeBase - 1 } : {}),
        ...(sign !== '-' && afterBase !== undefined ? { after: newLine + afterBase - 1 } : {}),
      });
      if (sign !== '+') oldLine += 1;
      if (sign !== '-') newLine += 1;
    }
    return lines;
  });
  return { added, removed, hunks };
}
