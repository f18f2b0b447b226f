import type { DiffLine } from '../../session/hunks.ts';

/** Pixels of a row of the pick, and of the least high line of an editor. */
const ROW = 22;
const LINE = 16;
/** Pixels of the pick's title and input that lie lower than where an editor without breadcrumbs begins. */
const HEAD = 72;
/** The editor gives a pick no more than 40 % of a window; more rows than this scroll in it. */
const MOST_ROWS = 30;

/**
 * How many of the changed lines, in their order, the pick has to show itself, because it lies over them and no editor scrolls above its first line.
 * Rows that show them make the pick longer. `above`: its rows without them.
 */
export function linesUnderPick(lines: readonly Pick<DiffLine, 'before' | 'after'>[], above: number): number {
  let count = 0;
  while (count < Math.min(lines.length, MOST_ROWS)) {
    const covered = Math.ceil((HEAD + ROW * Math.min(above + count, MOST_ROWS)) / LINE);
    const { before = 1, after = before } = lines[count] ?? {};
    if (Math.min(before, after) > covered) return count;
    count += 1;
  }
  return count;
}
