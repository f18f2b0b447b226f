import { mannerOf, plain } from './lineEnds.ts';
import { isSame, type MergeChange, withChanges } from './mergeWords.ts';
import { compareLines, type Hunk } from './segments.ts';

/** Applies the change from `base` to `wanted` to the present text, line by line; undefined when it overlaps with a change made there meanwhile. */
export function mergedInto(present: string, base: string, wanted: string): string | undefined {
  if (present === base) return wanted;
  if (present === wanted) return present;
  const lines = linesOf(base);
  const there = changesOf(lines, linesOf(present));
  const fresh = changesOf(lines, linesOf(wanted)).filter((one) => !there.some((other) => isSame(one, other)));
  if (fresh.some((one) => there.some((other) => overlap(one, other)))) return undefined;
  return withChanges(lines, [...there, ...fresh]);
}

/** The same for texts as they are in a file: each line of `present` that stays keeps its own end. `base` has the ends of all lines, or \n alone. */
export function mergedWithEnds(present: string, base: string, wanted: string): string | undefined {
  const manner = mannerOf(base);
  const merged = mergedInto(manner.read(present), manner.read(base), manner.read(wanted));
  return merged === undefined ? undefined : manner.write(merged, present);
}

/** The change between the common prefix and the common suffix; undefined for equal texts. */
export function smallestChange(
  before: string,
  after: string,
): { readonly from: number; readonly to: number; readonly text: string } | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from, to: before.length - end, text: after.slice(from, after.length - end) };
}

/** The lines with their line ends. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  const ended = lines.map((line) => `${line}\n`);
  return last === '' && ended.length > 0 ? ended : [...ended, last];
}

function changesOf(base: readonly string[], other: readonly string[]): readonly MergeChange[] {
  const changes: MergeChange[] = [];
  let at = 0;
  for (const segment of compareLines(base, other)) {
    const from = at;
    at += segment.kind === 'same' ? segment.lines.length : segment.before.length;
    if (segment.kind === 'hunk') changes.push({ from, to: at, lines: segment.after });
  }
  return changes;
}

/** Two insertions at one place overlap, too: their order is unknown. */
function overlap(a: MergeChange, b: MergeChange): boolean {
  return (a.from < b.to && b.from < a.to) || (a.from === b.from && (a.from === a.to) === (b.from === b.to));
}

/** Characters of a line that are in sight without scrolling in any window. */
const IN_SIGHT = 60;

/** A 0-based place, for the editor. */
export interface ChangedPlace {
  readonly line: number;
  /** Of what is new in the line, where that may be out of sight at the right; else 0. */
  readonly column: number;
}

/** The place where `after` begins to differ from `before`; undefined where it does not. */
export function firstPlace(before: string, after: string): ChangedPlace | undefined {
  const [from, to] = [plain(before), plain(after)];
  const change = smallestChange(from, to);
  if (!change) return undefined;
  const line = to.slice(0, change.from).split('\n').length - 1;
  return { line, column: farColumn(from.split('\n')[line] ?? '', to.split('\n')[line] ?? '') };
}

/** The column where two lines begin to differ, where that may be out of sight at the right; else 0. */
export function farColumn(before: string, after: string): number {
  const { from } = smallestChange(before, after) ?? { from: 0 };
  return from <= IN_SIGHT ? 0 : from;
}

/** As `farColumn`, of the first line that the hunk leaves. */
export function columnOf({ before, after }: Pick<Hunk, 'before' | 'after'>): number {
  return before[0] === undefined || after[0] === undefined ? 0 : farColumn(before[0], after[0]);
}
