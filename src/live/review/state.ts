import { readFile } from 'node:fs/promises';
import * as z from 'zod/mini';
import type { TurnFile } from '../../session/model.ts';
import type { ContentStore } from './contentStore.ts';
import { isKept } from './scan.ts';

/** The name of a content in the store, or `unkept …` for one that is not there; null: there is no such file. */
export type Content = string | null;

/** A file under review. `before` leaves out what is still to be reviewed. */
export interface Tracked {
  readonly before: Content;
  readonly after: Content;
  /** The user has looked at it. */
  readonly reviewed?: true | undefined;
}
/** What one prompt did to one file: its contents before the first and after the last change. */
export interface TurnChange {
  readonly name: string;
  readonly before: Content;
  readonly after: Content;
  readonly review: Exclude<TurnFile['review'], 'reported'>;
  readonly added?: number | undefined;
  readonly removed?: number | undefined;
  readonly callId?: string | undefined;
}
export interface Checkpoint {
  readonly turnId: string;
  /** The list of all files, as an object of the store. */
  readonly files: string;
  readonly changes: readonly TurnChange[];
  /** Files that changed at once, too many to be listed; a restore takes them along. */
  readonly burst: readonly string[];
  /** Left out folders in which something changed. */
  readonly folders: readonly string[];
}
/** A file that a restore replaced: its content then, and, if it was under review, its other side. */
export interface Replaced {
  readonly name: string;
  readonly present: Content;
  readonly before?: Content | undefined;
}
/** Everything of a change set that outlives its window. */
export interface ReviewState {
  readonly tracked: ReadonlyMap<string, Tracked>;
  readonly checkpoints: readonly Checkpoint[];
  /** The last restore: what it replaced, and the checkpoints as they were. */
  readonly undo: readonly Replaced[];
}
export const emptyState: ReviewState = { tracked: new Map(), checkpoints: [], undo: [] };

const optional = z.optional;
const content = z.nullable(z.string().check(z.regex(/^(?:[0-9a-f]{64}|unkept .*)$/)));
const stored = z.object({
  version: z.literal(2),
  tracked: z.array(z.tuple([z.string(), z.object({ before: content, after: content, reviewed: optional(z.literal(true)) })])),
  checkpoints: z.array(
    z.object({
      turnId: z.string(),
      files: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
      changes: z.array(
        z.object({
          name: z.string(),
          before: content,
          after: content,
          review: z.enum(['open', 'kept', 'undone', 'unkept']),
          added: optional(z.number()),
          removed: optional(z.number()),
          callId: optional(z.string()),
        }),
      ),
      burst: z.array(z.string()),
      folders: z.array(z.string()),
    }),
  ),
  undo: z.array(z.object({ name: z.string(), present: content, before: optional(content) })),
});
const listed = z.array(z.tuple([z.string(), content]));

/** undefined when the file is gone or damaged. */
export async function readState(file: string): Promise<ReviewState | undefined> {
  const parsed = stored.safeParse(parseJson(await readFile(file, 'utf8').catch(() => '')));
  if (!parsed.success) return undefined;
  const { tracked, checkpoints, undo } = parsed.data;
  return { tracked: new Map(tracked), checkpoints, undo };
}

export function textOfState({ tracked, checkpoints, undo }: ReviewState): string {
  return JSON.stringify({ version: 2, tracked: [...tracked], checkpoints, undo });
}

/** Names of all contents that the change set kept in that file needs. */
export async function usedBy(file: string, store: ContentStore): Promise<readonly string[]> {
  const state = await readState(file);
  if (!state) return [];
  const lists = await Promise.all(
    state.checkpoints.map(async (one) => [one.files, ...((await fileList(store, one.files))?.values() ?? [])]),
  );
  const sides = ({ before, after }: Pick<Tracked, 'before' | 'after'>) => [before, after];
  const names = [
    ...lists.flat(),
    ...[...state.tracked.values()].flatMap(sides),
    ...state.checkpoints.flatMap(({ changes }) => changes.flatMap(sides)),
    ...state.undo.flatMap(({ present, before = null }) => [present, before]),
  ];
  return names.filter((name) => name !== null && isKept(name)) as readonly string[];
}

/** undefined when the list is gone: then nothing is known of any file. */
export async function fileList(store: ContentStore, name: string): Promise<ReadonlyMap<string, Content> | undefined> {
  const bytes = await store.get(name);
  const parsed = listed.safeParse(bytes && parseJson(bytes.toString('utf8')));
  return parsed.success ? new Map(parsed.data) : undefined;
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
export function withoutTracked(state: ReviewState, name: string, how: 'kept' | 'undone' | 'by content', present: Content): ReviewState {
  const tracked = new Map(state.tracked);
  tracked.delete(name);
  return withReview({ ...state, tracked }, name, (change) => {
    if (how !== 'by content') return how;
    return change.before === present ? 'undone' : 'kept';
  });
}

/** Decides the open changes of a file, in all prompts or one. */
export function withReview(
  state: ReviewState,
  name: string,
  decide: (change: TurnChange) => 'kept' | 'undone',
  turnId?: string,
): ReviewState {
  const isMeant = (change: TurnChange) => change.name === name && (change.review === 'open' || change.review === 'unkept');
  const checkpoints = state.checkpoints.map((one) =>
    (turnId === undefined || one.turnId === turnId) && one.changes.some(isMeant)
      ? { ...one, changes: one.changes.map((change) => (isMeant(change) ? { ...change, review: decide(change) } : change)) }
      : one,
  );
  return { ...state, checkpoints };
}

/** Adds a change to the latest prompt; a file that is again what it was before the prompt has no change in it. */
export function withChange(state: ReviewState, change: TurnChange): ReviewState {
  const last = state.checkpoints.at(-1);
  if (!last) return state;
  const others = last.changes.filter((one) => one.name !== change.name);
  const changes = change.before === change.after ? others : [...others, change];
  return { ...state, checkpoints: state.checkpoints.with(-1, { ...last, changes }) };
}
