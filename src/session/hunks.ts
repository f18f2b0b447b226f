import { structuredPatch } from 'diff';
import type { Diff } from './model.ts';
import { compareTexts } from './segments.ts';

export interface DiffLine {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
  /** 1-based; absent where the side has no such line or its number is unknown. */
  readonly before?: number;
  readonly after?: number;
  /** True when a line end is the only difference: this line has one, the same line on the other side has none. */
  readonly ends?: true;
}
export interface Hunks {
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly (readonly DiffLine[])[];
  /** The two sides are too different or too long to compare here. */
  readonly tooLong?: true;
}

const LONGEST = 400_000;
/** With more edits, comparing line by line takes too long; lines that occur once on each side then anchor the comparison. */
const MOST_EDITS = 300;
/** Lines of both sides that are compared by those; a longer comparison is not useful here. */
const MOST_LINES = 20_000;
/** The steps of a comparison that finds no change. */
const FIXED_STEPS = 300;
const CONTEXT = 3;
const known = new WeakMap<Diff, Hunks>();

/** The changed lines of a diff with three lines around them. Worked out once per diff. */
export function hunksOf(diff: Diff): Hunks {
  const found = known.get(diff) ?? compare(diff);
  known.set(diff, found);
  return found;
}

/** About how many steps it took to work that out. */
export function stepsOf({ added, removed }: Hunks): number {
  return FIXED_STEPS + Math.min(added + removed, MOST_EDITS) ** 2;
}

function compare(diff: Diff): Hunks {
  const before = diff.before ?? '';
  const after = diff.after ?? '';
  if (before.length + after.length > LONGEST) return { added: 0, removed: 0, hunks: [], tooLong: true };
  const near = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: MOST_EDITS });
  if (!near && hasMoreLines(before + after, MOST_LINES)) return { added: 0, removed: 0, hunks: [], tooLong: true };
  // An excerpt without a place has no line numbers to show.
  const placed = (side: number | undefined) => (diff.excerpt ? side : 1);
  const beforeBase = placed(diff.excerpt?.beforeLine);
  const afterBase = placed(diff.excerpt?.afterLine);
  let added = 0;
  let removed = 0;
  const hunks = (near?.hunks ?? farHunks(before, after)).map((hunk) => {
    let oldLine = hunk.oldStart;
    let newLine = hunk.newStart;
    const lines: DiffLine[] = [];
    const endless: DiffLine[] = [];
    for (const line of hunk.lines) {
      const sign = line[0];
      if (sign === '\\') endless.push(...lines.slice(-1));
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
    return withEnds(lines, endless);
  });
  return { added, removed, hunks };
}

/** The lines of a hunk; of two that are the same but for a line end, the one that has it says so. `endless`: lines that have none. */
function withEnds(lines: readonly DiffLine[], endless: readonly DiffLine[]): readonly DiffLine[] {
  const isOther = (one: DiffLine) =>
    endless.some(({ sign, text }) => sign !== ' ' && one.sign !== ' ' && sign !== one.sign && text === one.text);
  const at = lines.findLastIndex(isOther);
  return lines.map((line, index) => (index === at ? { ...line, ends: true } : line));
}

function hasMoreLines(text: string, most: number): boolean {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0 && lines <= most; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines > most;
}

interface PatchHunk {
  /** 1-based. */
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly string[];
}

/** Hunks of texts in which much changed, as a patch has them. */
function farHunks(before: string, after: string): readonly PatchHunk[] {
  const hunks: { oldStart: number; newStart: number; lines: string[] }[] = [];
  const segments = compareTexts(withoutEnd(before), withoutEnd(after));
  let [oldLine, newLine] = [1, 1];
  const put = (sign: string, lines: readonly string[]) => {
    const last = hunks.at(-1);
    for (const line of lines) last?.lines.push(sign + line);
    if (sign !== '+') oldLine += lines.length;
    if (sign !== '-') newLine += lines.length;
  };
  if (segments[0]?.kind === 'hunk') hunks.push({ oldStart: 1, newStart: 1, lines: [] });
  for (const [at, segment] of segments.entries()) {
    if (segment.kind === 'hunk') {
      put('-', segment.before);
      put('+', segment.after);
      continue;
    }
    const { lines } = segment;
    const behind = at === 0 ? 0 : CONTEXT;
    const ahead = at === segments.length - 1 ? 0 : CONTEXT;
    const left = lines.length - behind - ahead;
    if (left <= 0 && behind > 0 && ahead > 0) {
      put(' ', lines);
      continue;
    }
    put(' ', lines.slice(0, behind));
    const rest = lines.slice(behind);
    const skipped = ahead === 0 ? rest.length : Math.max(0, rest.length - ahead);
    oldLine += skipped;
    newLine += skipped;
    if (ahead === 0) continue;
    hunks.push({ oldStart: oldLine, newStart: newLine, lines: [] });
    put(' ', rest.slice(skipped));
  }
  return hunks;
}

/** A patch has no line behind the last line end. */
function withoutEnd(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}
