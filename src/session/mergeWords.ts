import { diffArrays } from 'diff';

/** A replacement of lines or words `from` to `to` of the base, `to` excluded. */
export interface MergeChange {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** The most changed words that are compared: the time grows with their square. */
const MOST_EDITS = 400;

/** Applies the change from `base` to `wanted` to the present text by words; undefined where no word parts it from another change, or for too many. */
export function mergedLine(present: string, base: string, wanted: string): string | undefined {
  const words = wordsOf(base);
  const [there, all] = [present, wanted].map((text) => changesOf(words, wordsOf(text)));
  const fresh = all?.filter((one) => !there?.some((other) => isSame(one, other)));
  if (!there || !fresh || fresh.some((one) => there.some((other) => touch(one, other)))) return undefined;
  return withChanges(words, [...there, ...fresh]);
}

/** True when `wanted` is `base` without some of its words or with other spaces: nothing was written. */
export function onlyRemoves(base: string, wanted: string): boolean {
  const words = (text: string) => wordsOf(text).flatMap((word) => word.trim() || []);
  const changes = changesOf(words(base), words(wanted));
  return changes?.every(({ lines }) => lines.length === 0) ?? false;
}

/** True when both texts share a word, or half of the characters kept their place. Signs count where there are no words. */
export function hasSomeOf(one: string, other: string): boolean {
  const words = (text: string) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const signs = (text: string) => text.match(/\S/gu) ?? [];
  const parts = words(one).length > 0 ? words : signs;
  const there = new Set(parts(other));
  if (parts(one).some((part) => there.has(part))) return true;
  const shorter = Math.min(one.length, other.length);
  let same = 0;
  while (same < shorter && one[same] === other[same]) same += 1;
  for (let end = 1; same < shorter && one.at(-end) === other.at(-end); end += 1) same += 1;
  return same * 2 >= one.length;
}

/** Returns the base with changes that do not overlap. */
export function withChanges(base: readonly string[], changes: readonly MergeChange[]): string {
  const merged: (readonly string[])[] = [];
  let at = 0;
  for (const change of [...changes].sort((a, b) => a.from - b.from || a.to - b.to)) {
    merged.push(base.slice(at, change.from), change.lines);
    at = change.to;
  }
  return [...merged, base.slice(at)].flat().join('');
}

/** Words and signs, each with the spaces behind it, and line ends. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\n|(?:[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_])[^\S\n]*|[^\S\n]+/gu) ?? [];
}

function changesOf(base: readonly string[], other: readonly string[]): readonly MergeChange[] | undefined {
  const parts = diffArrays([...base], [...other], { maxEditLength: MOST_EDITS });
  if (!parts) return undefined;
  const changes: MergeChange[] = [];
  let at = 0;
  let open: { from: number; lines: string[] } | undefined;
  const close = () => {
    if (open) changes.push({ from: open.from, to: at, lines: open.lines });
    open = undefined;
  };
  for (const part of parts) {
    if (!part.added && !part.removed) close();
    else open ??= { from: at, lines: [] };
    if (part.added) open?.lines.push(...part.value);
    else at += part.value.length;
  }
  close();
  return changes;
}

export function isSame(a: MergeChange, b: MergeChange): boolean {
  return a.from === b.from && a.to === b.to && a.lines.join('') === b.lines.join('');
}

function touch(a: MergeChange, b: MergeChange): boolean {
  return a.from <= b.to && b.from <= a.to;
}
