import { pendingSides } from './diffs.ts';
import { plain } from './lineEnds.ts';
import type { Approval, Diff } from './model.ts';
import { compareTexts, type Hunk, hunksOfSegments, type Segments } from './segments.ts';

/** A change of a proposal, in the proposed text as the user has made it so far. */
export interface ProposalHunk {
  /** 0-based, in that text. */
  readonly line: number;
  /** 0-based, in the text before the proposal. */
  readonly beforeLine: number;
  readonly isIn: boolean;
  readonly hunk: Hunk;
}

/** The changes that the text would make, and those of the agent's proposal that the user has left out of it. Texts have \n line ends. */
export function proposalHunks(before: string, proposed: string, text: string): readonly ProposalHunk[] {
  const segments = compareTexts(before, proposed);
  const choice = choiceOf(segments, text.split('\n'));
  if (choice) return chosenHunks(segments, choice);
  const present = hunksOfSegments(compareTexts(before, text));
  const leftOut = hunksOfSegments(segments).flatMap(({ hunk, beforeLine }) => {
    const line = lineOfUnchanged(present, beforeLine, hunk.before.length);
    return line === undefined ? [] : [{ line, beforeLine, isIn: false, hunk }];
  });
  const placed = present.map(({ hunk, beforeLine, afterLine }) => ({ line: afterLine, beforeLine, isIn: true, hunk }));
  return [...placed, ...leftOut].sort((a, b) => a.line - b.line);
}

/** True for a text that has nothing but what stood there before and what the agent proposes. */
export function isOfProposal(before: string, proposed: string, text: string): boolean {
  return choiceOf(compareTexts(before, proposed), text.split('\n')) !== undefined;
}

/** Finds a change as it was shown among the present ones; undefined where it was left out, put back or edited since. */
export function changeNow(shown: ProposalHunk, present: readonly ProposalHunk[]): ProposalHunk | undefined {
  const keyOf = ({ beforeLine, isIn, hunk }: ProposalHunk) => JSON.stringify([beforeLine, isIn, hunk.before, hunk.after]);
  const key = keyOf(shown);
  return present.find((one) => one.beforeLine === shown.beforeLine && keyOf(one) === key);
}

/** The text with that change left out, or put back. */
export function toggleHunk(text: string, { hunk, line, isIn }: ProposalHunk): string {
  const [there, instead] = isIn ? [hunk.after, hunk.before] : [hunk.before, hunk.after];
  return text
    .split('\n')
    .toSpliced(line, there.length, ...instead)
    .join('\n');
}

/** Segments that are still matched piece by piece; more would take long. */
const MOST_SEGMENTS = 2000;

/** Returns the changes that a text keeps of the proposal; undefined for a text that is not the proposal with changes left out. */
function choiceOf(segments: Segments, lines: readonly string[]): ReadonlySet<Hunk> | undefined {
  if (segments.length > MOST_SEGMENTS) return undefined;
  const failed = new Set<string>();
  const stands = (wanted: readonly string[], at: number) => wanted.every((line, index) => lines[at + index] === line);
  const match = (index: number, at: number): readonly Hunk[] | undefined => {
    const segment = segments[index];
    if (!segment) return at === lines.length ? [] : undefined;
    const key = `${index} ${at}`;
    if (failed.has(key)) return undefined;
    const sides = segment.kind === 'same' ? [segment.lines] : [segment.after, segment.before];
    for (const side of sides) {
      const rest = stands(side, at) ? match(index + 1, at + side.length) : undefined;
      if (rest) return segment.kind === 'hunk' && side === segment.after ? [segment, ...rest] : rest;
    }
    failed.add(key);
    return undefined;
  };
  const found = match(0, 0);
  return found && new Set(found);
}

function chosenHunks(segments: Segments, choice: ReadonlySet<Hunk>): readonly ProposalHunk[] {
  let [line, beforeLine] = [0, 0];
  return segments.flatMap((segment): readonly ProposalHunk[] => {
    const isIn = segment.kind === 'hunk' && choice.has(segment);
    const start = { line, beforeLine };
    line += (segment.kind === 'same' ? segment.lines : isIn ? segment.after : segment.before).length;
    beforeLine += (segment.kind === 'same' ? segment.lines : segment.before).length;
    return segment.kind === 'hunk' ? [{ ...start, isIn, hunk: segment }] : [];
  });
}

/** Returns the line in the present text of an unchanged passage of the earlier one; undefined when the passage was changed. */
function lineOfUnchanged(present: ReturnType<typeof hunksOfSegments>, from: number, count: number): number | undefined {
  let shift = 0;
  for (const { hunk, beforeLine } of present) {
    const end = beforeLine + hunk.before.length;
    const isTouched = count === 0 ? beforeLine <= from && end >= from : beforeLine < from + count && end > from;
    if (isTouched) return undefined;
    if (end <= from) shift += hunk.after.length - hunk.before.length;
  }
  return from + shift;
}

/**
 * What the proposal for one file would change in it `now`, where that is no longer what it was when the file was as `then`; undefined where it is.
 * Texts as `pendingSides` takes them. Excerpts merely need their places: without these they are shown as they came.
 */
export function changedSince(
  diffs: readonly Diff[],
  then: string | null | undefined,
  now: string | null | undefined,
): readonly Diff[] | undefined {
  const [was, is] = [then, now].map((text) => (typeof text === 'string' ? plain(text) : text));
  if (was === is) return undefined;
  if (is === undefined) return diffs;
  const whole = diffs.findLast((diff) => !diff.excerpt && !diff.summary);
  // The agent may have known of the change before it asked.
  if (whole) {
    const isKnown = is === (whole.before === null ? null : plain(whole.before));
    return isKnown || hasChange(whole.after, was ?? '', is) ? undefined : [{ ...whole, before: is }];
  }
  if (!pendingSides(diffs, was).ok || pendingSides(diffs, is).ok) return undefined;
  return diffs.map((diff) => ({ ...diff, excerpt: { ...diff.excerpt, unplaced: true } }));
}

/**
 * True for a proposal that takes back nothing of what has changed in its file, as one that goes on from an edit of the same answer that was allowed
 * before it: its changes and those of the file together are all that it proposed.
 */
function hasChange(proposed: string | null, was: string, is: string | null): boolean {
  if (proposed === null || is === null) return false;
  const changed = (before: string, after: string) =>
    hunksOfSegments(compareTexts(before, after)).reduce((sum, { hunk }) => sum + hunk.before.length + hunk.after.length, 0);
  const text = plain(proposed);
  return changed(was, is) + changed(is, text) === changed(was, text);
}

/** A file of an allowed edit for which the user wants another text than the agent writes. */
export interface Amendment {
  /** As the agent names it. */
  readonly path: string;
  readonly written: string;
  readonly wanted: string;
  /** The whole change as the user agreed to it. */
  readonly agreed: Diff;
}

/** The protocol carries an edited text of one file only. */
export function carriesEdits({ editable, detail }: Pick<Approval, 'editable' | 'detail'>): boolean {
  return editable === true && detail.type === 'edit' && new Set(detail.diffs.map(({ path }) => path)).size === 1;
}

/** The amendments still to be written after an allowed edit: those that its protocol could not carry to the agent. */
export function amendmentsOf(ask: Approval): readonly Amendment[] {
  if (ask.detail.type !== 'edit' || carriesEdits(ask)) return [];
  const { diffs } = ask.detail;
  return (ask.revised ?? []).flatMap(({ path, before, after }) => {
    const located = pendingSides(
      diffs.filter((diff) => diff.path === path),
      before,
    );
    const written = located.ok ? located.sides.after : null;
    return written === null || after === null || written === after
      ? []
      : [{ path, written, wanted: plain(after), agreed: { path, before, after } }];
  });
}

/** A file that is not as the agent knows it, because of what the user has decided. */
export interface Correction {
  readonly path: string;
  /** The user has allowed the agent's edit with changes, has undone some or all of it, or has put the file back to an earlier prompt. */
  readonly how: 'edited' | 'undone' | 'restored';
  /** As the agent knows it, and as it is now: null when there is no file, undefined when it is not text. */
  readonly known: string | null | undefined;
  readonly present: string | null | undefined;
}

/** Characters of a file's changed lines in the message to the agent; with more, the message asks it to read the file. */
const LONGEST_CHANGE = 2000;
/** Characters of the changed lines of all files in that message. */
const LONGEST_TOLD = 8000;
/** Files that the message names. */
const MOST_NAMED = 20;
const LEADS = { edited: 'The user changed your edit of', undone: 'The user undid changes that you made in' } as const;

/** The texts of all corrections, for the agent's next prompt. */
export function correctionTexts(all: readonly Correction[]): readonly string[] {
  const texts: string[] = [];
  const named = { edited: [] as string[], undone: [] as string[], restored: [] as string[] };
  let room = LONGEST_TOLD;
  for (const one of all) {
    const text = one.how === 'restored' ? undefined : `${LEADS[one.how]} ${one.path}${changedLines(one)}`;
    if (text !== undefined && text.length <= room && texts.length < MOST_NAMED) {
      texts.push(text);
      room -= text.length;
    } else named[one.how].push(one.path);
  }
  const rereads = [
    reread(`${LEADS.edited} these files`, named.edited),
    reread(`${LEADS.undone} these files`, named.undone),
    reread('The user restored another state of these files', named.restored),
  ];
  return [...texts, ...rereads.flat()];
}

function reread(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > MOST_NAMED ? [`and ${paths.length - MOST_NAMED} more`] : [];
  const names = [...paths.toSorted().slice(0, MOST_NAMED), ...more].join(', ');
  return [`${what}. Read them again before you change them: ${names}.`];
}

function changedLines({ known, present }: Correction): string {
  if (typeof known === 'string' && typeof present === 'string') {
    const hunks = hunksOfSegments(compareTexts(plain(known), plain(present)));
    const lines = hunks.flatMap(({ hunk }) => [...hunk.before.map((line) => `-${line}`), ...hunk.after.map((line) => `+${line}`)]);
    const text = lines.join('\n');
    if (text.length <= LONGEST_CHANGE) return `:\n${text}`;
  }
  return present === null ? '. It does not exist any more.' : '. Read it again before you change it.';
}
