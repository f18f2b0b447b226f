import { diffArrays } from 'diff';

/**
 * A file under review, cut into pieces of whole lines. `before` is the file without the changes that are still to be reviewed, `after` the file as
 * it is. Lines stand without their ends; a text that ends with a line end has an empty last line.
 */
export type Segment = { readonly kind: 'same'; readonly lines: readonly string[] } | Hunk;
export interface Hunk {
  readonly kind: 'hunk';
  readonly before: readonly string[];
  readonly after: readonly string[];
}
export type Segments = readonly Segment[];

/** A hunk and where it stands on either side: 0-based numbers of its first line, or of the line it would stand before. */
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

/** Settles the chosen hunks: what is kept becomes part of both sides, what is undone is on neither. The order of decisions makes no difference. */
export function settleHunks(segments: Segments, chosen: (hunk: Hunk) => boolean, how: 'keep' | 'undo'): Segments {
  return joined(
    segments.map((segment): Segment => {
      if (segment.kind === 'same' || !chosen(segment)) return segment;
      return { kind: 'same', lines: how === 'keep' ? segment.after : segment.before };
    }),
    false,
  );
}

/**
 * The user edits the present text. What they write stands on both sides from then on, so that no decision about a hunk takes it away; a hunk they
 * write into is cut in two. Lines of a hunk that they put back themselves are not to be reviewed any more.
 */
export function withUserEdit(segments: Segments, edit: LineEdit): Segments {
  const { from, to, lines } = edit;
  const target = segmentOf(segments, edit);
  const result: Segment[] = [];
  let at = 0;
  for (const [index, segment] of segments.entries()) {
    const present = presentLines(segment);
    const [start, end] = [at, at + present.length];
    at = end;
    if (index !== target && (to <= start || from >= end)) {
      result.push(segment);
      continue;
    }
    const fresh = index === target ? lines : [];
    const head = present.slice(0, Math.max(0, from - start));
    const tail = present.slice(Math.max(0, Math.min(to, end) - start));
    if (segment.kind === 'same') result.push(same(head), same(fresh), same(tail));
    else result.push({ ...segment, before: [], after: head }, ...putBack(segment.before, fresh), { ...segment, before: [], after: tail });
  }
  return joined(target < 0 ? [...result, same(lines)] : result, true);
}

/** Where the new lines of an edit belong: into the first piece it replaces something of, or else the one it stands at the end of; -1 without pieces. */
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

function presentLines(segment: Segment): readonly string[] {
  return segment.kind === 'same' ? segment.lines : segment.after;
}

/** The user's lines among those that a hunk took away. */
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
  const edits: LineEdit[] = [];
  let line = 0;
  for (const segment of compareTexts(afterText(segments), text)) {
    if (segment.kind === 'same') line += segment.lines.length;
    else {
      edits.push({ from: line, to: line + segment.before.length, lines: segment.after });
      line += segment.before.length;
    }
  }
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

/** A piece of unchanged lines in two, where that leaves lines on both sides. */
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
  const anchors = depth < DEEPEST ? anchorsOf(before, after) : [];
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

/** Pairs of line numbers, ascending on both sides: the longest run of lines that occur exactly once on each. */
function anchorsOf(before: readonly string[], after: readonly string[]): readonly (readonly [number, number])[] {
  const places = uniquePlaces(after);
  const pairs = [...uniquePlaces(before)].flatMap(([line, at]): readonly (readonly [number, number])[] => {
    const other = places.get(line);
    return at < 0 || other === undefined || other < 0 ? [] : [[at, other]];
  });
  return longestAscending(pairs.sort((a, b) => a[0] - b[0]));
}

/** -1 for a line that occurs more than once. */
function uniquePlaces(lines: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [at, line] of lines.entries()) places.set(line, places.has(line) ? -1 : at);
  return places;
}

/** `pairs` ascend in their first number; the longest choice of them that ascends in the second, too. */
function longestAscending(pairs: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
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

/** Without empty pieces, and with neighbours of one kind as one. `hunks`: neighbouring hunks are one, too; never so among decisions. */
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

/** Pieces of one kind as one. */
function together(run: Segments): Segment | undefined {
  if (run.length === 0) return undefined;
  if (run[0]?.kind === 'same') return { kind: 'same', lines: run.flatMap((one) => (one.kind === 'same' ? one.lines : [])) };
  const hunks = run.filter((one) => one.kind === 'hunk');
  return { kind: 'hunk', before: hunks.flatMap((one) => one.before), after: hunks.flatMap((one) => one.after) };
}

function isEmpty(segment: Segment): boolean {
  return segment.kind === 'same' ? segment.lines.length === 0 : segment.before.length === 0 && segment.after.length === 0;
}
