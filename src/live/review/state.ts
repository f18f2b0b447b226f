import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import type { TurnFile } from '../../session/model.ts';
import type { Correction } from '../../session/proposal.ts';
import { replaceFile } from '../../transport/replaceFile.ts';
import { type ContentStore, goneContent, isKept, isRestorable, linkTarget, movedKey } from './contentStore.ts';
import type { FileState } from './scan.ts';

/** The key of a content in the store, `link …` for a symbolic link, or `unkept …` for content not stored; null: no such file. */
export type ContentKey = string | null;

/** A file under review. `before`: its content without the changes that are still to be reviewed. */
export interface Tracked {
  readonly before: ContentKey;
  readonly after: ContentKey;
  /** `after` without the user's own words in the agent's lines; undefined when there are none. */
  readonly written?: ContentKey | undefined;
  /** The user has looked at it. */
  readonly reviewed?: true | undefined;
  /** The file was moved: `before` stood under this name. */
  readonly from?: string | undefined;
  /** Lines that are left to be reviewed, once something of it was decided. */
  readonly left?: LineCounts | undefined;
  /** Its rights before, where the agent has changed them or deleted the file. */
  readonly mode?: number | undefined;
  readonly modeAfter?: number | undefined;
  readonly form?: TurnFile['form'] | undefined;
  readonly noLines?: TurnFile['noLines'] | undefined;
}
export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}
/** The change of one file by one prompt: its contents before the first and after the last change. */
export interface TurnChange {
  readonly name: string;
  readonly before: ContentKey;
  readonly after: ContentKey;
  readonly review: Exclude<TurnFile['review'], 'reported'>;
  readonly added?: number | undefined;
  readonly removed?: number | undefined;
  /** As of a file of a turn. */
  readonly hunks?: TurnFile['hunks'] | undefined;
  readonly callId?: string | undefined;
  /** The prompt has moved the file: `before` stood under this name. */
  readonly from?: string | undefined;
  /** As of a file under review. */
  readonly mode?: number | undefined;
  readonly modeAfter?: number | undefined;
  readonly form?: TurnFile['form'] | undefined;
  readonly noLines?: TurnFile['noLines'] | undefined;
  /** The review of the file, or of the one it was moved from, as it stood before the prompt. */
  readonly was?: Was | undefined;
}
/** The old side of a file under review. */
export type Was = Pick<Tracked, 'before' | 'from' | 'mode'>;
export interface ReviewCheckpoint {
  readonly turnId: string;
  /** The list of all files, as an object of the store; '' for one that could not be kept. */
  readonly files: string;
  readonly changes: readonly TurnChange[];
  /** Files that changed at once, too many to be listed; a restore takes them along. */
  readonly burst: readonly string[];
  /** Files and folders left out of the scan that changed, or in which something changed. */
  readonly folders: readonly string[];
  /** Files that changed on the disk after the turn, before the next one, and not by a save of the user's: whose changes these are is not known. */
  readonly between?: readonly string[] | undefined;
}
/** A file that a restore replaced: its content then, and, if it was under review, its other side. */
export interface Replaced {
  readonly name: string;
  readonly present: ContentKey;
  /** What the restore left in its place; another content is somebody's work since. Not known of a text that was not saved. */
  readonly left?: ContentKey | undefined;
  readonly before?: ContentKey | undefined;
  readonly written?: ContentKey | undefined;
  readonly from?: string | undefined;
  /** Its rights then, and before the agent had changed them. */
  readonly mode?: number | undefined;
  readonly modeBefore?: number | undefined;
  /** It belonged to a burst. */
  readonly burst?: true | undefined;
  /** Folders that were made for the file that took its place. */
  readonly folders?: readonly string[] | undefined;
}
/** The parts of the review that a restore changed, beside the files it replaced, as they were before. */
export interface ReviewedThen {
  /** The prompt whose message went back to the composer with the files. */
  readonly prompt?: string | undefined;
  readonly decided: readonly (readonly [turnId: string, name: string, review: TurnChange['review'], hunks?: TurnChange['hunks']])[];
  readonly tracked: readonly (readonly [name: string, Tracked])[];
}
/** How the agent knows a file that the user's decisions have changed since. */
export interface KnownContent {
  readonly content: ContentKey;
  readonly how: Correction['how'];
}
/** The starting point of the comparison at the end of a running turn, should the window be closed before; with the latest checkpoint's list of files. */
export interface TurnBaseline {
  /** The files' stamps in the order of that list, as an object of the store. */
  readonly stamps: string;
  /** As of a scan. */
  readonly ends: readonly (readonly [string, string])[];
  /** The other folders that were watched. */
  readonly others: readonly string[];
  /** Files that are known to have changed since. */
  readonly since: ReadonlyMap<string, ContentKey>;
}
/**
 * The review of a file, with its open changes by their prompts, as it was before the file changed outside a turn and lost some of what was to be
 * reviewed: nobody has decided about that. Once the file holds that content again, the review is open again.
 */
export interface Lapsed {
  readonly name: string;
  readonly tracked: Tracked;
  readonly changes: readonly (readonly [turnId: string, change: TurnChange])[];
}
/** The persistent state of a change set. */
export interface ReviewState {
  readonly turn?: TurnBaseline | undefined;
  readonly tracked: ReadonlyMap<string, Tracked>;
  readonly checkpoints: readonly ReviewCheckpoint[];
  /** The last restore: what it replaced, and what else of the review it changed. */
  readonly undo: readonly Replaced[];
  readonly undoReview?: ReviewedThen | undefined;
  /** Corrections for the agent's next prompt, by file name. */
  readonly known: ReadonlyMap<string, KnownContent>;
  /** Oldest first. */
  readonly lapsed: readonly Lapsed[];
}
export const emptyState: ReviewState = { tracked: new Map(), checkpoints: [], undo: [], known: new Map(), lapsed: [] };

const optional = z.optional;
const mode = optional(z.int().check(z.gte(0), z.lte(0o777)));
const content = z.nullable(z.string().check(z.regex(/^(?:[0-9a-f]{64}|unkept .*|link .*)$/s)));
const form = optional(z.object({ before: z.string(), after: z.string() }));
const noLines = optional(z.enum(['binary', 'large', 'encoding']));
const reviews = z.enum(['open', 'kept', 'undone', 'unkept', 'overtaken']);
const trackedFile = z.object({
  before: content,
  after: content,
  written: optional(content),
  reviewed: optional(z.literal(true)),
  from: optional(z.string()),
  left: optional(z.object({ added: z.number(), removed: z.number() })),
  mode,
  modeAfter: mode,
  form,
  noLines,
});
const hunks = optional(z.object({ kept: z.number(), all: z.number(), open: optional(z.number()) }));
const turnChange = z.object({
  name: z.string(),
  before: content,
  after: content,
  review: reviews,
  added: optional(z.number()),
  removed: optional(z.number()),
  hunks,
  callId: optional(z.string()),
  from: optional(z.string()),
  mode,
  modeAfter: mode,
  form,
  noLines,
  was: optional(z.object({ before: content, from: optional(z.string()), mode })),
});
const stored = z.object({
  version: z.literal(2),
  tracked: z.array(z.tuple([z.string(), trackedFile])),
  checkpoints: z.array(
    z.object({
      turnId: z.string(),
      files: z.string().check(z.regex(/^(?:[0-9a-f]{64})?$/)),
      changes: z.array(turnChange),
      burst: z.array(z.string()),
      folders: z.array(z.string()),
      between: optional(z.array(z.string())),
    }),
  ),
  undo: z.array(
    z.object({
      name: z.string(),
      present: content,
      left: optional(content),
      before: optional(content),
      written: optional(content),
      from: optional(z.string()),
      mode,
      modeBefore: mode,
      burst: optional(z.literal(true)),
      folders: optional(z.array(z.string())),
    }),
  ),
  undoReview: optional(
    z.object({
      prompt: optional(z.string()),
      decided: z.array(z.tuple([z.string(), z.string(), reviews, hunks])),
      tracked: z.array(z.tuple([z.string(), trackedFile])),
    }),
  ),
  turn: optional(
    z.object({
      stamps: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
      ends: z.array(z.tuple([z.string(), z.string()])),
      others: z.array(z.string()),
      since: z.array(z.tuple([z.string(), content])),
    }),
  ),
  lapsed: optional(z.array(z.object({ name: z.string(), tracked: trackedFile, changes: z.array(z.tuple([z.string(), turnChange])) }))),
  known: optional(z.array(z.tuple([z.string(), z.object({ content, how: z.enum(['edited', 'undone', 'restored']) })]))),
});
/** Lists of earlier versions have no modes. */
const listed = z.array(z.union([z.tuple([z.string(), content]), z.tuple([z.string(), content, z.int().check(z.gte(0), z.lte(0o777))])]));

/** undefined when the file is gone or damaged. */
export async function readState(file: string): Promise<ReviewState | undefined> {
  const parsed = stored.safeParse(parseJson(await readFile(file, 'utf8').catch(() => '')));
  if (!parsed.success) return undefined;
  const { tracked, checkpoints, undo, undoReview, known, turn, lapsed = [] } = parsed.data;
  const running = turn && { ...turn, since: new Map(turn.since) };
  return { tracked: new Map(tracked), checkpoints, undo, undoReview, known: new Map(known), turn: running, lapsed };
}

/** Whole or not at all. Rejects when the disk refuses. */
export async function writeState(file: string, { tracked, known, turn, ...rest }: ReviewState): Promise<void> {
  const fresh = `${file}.new`;
  const running = turn && { ...turn, since: [...turn.since] };
  const stored = { version: 2, ...rest, tracked: [...tracked], known: [...known], turn: running };
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(fresh, JSON.stringify(stored), { mode: 0o600 });
    await replaceFile(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => {});
    throw error;
  }
}

/** The state in that file is in use. Never rejects. */
export async function noteUse(file: string): Promise<void> {
  const now = new Date();
  await utimes(file, now, now).catch(() => {});
}

/** Names of all contents that the change set kept in that file needs. */
export async function usedBy(file: string, store: ContentStore): Promise<readonly string[]> {
  const state = await readState(file);
  if (!state) return [];
  const lists = await Promise.all(
    state.checkpoints.map(async (one) => [one.files, ...((await fileList(store, one.files))?.values() ?? [])]),
  );
  const sides = ({ before, after, written = null }: Pick<Tracked, 'before' | 'after' | 'written'>) => [before, after, written];
  const names = [
    ...lists.flat(),
    ...[
      ...state.tracked.values(),
      ...(state.undoReview?.tracked ?? []).map(([, one]) => one),
      ...state.lapsed.map((one) => one.tracked),
    ].flatMap(sides),
    ...[
      ...state.checkpoints.flatMap(({ changes }) => changes),
      ...state.lapsed.flatMap(({ changes }) => changes.map(([, one]) => one)),
    ].flatMap((one) => [...sides(one), one.was?.before ?? null]),
    ...state.undo.flatMap(({ present, before = null, written = null }) => [present, before, written]),
    ...[...state.known.values()].map((one) => one.content),
    ...(state.turn ? [state.turn.stamps, ...state.turn.since.values()] : []),
  ];
  return names.filter((name) => name !== null && isKept(name)) as readonly string[];
}

/** Folders in which there was nothing are listed too, with a slash at the end. undefined when the list is gone: then nothing is known of any file. */
export async function fileList(store: ContentStore, name: string): Promise<ReadonlyMap<string, ContentKey> | undefined> {
  return (await keptFiles(store, name))?.contents;
}

/** Left out of lists, so that they stay small. */
export const usualMode = 0o644;

/** The same, with who could read, write and run the files, where that is not as usual. */
export async function keptFiles(
  store: ContentStore,
  name: string,
): Promise<{ readonly contents: ReadonlyMap<string, ContentKey>; readonly modes: ReadonlyMap<string, number> } | undefined> {
  const bytes = await store.get(name);
  const parsed = listed.safeParse(bytes && parseJson(bytes.toString('utf8')));
  if (!parsed.success) return undefined;
  return {
    contents: new Map(parsed.data.map(([file, key]) => [file, key])),
    modes: new Map(parsed.data.flatMap(([file, , own]) => (own === undefined ? [] : [[file, own] as const]))),
  };
}

const listedStamps = z.array(z.string());

/** The files as they were known when the window was closed in the middle of a turn; undefined when that is gone. */
export async function keptBaseline(store: ContentStore, list: string, { stamps, since }: TurnBaseline) {
  const kept = await keptFiles(store, list);
  const bytes = await store.get(stamps);
  const parsed = listedStamps.safeParse(bytes && parseJson(bytes.toString('utf8')));
  if (!kept || !parsed.success) return undefined;
  const files = new Map<string, FileState>();
  let at = 0;
  for (const [name, content] of kept.contents) {
    const stamp = parsed.data[at] ?? '';
    at += 1;
    if (content !== null) files.set(name, { content, stamp, mode: isKept(content) ? (kept.modes.get(name) ?? usualMode) : undefined });
  }
  for (const [name, content] of since) {
    if (content === null) files.delete(name);
    else files.set(name, { content, stamp: '', mode: files.get(name)?.mode });
  }
  return files;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// --- steps, each from one state to the next

export function withTracked(state: ReviewState, name: string, tracked: Tracked): ReviewState {
  return { ...state, tracked: new Map(state.tracked).set(name, tracked) };
}

/** The file is not under review any more: what was open of it in any prompt is decided. `present` is its content now. */
export function withoutTracked(
  state: ReviewState,
  name: string,
  how: 'kept' | 'undone' | 'overtaken' | 'by content',
  present: ContentKey,
): ReviewState {
  const tracked = new Map(state.tracked);
  tracked.delete(name);
  // What nobody has decided may be back.
  const lapsed = how === 'by content' ? state.lapsed : state.lapsed.filter((one) => one.name !== name);
  return withReview({ ...state, tracked, lapsed }, name, (change) => {
    if (change.hunks?.kept === 0) return 'undone';
    if (change.hunks && how !== 'kept') return 'kept';
    if (how !== 'by content') return how;
    // Of a file that is gone, nothing is left; nor where a link is in its place.
    const isGone =
      (present === null && change.after !== null) || (linkTarget(present) !== undefined && linkTarget(change.after) === undefined);
    return change.before === present || isGone ? 'undone' : 'kept';
  });
}

/** A change that is counted again, and perhaps decided. */
export type CountedChange = Pick<TurnChange, 'added' | 'removed' | 'hunks'> & Partial<Pick<TurnChange, 'review'>>;

export function withCounts(state: ReviewState, counted: ReadonlyMap<TurnChange, CountedChange>): ReviewState {
  const checkpoints = state.checkpoints.map((one) =>
    one.changes.some((change) => counted.has(change))
      ? { ...one, changes: one.changes.map((change) => (counted.has(change) ? { ...change, ...counted.get(change) } : change)) }
      : one,
  );
  return { ...state, checkpoints };
}

/** The store has lost these contents: no undecided change can go back to one of them any more. */
export function withGone(state: ReviewState, lost: ReadonlySet<ContentKey>): ReviewState {
  const marked = <One extends Pick<Tracked, 'before' | 'after'>>(one: One): One =>
    one.before !== null && one.before !== one.after && lost.has(one.before) ? { ...one, before: goneContent(one.before) } : one;
  const tracked = [...state.tracked].map(([name, one]) => [name, marked(one)] as const);
  const mark = (change: TurnChange): TurnChange => {
    const next = marked(change);
    return next === change || !isOpen(change) ? change : { ...next, review: firstReview(next) };
  };
  const checkpoints = state.checkpoints.map((one) => ({ ...one, changes: one.changes.map(mark) }));
  return { ...state, tracked: new Map(tracked), checkpoints };
}

/** Decides the open changes of a file: in all prompts, whatever it was called then, or in one. */
export function withReview(
  state: ReviewState,
  name: string,
  decide: (change: TurnChange) => 'kept' | 'undone' | 'overtaken',
  turnId?: string,
): ReviewState {
  const names = turnId === undefined ? namesAt(state, name) : [];
  const checkpoints = state.checkpoints.map((one, at) => {
    const isMeant = (change: TurnChange) => isOpen(change, names[at] ?? name);
    return (turnId === undefined || one.turnId === turnId) && one.changes.some(isMeant)
      ? { ...one, changes: one.changes.map((change) => (isMeant(change) ? { ...change, review: decide(change) } : change)) }
      : one;
  });
  return { ...state, checkpoints };
}

/** Counts the open changes of these files from checkpoint `at` on as undone. */
export function withUndone(state: ReviewState, names: ReadonlySet<string>, at: number): ReviewState {
  const undo = (change: TurnChange): TurnChange => (names.has(change.name) && isOpen(change) ? { ...change, review: 'undone' } : change);
  const checkpoints = state.checkpoints.map((one, place) => (place < at ? one : { ...one, changes: one.changes.map(undo) }));
  return { ...state, checkpoints };
}

/** Counts the open changes of a file of which no hunk was kept as undone, also where they only brought back lines that stay. */
export function withUnkeptUndone(state: ReviewState, name: string): ReviewState {
  const names = namesAt(state, name);
  const checkpoints = state.checkpoints.map((one, at) => {
    const undo = (change: TurnChange): TurnChange => {
      const { hunks } = change;
      const isUnkept = isOpen(change, names[at] ?? name) && hunks !== undefined && hunks.open === hunks.kept;
      const counts = change.added === undefined ? {} : { added: 0, removed: 0 };
      return isUnkept ? { ...change, ...counts, review: 'undone', hunks: { kept: 0, all: hunks.all } } : change;
    };
    return { ...one, changes: one.changes.map(undo) };
  });
  return { ...state, checkpoints };
}

/** Reopens the decisions that a restore made. */
export function reopened(state: ReviewState, name: string): ReviewState {
  const names = namesAt(state, name, true);
  const checkpoints = state.checkpoints.map((one, at) => {
    const open = (change: TurnChange): TurnChange =>
      change.name === names[at] && change.review === 'undone' ? { ...change, review: firstReview(change) } : change;
    return { ...one, changes: one.changes.map(open) };
  });
  return { ...state, checkpoints };
}

/** The changes of a file before checkpoint `end` by which it came from `was` to what it was then; the latest first. */
function changesSince(state: ReviewState, name: string, was: Was, end: number): readonly TurnChange[] {
  const earlier = { ...state, checkpoints: state.checkpoints.slice(0, end) };
  const names = namesAt(earlier, name, true);
  const chosen: TurnChange[] = [];
  for (let at = end - 1; at >= 0; at -= 1) {
    const change = state.checkpoints[at]?.changes.find((one) => one.name === names[at]);
    if (change?.review === 'kept' || change?.review === 'undone') break;
    if (change) chosen.push(change);
    if (change?.before === was.before) break;
  }
  return chosen;
}

/** Reopens the changes that the agent's change `last` had overtaken, because `last` was taken back or did not replace them. */
function withoutOvertaking(state: ReviewState, name: string, was: Was, last = state.checkpoints.length - 1): ReviewState {
  return withOpen(state, new Set(changesSince(state, name, was, last).filter(({ review }) => review === 'overtaken')));
}

/**
 * Reopens the review of a file that a restore to before checkpoint `at` put back: as it stood before that prompt, less what the user has
 * decided since. `then`: the state before the restore. `now`: the file's content.
 */
export function reviewedAgain(state: ReviewState, then: ReviewState, name: string, at: number, now: ContentKey): ReviewState {
  const first = then.checkpoints
    .slice(at)
    .flatMap(({ changes }) => changes)
    .find((one) => (one.from ?? one.name) === name);
  const was = first?.was;
  if (!first || !was || state.tracked.has(name)) return state;
  const chosen = new Set(changesSince(then, name, was, at));
  const found = then.tracked.get(nameNow(then, then.checkpoints[at - 1]?.turnId ?? '', name));
  const tracked = { ...was, before: found ? found.before : was.before, after: now };
  if (chosen.size === 0 || isNothing(tracked)) return state;
  const files = new Map(state.tracked);
  if (was.from !== undefined) files.delete(was.from);
  const checkpoints = state.checkpoints.map((one, place) => {
    const changes = then.checkpoints[place]?.changes ?? [];
    const isChosen = (change: TurnChange) => changes.some((other) => other.name === change.name && chosen.has(other));
    const open = (change: TurnChange) => (isChosen(change) ? { ...change, review: firstReview(change) } : change);
    return { ...one, changes: one.changes.map(open) };
  });
  return { ...state, tracked: files.set(name, tracked), checkpoints };
}

/**
 * Counts changes from checkpoint `at` on that are not open, as the agent itself has overtaken them or the user kept them, all or in part, as undone
 * together with the others of their prompts, except in files `left` alone.
 */
export function withAllUndone(state: ReviewState, left: ReadonlySet<string>, at: number): ReviewState {
  const checkpoints = state.checkpoints.map((one, place) => {
    const isLeft = ({ name, from = name }: TurnChange) => [name, from, nameNow(state, one.turnId, name)].some((each) => left.has(each));
    const undo = (change: TurnChange): TurnChange => {
      if ((change.review !== 'overtaken' && change.review !== 'kept') || isLeft(change)) return change;
      return { ...change, review: 'undone', ...(change.hunks ? { hunks: { ...change.hunks, kept: 0 } } : {}) };
    };
    return place < at ? one : { ...one, changes: one.changes.map(undo) };
  });
  return { ...state, checkpoints };
}

/** Returns the decisions and files under review that have changed since `then`, without the files in `done`. */
export function reviewedThen(then: ReviewState, { checkpoints, tracked }: ReviewState, done: ReadonlySet<string>): ReviewedThen {
  const decided = then.checkpoints.flatMap(({ turnId, changes }, at) =>
    changes.flatMap(({ name, review, hunks }) => {
      const now = checkpoints[at]?.changes.find((one) => one.name === name)?.review;
      return now === undefined || now === review
        ? []
        : [hunks ? ([turnId, name, review, hunks] as const) : ([turnId, name, review] as const)];
    }),
  );
  return { decided, tracked: [...then.tracked].filter(([name, one]) => !done.has(name) && tracked.get(name) !== one) };
}

/** The review is again as it was before a restore, but for these files, which stayed as they are. */
export function withReviewThen(state: ReviewState, apart: ReadonlySet<string>): ReviewState {
  const { undoReview = { decided: [], tracked: [] } } = state;
  const { tracked } = undoReview;
  const isApart = ([, name]: ReviewedThen['decided'][number]) => apart.has(name);
  const decided = undoReview.decided.filter((one) => !isApart(one));
  const later = undoReview.decided.filter(isApart);
  const checkpoints = state.checkpoints.map((one) => {
    const then = (change: TurnChange): TurnChange => {
      const [, , review, hunks] = decided.find(([turnId, name]) => turnId === one.turnId && name === change.name) ?? [];
      // What is open was counted in the text that is back.
      return review === undefined ? change : { ...change, review, ...(hunks && review === 'kept' ? { hunks } : {}) };
    };
    return { ...one, changes: one.changes.map(then) };
  });
  return {
    ...state,
    checkpoints,
    tracked: new Map([...state.tracked, ...tracked]),
    undoReview: later.length > 0 ? { ...undoReview, decided: later, tracked: [] } : undefined,
  };
}

/** Reopens changes whose undone lines the user brought back. */
export function withOpen(state: ReviewState, chosen: ReadonlySet<TurnChange>): ReviewState {
  const open = (change: TurnChange) => (chosen.has(change) ? { ...change, review: firstReview(change) } : change);
  return { ...state, checkpoints: state.checkpoints.map((one) => ({ ...one, changes: one.changes.map(open) })) };
}

/** Names kept of files that changed between two prompts. */
const MOST_BETWEEN = 100;

/** These files changed after the latest prompt's turn, on the disk. */
export function withBetween(state: ReviewState, names: readonly string[]): ReviewState {
  const last = state.checkpoints.at(-1);
  const between = [...new Set([...(last?.between ?? []), ...names])].slice(0, MOST_BETWEEN);
  if (!last || between.length === (last.between?.length ?? 0)) return state;
  return { ...state, checkpoints: state.checkpoints.with(-1, { ...last, between: between.sort() }) };
}

/** Adds a change to the latest prompt; a file that is again what it was before the prompt has no change in it. */
export function withChange(state: ReviewState, change: TurnChange): ReviewState {
  const last = state.checkpoints.at(-1);
  if (!last) return state;
  const others = last.changes.filter((one) => one.name !== change.name);
  const changes = isNothing(change) ? others : [...others, change];
  // What is under review is not named as changed before the prompt as well.
  const between = last.between?.filter((name) => name !== change.name);
  const next = { ...state, checkpoints: state.checkpoints.with(-1, { ...last, changes, ...(between ? { between } : {}) }) };
  // Where the file is under review, no change of an earlier prompt is overtaken.
  return change.was && state.tracked.has(change.name) ? withoutOvertaking(next, change.name, change.was) : next;
}

/** `gone` and `fresh`, which the latest prompt has deleted and created, are one file that it has moved. `counts`: the lines that differ. */
export function withMove(
  state: ReviewState,
  gone: TurnChange,
  fresh: TurnChange,
  counts: Pick<TurnChange, 'added' | 'removed'>,
): ReviewState {
  const last = state.checkpoints.at(-1);
  const [old, now] = [state.tracked.get(gone.name), state.tracked.get(fresh.name)];
  const moveOf = ({ added: _, removed: __, was: ___, ...rest }: TurnChange) => ({
    ...rest,
    ...counts,
    before: gone.before,
    from: gone.from ?? gone.name,
    callId: fresh.callId ?? gone.callId,
    mode: gone.mode,
    was: gone.was,
  });
  const others = last?.changes.filter((one) => one !== gone && one !== fresh) ?? [];
  // Moved back to where it was before all prompts.
  if (last && !old && !now && fresh.review === 'overtaken')
    return { ...state, checkpoints: state.checkpoints.with(-1, { ...last, changes: [...others, moveOf(fresh)] }) };
  // Another file had this name before all prompts, so the file is not new.
  if (!last || !now || now.before !== null) return state;
  const tracked = new Map(state.tracked);
  tracked.delete(gone.name);
  if (old)
    tracked.set(fresh.name, { before: old.before, after: now.after, written: old.written, from: old.from ?? gone.name, mode: old.mode });
  const move = moveOf(fresh);
  const checkpoints = state.checkpoints.with(-1, { ...last, changes: [...others, { ...move, review: firstReview(move) }] });
  const joined = { ...state, tracked, checkpoints };
  // An earlier prompt made the file; moving it does not undo that prompt's change.
  return old || !gone.was ? joined : withoutOvertaking(joined, gone.name, gone.was);
}

/** Splits a move in two when a file is back at its old name: the moved file becomes a new one, and the old name a changed one. */
export function withoutMove(state: ReviewState, name: string, from: string): ReviewState {
  const found = state.tracked.get(name);
  const last = state.checkpoints.at(-1);
  if (!found || !last) return state;
  const tracked = new Map(state.tracked).set(from, { before: found.before, after: null });
  if (found.after === null) tracked.delete(name);
  else tracked.set(name, { before: null, after: found.after });
  const changes = last.changes.flatMap((one): readonly TurnChange[] => {
    if (one.name !== name || one.from !== from) return [one];
    const { from: _, added: __, removed: ___, ...rest } = one;
    const fresh = one.after === null ? [] : [{ ...rest, before: null }];
    return [...fresh, { ...rest, name: from, after: null }];
  });
  const next = { ...state, tracked, checkpoints: state.checkpoints.with(-1, { ...last, changes }) };
  return found.after === null ? withReview(next, name, () => 'overtaken') : next;
}

/**
 * Notes how the agent knows files that the user is about to change. The first note counts until the agent is told or writes the file itself.
 */
export function withKnown(state: ReviewState, files: Iterable<readonly [string, ContentKey]>, how: KnownContent['how']): ReviewState {
  const known = new Map(state.known);
  for (const [name, content] of files) known.set(name, { content: known.has(name) ? (known.get(name)?.content ?? null) : content, how });
  return { ...state, known };
}

export function withoutKnown(state: ReviewState, name: string): ReviewState {
  if (!state.known.has(name)) return state;
  const known = new Map(state.known);
  known.delete(name);
  return { ...state, known };
}

/** Notes the content that files are known to have by now, during a turn. */
export function withSince(state: ReviewState, files: Iterable<readonly [string, ContentKey]>): ReviewState {
  return state.turn ? { ...state, turn: { ...state.turn, since: new Map([...state.turn.since, ...files]) } } : state;
}

/** These files are again what they were before they changed at once. */
export function withoutBurst(state: ReviewState, names: ReadonlySet<string>): ReviewState {
  const checkpoints = state.checkpoints.map((one) =>
    one.burst.some((name) => names.has(name)) ? { ...one, burst: one.burst.filter((name) => !names.has(name)) } : one,
  );
  return { ...state, checkpoints };
}

// --- reviews that lapsed

/** How many lapsed reviews are kept of one file. */
const MOST_OF_A_FILE = 8;

/** Notes what `then` had to be reviewed of that file and `now` has no more. */
export function withLapsed(then: ReviewState, now: ReviewState, name: string): ReviewState {
  const tracked = then.tracked.get(name);
  const open = new Set(openChanges(then, name));
  const all = [...then.checkpoints.entries()].flatMap(([at, { turnId, changes }]) =>
    changes.flatMap((change, place) => {
      const since = now.checkpoints[at]?.changes[place];
      return open.has(change) ? [{ turnId, change, isLess: !since || isLess(change, since) }] : [];
    }),
  );
  if (!tracked || (now.tracked.has(name) && !all.some((one) => one.isLess))) return now;
  const known = now.lapsed.filter((one) => one.name === name).slice(1 - MOST_OF_A_FILE);
  const one = { name, tracked, changes: all.map(({ turnId, change }) => [turnId, change] as const) };
  return { ...now, lapsed: [...now.lapsed.filter((other) => other.name !== name), ...known, one] };
}

/** What is not counted may be less. */
function isLess({ hunks }: TurnChange, now: TurnChange): boolean {
  return !isOpen(now) || !now.hunks || now.hunks.kept < (hunks?.kept ?? now.hunks.all);
}

/** A review that may be open again, now that the file of that name has this content; the latest first. */
export function lapsedOf({ lapsed }: ReviewState, name: string, now: ContentKey): readonly Lapsed[] {
  const isMeant = (one: Lapsed) => (one.name === name ? one.tracked.after === now : one.tracked.from === name && now === null);
  return lapsed.filter(isMeant).reverse();
}

/** That review is open again, as it was. */
export function withoutLapse(state: ReviewState, lapse: Lapsed): ReviewState {
  const { name, tracked, changes } = lapse;
  const checkpoints = state.checkpoints.map((one) => {
    const then = (change: TurnChange) =>
      changes.find(([turnId, { name, before, after }]) => {
        return turnId === one.turnId && name === change.name && before === change.before && after === change.after;
      })?.[1] ?? change;
    return { ...one, changes: one.changes.map(then) };
  });
  const at = state.lapsed.indexOf(lapse);
  const lapsed = state.lapsed.filter((one, place) => one.name !== name || place < at);
  return { ...state, checkpoints, lapsed, tracked: new Map(state.tracked).set(name, tracked) };
}

/** These files were decided about, or an agent wrote them. */
export function withoutLapsed(state: ReviewState, names: Iterable<string>): ReviewState {
  if (state.lapsed.length === 0) return state;
  const chosen = new Set(names);
  return { ...state, lapsed: state.lapsed.filter(({ name, tracked }) => !chosen.has(name) && !chosen.has(tracked.from ?? name)) };
}

/** Without those of prompts that are not known any more. */
export function withKnownLapsed(state: ReviewState): ReviewState {
  const turns = new Set(state.checkpoints.map(({ turnId }) => turnId));
  return { ...state, lapsed: state.lapsed.filter(({ changes }) => changes.some(([turnId]) => turns.has(turnId))) };
}

// --- questions

/** Returns the name of a file at each checkpoint, by the moves since. `undone`: undone moves count, too. */
function namesAt({ checkpoints }: ReviewState, name: string, undone = false): readonly string[] {
  let now = name;
  const names = checkpoints.toReversed().map(({ changes }) => {
    const then = now;
    const move = changes.find((one) => one.name === then && one.from !== undefined && (undone || isInForce(one)));
    now = move?.from ?? then;
    return then;
  });
  return names.reverse();
}

/** Returns the current name of the file that had this name at the end of that prompt. */
export function nameNow({ checkpoints }: ReviewState, turnId: string, name: string): string {
  const later = checkpoints.slice(checkpoints.findLastIndex((one) => one.turnId === turnId) + 1);
  return later.reduce((now, { changes }) => changes.find((one) => one.from === now && isInForce(one))?.name ?? now, name);
}

/** Returns what later prompts did to the file of an overtaken change; undefined for any other change. */
export function laterOf({ checkpoints }: ReviewState, at: number, { name, review }: TurnChange): TurnFile['later'] {
  if (review !== 'overtaken') return undefined;
  let now = name;
  let later: TurnFile['later'];
  for (const { changes } of checkpoints.slice(at + 1)) {
    const next = changes.find((one) => one.name === now || one.from === now);
    if (!next || next.review === 'kept' || next.review === 'undone') continue;
    if (next.after === null) return 'deleted';
    later = 'replaced';
    now = next.name;
    if (next.review !== 'overtaken') return later;
  }
  return later;
}

/** True for a change whose move, if any, has not been undone. */
function isInForce({ review }: TurnChange): boolean {
  return review !== 'undone' && review !== 'overtaken';
}

/** Undecided changes that prompts made to a file. */
export function openChanges(state: ReviewState, name: string): readonly TurnChange[] {
  const names = namesAt(state, name);
  return state.checkpoints.flatMap(({ changes }, at) => changes.filter((change) => isOpen(change, names[at] ?? name)));
}

/** Decided changes of a file of which something was undone, in any prompt. */
export function undoneChanges(state: ReviewState, name: string): readonly TurnChange[] {
  const names = namesAt(state, name, true);
  const isUndone = ({ review, hunks }: TurnChange) =>
    review === 'undone' || (review === 'kept' && hunks !== undefined && hunks.kept < hunks.all);
  return state.checkpoints.flatMap(({ changes }, at) => changes.filter((one) => one.name === names[at] && isUndone(one)));
}

/** No other prompt has open changes in that file. */
export function isOnlyIn(state: ReviewState, turnId: string, name: string): boolean {
  const names = namesAt(state, name);
  return state.checkpoints.every((one, at) => one.turnId === turnId || !one.changes.some((change) => isOpen(change, names[at] ?? name)));
}

export function isOpen(change: TurnChange, name = change.name): boolean {
  return change.name === name && (change.review === 'open' || change.review === 'unkept');
}

/** True while undecided. */
export function firstReview(change: Pick<Tracked, 'before' | 'after' | 'from'>): 'open' | 'unkept' {
  return isLost(change) ? 'unkept' : 'open';
}

/** The same content, in the same place, for the same users. */
export function isNothing(change: Pick<Tracked, 'before' | 'after' | 'from' | 'mode'>): boolean {
  return change.before === change.after && change.from === undefined && !isOfMode(change);
}

/** Nothing but who may read, write and run the file has changed. */
export function isOfMode({ before, after, from, mode }: Pick<Tracked, 'before' | 'after' | 'from' | 'mode'>): boolean {
  return before === after && from === undefined && before !== null && mode !== undefined;
}

/** True when the text before the change is lost. A file that was only moved needs none. */
export function isLost({ before, after, from }: Pick<Tracked, 'before' | 'after' | 'from'>): boolean {
  return before !== null && !isRestorable(before) && (from === undefined || after === null || movedKey(before) !== movedKey(after));
}
