import { diffArrays } from 'diff';
import { hasSomeOf, mergedLine, onlyRemoves } from './mergeWords.ts';

/**
 * A file under review, cut into pieces of whole lines. `before` is the file without the changes that are still to be reviewed, `after` the file as
 * it is. Lines have no line ends; a text that ends with a line end has an empty last line.
 */
export type Segment = { readonly kind: 'same'; readonly lines: readonly string[] } | Hunk;
export interface Hunk {
  readonly kind: 'hunk';
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The agent's lines, where the user has written into some of them since; `after` is then what both have made. */
  readonly written?: readonly string[];
}
export type Segments = readonly Segment[];

/** A hunk and its place on either side: 0-based numbers of its first line, or of the line it would come before. */
export interface PlacedHunk {
  readonly hunk: Hunk;
  readonly beforeLine: number;
  readonly afterLine: number;
}
/** Lines `from` to `to`, without the latter, of the present text were replaced; 0-based. */
export interface LineEdit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Without lines to hold on to, a region with more changed lines is one hunk: comparing takes time in the square of it. */
const MOST_EDITS = 500;
/** Regions between lines that occur once on either side are compared the same way, so often at most. */
const DEEPEST = 8;
/** Places of lines that a side has more than once, or not at all. */
const [REPEATED, ABSENT] = [-1, -2];

/** Both texts have \n line ends. */
export function compareTexts(before: string, after: string): Segments {
  return compareLines(linesOf(before), linesOf(after));
}

export function beforeText(segments: Segments): string {
  return segments.flatMap((segment) => (segment.kind === 'same' ? segment.lines : segment.before)).join('\n');
}

export function afterText(segments: Segments): string {
  return segments.flatMap((segment) => (segment.kind === 'same' ? segment.lines : segment.after)).join('\n');
}

/** The file as the agent has left it: with what the user wrote elsewhere, and without what they wrote into the agent's lines. */
export function writtenText(segments: Segments): string {
  return segments.flatMap((segment) => (segment.kind === 'same' ? segment.lines : writtenLines(segment))).join('\n');
}

export function hunksOfSegments(segments: Segments): readonly PlacedHunk[] {
  const found: PlacedHunk[] = [];
  let beforeLine = 0;
  let afterLine = 0;
  for (const segment of segments) {
    if (segment.kind === 'hunk') found.push({ hunk: segment, beforeLine, afterLine });
    beforeLine += segment.kind === 'same' ? segment.lines.length : segment.before.length;
    afterLine += segment.kind === 'same' ? segment.lines.length : segment.after.length;
  }
  return found;
}

/** Finds a hunk as it was shown, `wanted` of `shown`, among those of `now`; undefined where it was settled or changed since, whatever stands there. */
export function hunkNow(shown: Segments, wanted: PlacedHunk, now: Segments): PlacedHunk | undefined {
  const [beforeShown, beforeNow] = [shown.flatMap(earlierLines), now.flatMap(earlierLines)];
  const [afterShown, afterNow] = [shown.flatMap(presentLines), now.flatMap(presentLines)];
  const beforePlaces = placesNow(beforeShown, beforeNow, wanted.beforeLine);
  const afterPlaces = placesNow(afterShown, afterNow, wanted.afterLine);
  return hunksOfSegments(now).find(({ hunk, beforeLine, afterLine }) => {
    if (!isSameLines(hunk.before, wanted.hunk.before) || !isSameLines(writtenLines(hunk), writtenLines(wanted.hunk))) return false;
    // An undone hunk leaves the one side as it is, a kept one the other: there a place is certain. Among equal lines the other may be taken for another.
    if (isSameLines(beforeShown, beforeNow)) return beforePlaces.includes(beforeLine);
    return afterPlaces.includes(afterLine) && (isSameLines(afterShown, afterNow) || beforePlaces.includes(beforeLine));
  });
}

/** Where the place ahead of a line has moved to: more than one where lines came in there, none among lines that were replaced. */
function placesNow(shown: readonly string[], now: readonly string[], line: number): readonly number[] {
  const places: number[] = [];
  let [from, to] = [0, 0];
  for (const segment of compareLines(shown, now)) {
    const [there, here] = segment.kind === 'same' ? [segment.lines, segment.lines] : [segment.before, segment.after];
    if (line === from || (segment.kind === 'same' && line > from && line < from + there.length)) places.push(to + line - from);
    from += there.length;
    to += here.length;
    if (line === from) places.push(to);
  }
  return places;
}

function isSameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at]);
}

/** The place of a line of one side on the other; for a line of a hunk, where the hunk begins. */
export function afterLineOf(segments: Segments, beforeLine: number): number {
  let [before, after] = [0, 0];
  for (const segment of segments) {
    const [there, here] = segment.kind === 'same' ? [segment.lines, segment.lines] : [segment.before, segment.after];
    if (beforeLine < before + there.length) return segment.kind === 'same' ? after + beforeLine - before : after;
    before += there.length;
    after += here.length;
  }
  return after;
}

/**
 * A hunk's lines without what the agent changed in them, and with what the user wrote into them; undefined where both changed the same place, so that
 * undoing the one takes away the other.
 */
export function linesUndone({ before, written, after }: Hunk): readonly string[] | undefined {
  if (!written) return before;
  const [base, mine, wanted] = [written.join('\n'), after.join('\n'), before.join('\n')];
  if (onlyRemoves(base, mine)) return before;
  if (before.length === 0) return undefined;
  const merged = mergedLine(mine, base, wanted);
  return merged === undefined ? undefined : linesOf(merged);
}

/**
 * Settles the chosen hunks: a kept hunk becomes part of both sides, an undone one is on neither, with what the user wrote into it where that is
 * possible. The order of decisions makes no difference.
 */
export function settleHunks(segments: Segments, chosen: (hunk: Hunk) => boolean, how: 'keep' | 'undo'): Segments {
  return joined(
    segments.map((segment): Segment => {
      if (segment.kind === 'same' || !chosen(segment)) return segment;
      return { kind: 'same', lines: how === 'keep' ? segment.after : (linesUndone(segment) ?? segment.before) };
    }),
    false,
  );
}

/**
 * The user edits the present text. Their own lines are on both sides from then on, so that no decision about a hunk takes them away; a hunk they
 * stand in is cut in two. A line of the agent's that they write into stays in its hunk. Lines of a hunk that they put back themselves are not to be
 * reviewed any more.
 */
export function withUserEdit(segments: Segments, edit: LineEdit): Segments {
  const { from, to, lines } = edit;
  const target = segmentOf(segments, edit);
  const [left, pieces, right]: [Segment[], Piece[], Segment[]] = [[], [], []];
  let at = 0;
  for (const [index, segment] of segments.entries()) {
    const present = presentLines(segment);
    const [start, end] = [at, at + present.length];
    at = end;
    if (index !== target && (to <= start || from >= end)) (pieces.length === 0 ? left : right).push(segment);
    else {
      const [head, rest] = [present.slice(0, Math.max(0, from - start)), Math.max(0, Math.min(to, end) - start)];
      pieces.push({
        segment,
        fresh: index === target ? lines : [],
        head,
        replaced: present.slice(head.length, rest),
        tail: present.slice(rest),
      });
    }
  }
  if (pieces.length === 0) return joined([...left, same(lines)], true);
  const edited = lines.length > 0 && pieces.some(isWrittenInto) ? rewritten(pieces, lines) : pieces.flatMap(editedPiece);
  return joined([...left, ...edited, ...right], true);
}

/** A segment that an edit meets: its lines before, in and after the place, and the new lines if they belong to it. */
interface Piece {
  readonly segment: Segment;
  readonly head: readonly string[];
  readonly replaced: readonly string[];
  readonly tail: readonly string[];
  readonly fresh: readonly string[];
}

function isWrittenInto({ segment, head, replaced, tail }: Piece): boolean {
  return segment.kind === 'hunk' && (replaced.length > 0 || (segment.written !== undefined && head.length > 0 && tail.length > 0));
}

function editedPiece({ segment, head, tail, fresh }: Piece): Segments {
  if (segment.kind === 'same') return [same(head), same(fresh), same(tail)];
  if (segment.written && fresh.length === 0) return threeWay(segment.before, segment.written, [...head, ...tail]);
  const part = (after: readonly string[]): Hunk => ({ kind: 'hunk', before: [], after });
  // No segment stands before a change at the top of the file: what is typed there is ahead of it, but for its own lines, which are put back.
  const isAhead = tail.length > 0 && tail.length === segment.after.length;
  if (!segment.written && !(isAhead && compareLines(segment.before, fresh).every(({ kind }) => kind === 'hunk')))
    return [part(head), ...putBack(segment.before, fresh), part(tail)];
  return head.length === 0 ? [same(fresh), segment] : [segment, same(fresh)];
}

/** The user has written into lines of the agent's: whatever they replaced belongs to one change. */
function rewritten(pieces: readonly Piece[], lines: readonly string[]): Segments {
  const [first, last] = [pieces[0], pieces.at(-1)];
  const [start, end] = [first?.head ?? [], last?.tail ?? []];
  const side = (of: (hunk: Hunk) => readonly string[]) =>
    pieces.flatMap(({ segment, replaced }) => (segment.kind === 'same' ? replaced : of(segment)));
  const head = first?.segment.kind === 'hunk' ? start : [];
  const tail = last?.segment.kind === 'hunk' ? end : [];
  const change = threeWay(
    side(({ before }) => before),
    side(writtenLines),
    [...head, ...lines, ...tail],
  );
  return [same(head.length > 0 ? [] : start), ...change, same(tail.length > 0 ? [] : end)];
}

/** Compares `before`, the agent's text and the user's: each hunk has the agent's lines, where it holds lines that are not the agent's. */
function threeWay(before: readonly string[], written: readonly string[], after: readonly string[]): Segments {
  const places = samePlaces(written, after);
  let at = 0;
  /** Lines of the agent that are part of an earlier segment. */
  let taken = 0;
  return compareLines(before, after).map((segment, index, all): Segment => {
    const present = presentLines(segment);
    const [start, end] = [at, at + present.length];
    at = end;
    if (segment.kind === 'same') {
      taken = Math.max(taken, (places[end - 1] ?? -1) + 1);
      return segment;
    }
    const from = taken;
    const next = places.slice(end).find((one) => one >= from);
    taken = index === all.length - 1 ? written.length : (next ?? written.length);
    const isAgents = places.slice(start, end).every((place) => place >= 0);
    if (isAgents) return segment;
    const mixed: Hunk = { ...segment, written: written.slice(from, taken) };
    return isMixed(mixed) ? mixed : same(present);
  });
}

/** True for a hunk that still holds lines of the agent. */
function isMixed(hunk: Hunk): boolean {
  const text = hunk.after.join('\n');
  return hasSomeOf(writtenLines(hunk).join('\n'), text) && linesUndone(hunk)?.join('\n') !== text;
}

/** For each line of `after`, the number of the line of `before` that it is; -1 for one that is not there. */
function samePlaces(before: readonly string[], after: readonly string[]): readonly number[] {
  let at = 0;
  return compareLines(before, after).flatMap((segment) => {
    const places = presentLines(segment).map((_, index) => (segment.kind === 'same' ? at + index : -1));
    at += segment.kind === 'same' ? segment.lines.length : segment.before.length;
    return places;
  });
}

/** Where the new lines of an edit belong: into the first piece it replaces something of, or else the one it comes at the end of; -1 without pieces. */
function segmentOf(segments: Segments, { from, to }: LineEdit): number {
  let at = 0;
  for (const [index, segment] of segments.entries()) {
    const [start, end] = [at, at + presentLines(segment).length];
    at = end;
    if (to > from ? end > from : end >= from) {
      const next = segments[index + 1];
      // At the place of lines that were taken away, they may be put back.
      const isGap = to === from && end === from && segment.kind === 'same' && next?.kind === 'hunk' && next.after.length === 0;
      return isGap ? index + 1 : start <= from ? index : -1;
    }
  }
  return segments.length - 1;
}

function writtenLines({ written, after }: Hunk): readonly string[] {
  return written ?? after;
}

function earlierLines(segment: Segment): readonly string[] {
  return segment.kind === 'same' ? segment.lines : segment.before;
}

function presentLines(segment: Segment): readonly string[] {
  return segment.kind === 'same' ? segment.lines : segment.after;
}

/** Segments of the lines that a hunk removed, with the user's lines on both sides. */
function putBack(before: readonly string[], lines: readonly string[]): Segments {
  return compareLines(before, lines).flatMap((segment): Segments => {
    return segment.kind === 'same' ? [segment] : [{ kind: 'hunk', before: segment.before, after: [] }, same(segment.after)];
  });
}

function same(lines: readonly string[]): Segment {
  return { kind: 'same', lines };
}

/** The user, or a program of theirs, has made `text` of the present text. */
export function withUserText(segments: Segments, text: string): Segments {
  const present = afterText(segments);
  if (present === text) return joined(segments, true);
  const ends = endsOf(segments);
  const edits = editsBetween(present, text).flatMap((edit) => atEnds(edit, ends));
  return withUserEdits(segments, edits);
}

/** Edits of one text, ascending and apart; as if they were made one by one from the last to the first. */
export function withUserEdits(segments: Segments, edits: readonly LineEdit[]): Segments {
  const left = [...segments];
  /** Pieces behind the edits made so far, the last first. */
  const right: Segment[] = [];
  let end = left.reduce((sum, one) => sum + presentLines(one).length, 0);
  for (const { from, to, lines } of edits.toReversed()) {
    // Each is made in the few pieces around it: in all of them, many edits would take time in the square.
    const around: Segment[] = [];
    for (let segment = left.pop(); segment; segment = left.pop()) {
      const start = end - presentLines(segment).length;
      const [piece, behind] = splitAt(segment, to + 1 - start);
      if (behind) right.push(behind);
      if (start > to) {
        right.push(piece);
        end = start;
        continue;
      }
      const [ahead, near] = splitAt(piece, from - 1 - start);
      around.unshift(near ?? piece);
      end = near ? from - 1 : start;
      if (near) left.push(ahead);
      if (end < from) break;
    }
    const made = withUserEdit(around, { from: from - end, to: to - end, lines });
    left.push(...made);
    end += made.reduce((sum, one) => sum + presentLines(one).length, 0);
  }
  return joined([...left, ...right.reverse()], true);
}

/** Splits a piece of unchanged lines, where that leaves lines on both sides. */
function splitAt(segment: Segment, line: number): readonly [Segment, Segment?] {
  if (segment.kind === 'hunk' || line <= 0 || line >= segment.lines.length) return [segment];
  return [same(segment.lines.slice(0, line)), same(segment.lines.slice(line))];
}

/** The text is the present one, but for one hunk that is undone. */
export function isWithoutOneHunk(segments: Segments, text: string): boolean {
  const [present, lines] = [segments.flatMap(presentLines), linesOf(text)];
  const { start, end } = sameEnds(present, lines);
  return hunksOfSegments(segments).some(({ hunk: { before, after }, afterLine }) => {
    const isElsewhere = start < afterLine || end < present.length - afterLine - after.length;
    if (isElsewhere || lines.length !== present.length - after.length + before.length) return false;
    return before.every((line, at) => lines[afterLine + at] === line);
  });
}

/** How many lines are the same at the beginning, and how many at the end. */
function sameEnds(before: readonly string[], after: readonly string[]): { readonly start: number; readonly end: number } {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { start, end };
}

/**
 * `written` is the text of the agent, `from` what the user made of it, `to` what the agent then made of that: the text of the agent by now. Where it
 * has written into lines that the user had written into, these stay both's.
 */
export function writtenSince(written: string, from: string, to: string): string {
  const segments = compareTexts(written, from);
  const mixed = hunksOfSegments(segments).map(({ hunk, afterLine }) => ({ from: afterLine, to: afterLine + hunk.after.length }));
  const edits = editsBetween(from, to).filter((edit) => !mixed.some((one) => edit.from <= one.to && one.from <= edit.to));
  return beforeText(withUserEdits(segments, edits));
}

function editsBetween(before: string, after: string): readonly LineEdit[] {
  return hunksOfSegments(compareTexts(before, after)).map(({ hunk, beforeLine }) => ({
    from: beforeLine,
    to: beforeLine + hunk.before.length,
    lines: hunk.after,
  }));
}

/** Line numbers at which segments end. */
function endsOf(segments: Segments): readonly number[] {
  let at = 0;
  return segments.map((segment) => {
    at += presentLines(segment).length;
    return at;
  });
}

/** Lines replaced by as many are replaced one by one: those of an edit that belong to different segments are edits of their own. */
function atEnds(edit: LineEdit, ends: readonly number[]): readonly LineEdit[] {
  const { from, to, lines } = edit;
  if (to - from !== lines.length) return [edit];
  const cuts = [from, ...new Set(ends.filter((end) => end > from && end < to)), to];
  return cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? from;
    return { from: start, to: end, lines: lines.slice(start - from, end - from) };
  });
}

export function linesOf(text: string): readonly string[] {
  return text.split('\n');
}

export function compareLines(before: readonly string[], after: readonly string[]): Segments {
  return joined(compareRegion(before, after, 0), true);
}

function compareRegion(before: readonly string[], after: readonly string[], depth: number): Segments {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const middle = [before.slice(start, before.length - end), after.slice(start, after.length - end)] as const;
  return [
    { kind: 'same', lines: before.slice(0, start) },
    ...compareMiddle(...middle, depth),
    { kind: 'same', lines: before.slice(before.length - end) },
  ];
}

/** Lines that occur once on either side hold the comparison (a patience diff); between them it goes on, in the end edit by edit. */
function compareMiddle(before: readonly string[], after: readonly string[], depth: number): Segments {
  if (before.length === 0 || after.length === 0) return [{ kind: 'hunk', before, after }];
  const { anchors, isOther } = depth < DEEPEST ? anchorsOf(before, after) : NO_ANCHORS;
  if (isOther) return [{ kind: 'hunk', before, after }];
  if (anchors.length === 0) return compareByEdits(before, after);
  const result: Segment[] = [];
  let [beforeAt, afterAt] = [0, 0];
  /** Where the lines begin that were the same up to here. */
  let sameFrom = 0;
  for (const [inBefore, inAfter] of [...anchors, [before.length, after.length] as const]) {
    if (beforeAt < inBefore || afterAt < inAfter) {
      result.push({ kind: 'same', lines: before.slice(sameFrom, beforeAt) });
      result.push(...compareRegion(before.slice(beforeAt, inBefore), after.slice(afterAt, inAfter), depth + 1));
      sameFrom = inBefore;
    }
    [beforeAt, afterAt] = [inBefore + 1, inAfter + 1];
  }
  result.push({ kind: 'same', lines: before.slice(sameFrom) });
  return result;
}

interface Anchors {
  /** Pairs of line numbers, ascending on both sides: the longest run of lines that occur exactly once on each. */
  readonly anchors: readonly (readonly [number, number])[];
  /** The sides have no line in common. */
  readonly isOther: boolean;
}
const NO_ANCHORS: Anchors = { anchors: [], isOther: false };

function anchorsOf(before: readonly string[], after: readonly string[]): Anchors {
  // One map and lists of numbers: with a map for each side, files of 50,000 lines took several times as long.
  const numbers = new Map<string, number>();
  const inBefore: number[] = [];
  for (let at = 0; at < before.length; at += 1) {
    const line = before[at] ?? '';
    const number = numbers.get(line);
    if (number !== undefined) inBefore[number] = REPEATED;
    else numbers.set(line, inBefore.push(at) - 1);
  }
  const inAfter = new Int32Array(inBefore.length).fill(ABSENT);
  let isOther = true;
  for (let at = 0; at < after.length; at += 1) {
    const number = numbers.get(after[at] ?? '');
    if (number === undefined) continue;
    isOther = false;
    inAfter[number] = inAfter[number] === ABSENT ? at : REPEATED;
  }
  if (isOther) return { anchors: [], isOther };
  const pairs: (readonly [number, number])[] = [];
  for (let number = 0; number < inBefore.length; number += 1) {
    const [from, to] = [inBefore[number] ?? ABSENT, inAfter[number] ?? ABSENT];
    if (from >= 0 && to >= 0) pairs.push([from, to]);
  }
  return { anchors: longestAscending(pairs), isOther };
}

/** `pairs` ascend in their first number; the longest choice of them that ascends in the second, too. */
function longestAscending(pairs: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  if (pairs.every(([, second], index) => index === 0 || (pairs[index - 1]?.[1] ?? 0) < second)) return pairs;
  /** At each length, which pair ends the run of that length with the lowest second number. */
  const ends: number[] = [];
  const previous: (number | undefined)[] = [];
  for (const [index, [, second]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < second) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? ends[low - 1] : undefined;
    ends[low] = index;
  }
  const run: (readonly [number, number])[] = [];
  for (let at = ends.at(-1); at !== undefined; at = previous[at]) {
    const pair = pairs[at];
    if (pair) run.push(pair);
  }
  return run.reverse();
}

function compareByEdits(before: readonly string[], after: readonly string[]): Segments {
  const parts = diffArrays([...before], [...after], { maxEditLength: MOST_EDITS });
  if (!parts) return [{ kind: 'hunk', before, after }];
  return parts.map((part): Segment => {
    if (part.added) return { kind: 'hunk', before: [], after: part.value };
    return part.removed ? { kind: 'hunk', before: part.value, after: [] } : { kind: 'same', lines: part.value };
  });
}

/** The segments without empty pieces, and with neighbours of one kind joined. `hunks`: joins neighbouring hunks, too; never among decisions. */
function joined(segments: Segments, hunks: boolean): Segments {
  const result: Segment[] = [];
  let run: Segment[] = [];
  const close = () => {
    const one = run.length === 1 ? run[0] : together(run);
    if (one) result.push(one);
    run = [];
  };
  for (const segment of segments) {
    if (isEmpty(segment)) continue;
    const last = run.at(-1);
    if (last && (last.kind !== segment.kind || (segment.kind === 'hunk' && !hunks))) close();
    run.push(segment);
  }
  close();
  return result;
}

/** Joins pieces of one kind. */
function together(run: Segments): Segment | undefined {
  if (run.length === 0) return undefined;
  if (run[0]?.kind === 'same') return { kind: 'same', lines: run.flatMap((one) => (one.kind === 'same' ? one.lines : [])) };
  const hunks = run.filter((one) => one.kind === 'hunk');
  const both = { kind: 'hunk' as const, before: hunks.flatMap((one) => one.before), after: hunks.flatMap((one) => one.after) };
  return hunks.some((one) => one.written) ? { ...both, written: hunks.flatMap(writtenLines) } : both;
}

function isEmpty(segment: Segment): boolean {
  return segment.kind === 'same' ? segment.lines.length === 0 : segment.before.length === 0 && segment.after.length === 0;
}
