import { compareLines } from './segments.ts';

/** A replacement of lines `from` to `to` of the base, `to` excluded. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Applies the change from `base` to `wanted` to the present text, line by line; undefined when it overlaps with a change made there meanwhile. */
export function mergedInto(present: string, base: string, wanted: string): string | undefined {
  if (present === base) return wanted;
  if (present === wanted) return present;
  const lines = linesOf(base);
  const there = changesOf(lines, linesOf(present));
  const fresh = changesOf(lines, linesOf(wanted)).filter((one) => !there.some((other) => isSame(one, other)));
  if (fresh.some((one) => there.some((other) => overlap(one, other)))) return undefined;
  const merged: (readonly string[])[] = [];
  let at = 0;
  for (const change of [...there, ...fresh].sort((a, b) => a.from - b.from || a.to - b.to)) {
    merged.push(lines.slice(at, change.from), change.lines);
    at = change.to;
  }
  return [...merged, lines.slice(at)].flat().join('');
}

/** The lines with their line ends. */
function linesOf(text: string): readonly string[] {
  return text.split(/(?<=\n)/);
}

function changesOf(base: readonly string[], other: readonly string[]): readonly Change[] {
  const changes: Change[] = [];
  let at = 0;
  for (const segment of compareLines(base, other)) {
    const from = at;
    at += segment.kind === 'same' ? segment.lines.length : segment.before.length;
    if (segment.kind === 'hunk') changes.push({ from, to: at, lines: segment.after });
  }
  return changes;
}

function isSame(a: Change, b: Change): boolean {
  return a.from === b.from && a.to === b.to && a.lines.join('') === b.lines.join('');
}

/** Two insertions at one place overlap, too: nobody knows which comes first. */
function overlap(a: Change, b: Change): boolean {
  return (a.from < b.to && b.from < a.to) || (a.from === b.from && (a.from === a.to) === (b.from === b.to));
}
