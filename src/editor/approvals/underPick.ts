import type { DiffLine } from '../../session/hunks.ts';

/** Pixels of a row of the pick, and of a line of its title. They grow with the zoom of the window, as the lines of editors do. */
const ROW = 22;
const TITLE_LINE = 18;
/** Characters of a title's line, at least. */
const TITLE_WIDTH = 60;
/** Pixels of the pick's title and input below the top edge of an editor without tabs and breadcrumbs. */
const HEAD = 72;
/** The editor gives a pick no more than 40 % of a window; more rows than this scroll in it. */
const MOST_ROWS = 30;

/**
 * The number of changed lines, from the first, that the pick must show itself, because it may cover them and no editor scrolls above its first line.
 * Rows that show them make the pick longer. `above`: its rows without them. `lineHeight`: pixels of a line in editors.
 */
export function linesUnderPick(
  lines: readonly Pick<DiffLine, 'before' | 'after'>[],
  above: number,
  { title, lineHeight }: { readonly title: string; readonly lineHeight: number },
): number {
  const head = HEAD + TITLE_LINE * Math.floor(title.length / TITLE_WIDTH);
  let count = 0;
  while (count < Math.min(lines.length, MOST_ROWS)) {
    const covered = Math.ceil((head + ROW * Math.min(above + count, MOST_ROWS)) / lineHeight);
    const { before = 1, after = before } = lines[count] ?? {};
    if (Math.min(before, after) > covered) return count;
    count += 1;
  }
  return count;
}
