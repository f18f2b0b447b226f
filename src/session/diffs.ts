import { plain } from './lineEnds.ts';
import { mergedInto } from './merge.ts';
import type { Diff } from './model.ts';

/** Both sides of one file, whole, with \n line ends. null means that there is no such file. */
export interface Sides {
  readonly before: string | null;
  readonly after: string | null;
}
export type Located =
  | { readonly ok: true; readonly sides: Sides }
  | { readonly ok: false; readonly why: 'changed' | 'ambiguous' | 'unreadable' };

const CHANGED: Located = { ok: false, why: 'changed' };

/**
 * The file that a proposal would produce from the present one. `diffs` are of one path; `present` is its text now, null when there is no such file,
 * undefined when it cannot be read.
 */
export function pendingSides(diffs: readonly Diff[], present: string | null | undefined): Located {
  const whole = diffs.findLast((diff) => !diff.excerpt && !diff.summary);
  if (diffs.some((diff) => diff.summary)) return CHANGED;
  if (isUnplaced(diffs)) return { ok: false, why: 'ambiguous' };
  if (present === undefined) return whole ? sides(whole.before, whole.after) : { ok: false, why: 'unreadable' };
  const before = present === null ? null : plain(present);
  if (whole) return sides(before, whole.after === null ? null : plain(whole.after));
  const after = applyAll(diffs, before);
  return typeof after === 'string' ? sides(before, after) : after;
}

/** Both sides of a file after completed changes: `diffs` oldest first, `present` as above. The after side is the file as it is now. */
export function doneSides(diffs: readonly Diff[], present: string | null | undefined): Located {
  if (present === undefined) return { ok: false, why: 'unreadable' };
  const after = present === null ? null : plain(present);
  const search = new BoundedSearch();
  const together = undoTogether(diffs, after, search);
  if (together !== undefined) return sides(together, after);
  let text: string | null = after;
  for (const diff of diffs.toReversed()) {
    const earlier = undo(diff, text, search);
    if (earlier === undefined) return CHANGED;
    text = earlier;
  }
  return sides(text, after);
}

/** Takes back excerpts that are in order from top to bottom at their lines, as those of one patch are, so that none moves another. */
function undoTogether(diffs: readonly Diff[], text: string | null, search: BoundedSearch): string | undefined {
  if (text === null || diffs.length < 2) return undefined;
  const spots: Spot[] = [];
  for (const { before, after, excerpt, summary } of diffs) {
    const at = excerpt?.afterLine === undefined || summary || excerpt.unplaced ? undefined : search.lineStart(text, excerpt.afterLine);
    const old = plain(after ?? '');
    if (at === undefined || at < (spots.at(-1)?.to ?? 0) || old === '' || !text.startsWith(old, at)) return undefined;
    spots.push(spotAt(text, at, old, plain(before ?? ''), true));
  }
  return areApart(spots) ? replaceAll(text, spots) : undefined;
}

/** True when a diff of the file could not be located: all are shown as they came, and cannot be reverted here. */
export function isUnplaced(diffs: readonly Diff[]): boolean {
  return diffs.some((diff) => diff.excerpt?.unplaced);
}

/** The excerpts themselves, for a file in which they cannot be found. */
export function excerptSides(diffs: readonly Diff[]): Sides {
  const side = (texts: readonly (string | null)[]) =>
    texts.every((text) => text === null) ? null : texts.map((text) => text ?? '').join('\n⋯\n');
  return { before: side(diffs.map((diff) => diff.before)), after: side(diffs.map((diff) => diff.after)) };
}

function sides(before: string | null, after: string | null): Located {
  return { ok: true, sides: { before, after } };
}

/**
 * Applies excerpts whose lines all count in the text before the proposal; when that does not fit, each counts in the result of the one before.
 */
function applyAll(diffs: readonly Diff[], before: string | null): string | Located {
  if (before === null) return diffs.length === 1 && diffs[0]?.before === null ? plain(diffs[0].after ?? '') : CHANGED;
  const spots: Spot[] = [];
  const search = new BoundedSearch();
  let why: Located | undefined;
  for (const diff of diffs) {
    const spot = locate(before, plain(diff.before ?? ''), plain(diff.after ?? ''), diff.excerpt?.beforeLine, search);
    if (typeof spot === 'object') spots.push(spot);
    else why = { ok: false, why: spot };
  }
  spots.sort((a, b) => a.from - b.from);
  if (!why && areApart(spots)) return replaceAll(before, spots);
  let text = before;
  for (const diff of diffs) {
    const spot = locate(text, plain(diff.before ?? ''), plain(diff.after ?? ''), diff.excerpt?.beforeLine, search);
    if (typeof spot !== 'object') return why ?? { ok: false, why: spot };
    text = replace(text, spot);
  }
  return text;
}

/** The text before a carried-out change, or undefined when the change is not there any more as it was made. */
function undo(diff: Diff, text: string | null, search: BoundedSearch): string | null | undefined {
  if (diff.summary || diff.excerpt?.unplaced) return undefined;
  const { excerpt } = diff;
  const before = diff.before === null ? null : plain(diff.before);
  const after = diff.after === null ? null : plain(diff.after);
  if (!excerpt) return undoWhole(before, after, text);
  if (text === null) return undefined;
  const spot = locate(text, after ?? '', before ?? '', excerpt.afterLine, search);
  return typeof spot === 'object' ? replace(text, spot) : undefined;
}

/** Undoes a change of a whole file and keeps the user's later edits elsewhere in it. */
function undoWhole(before: string | null, after: string | null, text: string | null): string | null | undefined {
  if (text === after) return before;
  // A text equal to `before` was never changed, or is already reverted.
  if (text === null || after === null || before === null || text === before) return undefined;
  return mergedInto(text, after, before);
}

/** The UTF-16 offsets from..to of the replaced text. */
interface Spot {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function replace(text: string, spot: Spot): string {
  return text.slice(0, spot.from) + spot.text + text.slice(spot.to);
}

/** True when the spots, in order, do not overlap. */
function areApart(spots: readonly Spot[]): boolean {
  return spots.every((spot, at) => at === 0 || (spots[at - 1]?.to ?? 0) <= spot.from);
}

function replaceAll(text: string, spots: readonly Spot[]): string {
  const pieces = spots.flatMap((spot, at) => [text.slice(spots[at - 1]?.to ?? 0, spot.from), spot.text]);
  return [...pieces, text.slice(spots.at(-1)?.to ?? 0)].join('');
}

/** UTF-16 units that the excerpts of one file are looked for in, together: an agent may name as many as it likes. */
const MOST_SEARCHED = 4 * 1024 * 1024;
/** The cost of finding a line end, and of each unit of a text with several places, relative to a unit that is only passed. */
const LINE_COST = 16;
const PLACES_COST = 8;

/** Looks for lines and texts, and gives up when that has become too much work. One look is always taken, however long the text. */
class BoundedSearch {
  #left = MOST_SEARCHED;
  #text = '';
  #lines: readonly number[] | undefined;

  /** Offset at which a 1-based line begins; undefined when the text has no such line. */
  lineStart(text: string, line: number): number | undefined {
    if (this.#lines === undefined || text !== this.#text) {
      if (this.#left <= 0) return undefined;
      this.#text = text;
      this.#lines = lineStarts(text);
      this.#left -= text.length + LINE_COST * this.#lines.length;
    }
    return line < 1 ? 0 : this.#lines[line - 1];
  }

  /** All places of the wanted text; undefined from when the work has become too much. */
  occurrences(text: string, wanted: string): readonly number[] | undefined {
    if (this.#left <= 0) return undefined;
    const first = text.indexOf(wanted);
    this.#left -= text.length;
    if (first < 0 || text.indexOf(wanted, first + 1) < 0) return first < 0 ? [] : [first];
    this.#left -= PLACES_COST * (text.length - first);
    return places(text, wanted, first);
  }
}

/** The place of `old` in the text: at its line if it is named and fits, else at the only or nearest place; whole lines are preferred. */
function locate(text: string, old: string, next: string, line: number | undefined, search: BoundedSearch): Spot | 'changed' | 'ambiguous' {
  const at = line === undefined ? undefined : search.lineStart(text, line);
  if (old === '') return insertion(text, next, line, at);
  if (at !== undefined && text.startsWith(old, at)) return spotAt(text, at, old, next, true);
  const all = search.occurrences(text, old);
  if (all === undefined) return 'ambiguous';
  const aligned = all.filter((from) => isAligned(text, from, from + old.length));
  const fitting = aligned.length > 0 ? aligned : all;
  if (fitting.length === 0) return 'changed';
  if (fitting.length > 1 && at === undefined) return 'ambiguous';
  const nearest = fitting.reduce((a, b) => (Math.abs(b - (at ?? 0)) < Math.abs(a - (at ?? 0)) ? b : a));
  return spotAt(text, nearest, old, next, line !== undefined);
}

/** Lines that are taken away where their place is known go with their line end. */
function spotAt(text: string, from: number, old: string, next: string, asLines: boolean): Spot {
  const to = from + old.length;
  if (next !== '' || !asLines || old.endsWith('\n') || !isAligned(text, from, to)) return { from, to, text: next };
  if (to < text.length) return { from, to: to + 1, text: '' };
  return { from: Math.max(0, from - 1), to, text: '' };
}

function insertion(text: string, next: string, line: number | undefined, at: number | undefined): Spot | 'changed' {
  if (text === '') return { from: 0, to: 0, text: next };
  if (line === undefined) return 'changed';
  if (at === undefined) return { from: text.length, to: text.length, text: text.endsWith('\n') ? next : `\n${next}` };
  return { from: at, to: at, text: next.endsWith('\n') ? next : `${next}\n` };
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}

/** Offsets of all places from the first, overlapping ones included, in time proportional to both texts (Knuth, Morris, Pratt). */
function places(text: string, wanted: string, first: number): readonly number[] {
  const found: number[] = [];
  const borders = bordersOf(wanted);
  let fits = 0;
  for (let at = first; at < text.length; at += 1) {
    while (fits > 0 && wanted.charCodeAt(fits) !== text.charCodeAt(at)) fits = borders[fits - 1] ?? 0;
    if (wanted.charCodeAt(fits) === text.charCodeAt(at)) fits += 1;
    if (fits < wanted.length) continue;
    found.push(at - wanted.length + 1);
    fits = borders[fits - 1] ?? 0;
  }
  return found;
}

/** For each prefix of the text the length of its longest proper prefix that also ends it. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (length > 0 && text.charCodeAt(length) !== text.charCodeAt(at)) length = borders[length - 1] ?? 0;
    if (text.charCodeAt(length) === text.charCodeAt(at)) length += 1;
    borders[at] = length;
  }
  return borders;
}

function isAligned(text: string, from: number, to: number): boolean {
  return (from === 0 || text[from - 1] === '\n') && (to === text.length || text[to] === '\n' || text[to - 1] === '\n');
}
