import { type DiffLine, hunksOf } from '../../session/hunks.ts';
import type { Diff } from '../../session/model.ts';
import { linesUnderPick, type PickRoom } from './pickRoom.ts';
import { commandRows } from './rowText.ts';

/** A changed line with the rows that show it in a pick, its sign before the first. */
export interface ChangedLine extends DiffLine {
  readonly rows: readonly [string, ...string[]];
  /** The rows do not hold all that has changed. */
  readonly isCut: boolean;
  /** A diff editor may not show what has changed: it lies far to the right, or it is blanks that the editor is told to ignore. */
  readonly isOutOfSight: boolean;
}

/** Rows of a changed line, the letters beside it, and UTF-16 units of it that are laid out. */
const [MOST_ROWS, BESIDE, LAID_OUT] = [4, 10, 2000];
/** UTF-16 units shown on either side of the change in a line that is too long for its rows. */
const AROUND = 20;

/** The changed lines of a file. `ignoresBlanks`: the diff editor marks no change of blanks at either end of a line. */
export function changedLines(diffs: readonly Diff[], ignoresBlanks: boolean, room: PickRoom): readonly ChangedLine[] {
  const runs = diffs.filter((diff) => !diff.summary).flatMap((diff) => hunksOf(diff).hunks.flatMap(runsOf));
  const pairs = runs.flatMap(({ removed, added }) => [
    ...removed.map((line, at) => ({ line, other: added[at]?.text })),
    ...added.map((line, at) => ({ line, other: removed[at]?.text })),
  ]);
  const unmarked = ignoresBlanks && pairs.every(({ line, other }) => differsInBlanks(line.text, other));
  return pairs.map(({ line, other }) => shown(line, other, unmarked, room));
}

interface Run {
  readonly removed: DiffLine[];
  readonly added: DiffLine[];
}
/** The gaps between the lines of a hunk that stay. */
function runsOf(hunk: readonly DiffLine[]): readonly Run[] {
  const runs: Run[] = [{ removed: [], added: [] }];
  for (const line of hunk) {
    if (line.sign === ' ') runs.push({ removed: [], added: [] });
    else runs.at(-1)?.[line.sign === '-' ? 'removed' : 'added'].push(line);
  }
  return runs;
}

function shown(line: DiffLine, other: string | undefined, unmarked: boolean, room: PickRoom): ChangedLine {
  const { from, to } = changeIn(line.text, other);
  const isOutOfSight = unmarked || (to > room.columns && to > from);
  const layOut = (text: string) => {
    const { rows, more } = commandRows(text.slice(0, LAID_OUT), MOST_ROWS, Math.max(8, room.row - BESIDE));
    return { rows, isCut: more > 0 };
  };
  const whole = differsInBlanks(line.text, other) || line.text.trim() === '' ? withBlanks : oneBlank;
  let { rows, isCut } = layOut(`${whole(line.text)}${line.ends ? '↵' : ''}`);
  if (isCut) {
    const [start, end] = [Math.max(0, from - AROUND), to + AROUND];
    const part = whole(line.text.slice(start, end));
    ({ rows, isCut } = layOut(`${start > 0 ? '…' : ''}${part}${end < line.text.length ? '…' : ''}`));
  }
  const [first = '', ...rest] = isCut ? rows.with(-1, `${rows.at(-1)}…`) : rows;
  return { ...line, rows: [`${line.sign === '+' ? '+' : '−'} ${first}`, ...rest], isCut, isOutOfSight };
}

/** The part of a line that the other side does not have; all of it where there is none. */
function changeIn(text: string, other: string | undefined): { readonly from: number; readonly to: number } {
  if (other === undefined) return { from: 0, to: text.length };
  const shorter = Math.min(text.length, other.length);
  let from = 0;
  while (from < shorter && text[from] === other[from]) from += 1;
  let end = 0;
  while (end < shorter - from && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  return { from, to: text.length - end };
}

function differsInBlanks(text: string, other: string | undefined): boolean {
  return other !== undefined && oneBlank(text) === oneBlank(other);
}
function oneBlank(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
/** Blanks that can be seen. */
function withBlanks(text: string): string {
  return `${text.replaceAll(' ', '·').replaceAll('\t', '→')}${text.trim() === '' ? '↵' : ''}`;
}

/** The place of a pick over a diff. `above`: its rows before the lines. */
export interface PickPlace {
  readonly above: number;
  readonly title: string;
  readonly room: PickRoom;
  /** The diff editor folds what has not changed: a change may be anywhere, however far down in its file. */
  readonly folds: boolean;
}

/** The lines that the pick must show because the diff beside it does not: those that it lies over, and those out of sight in it. */
export function linesToShow(lines: readonly ChangedLine[], { above, folds, ...over }: PickPlace): readonly ChangedLine[] {
  // Folded, a change lies no higher than the changes before it, two of which may be side by side.
  const places = folds ? lines.map((_, at) => ({ before: Math.floor(at / 2) + 1 })) : lines;
  const shownOf = (under: number) => lines.filter((line, at) => at < under || line.isOutOfSight);
  // Lines of several rows make the pick longer, so that it covers more.
  const next = (under: number) => linesUnderPick(places, above + rowsOf(shownOf(under)) - under, over);
  let under = next(0);
  for (let more = next(under); more > under; more = next(under)) under = more;
  return shownOf(under);
}

export function rowsOf(lines: readonly ChangedLine[]): number {
  return lines.reduce((sum, { rows }) => sum + rows.length, 0);
}
