import path from 'node:path';
import { movedKey } from './scan.ts';

/** A file that is gone, or new: its content, and its text where that is known. */
export interface Moving {
  readonly name: string;
  readonly content: string;
  readonly text: string | undefined;
}

/** Least share of common content for two files to count as one moved file: half, as in git. */
const LEAST_ALIKE = 0.5;
/** More pairs than these are compared by their whole contents only. */
const MOST_COMPARED = 2500;

/**
 * Pairs deleted files with the new files they moved to: same content, or else nearly the same; of several, the one that kept its name,
 * or is most similar. Ignores empty files.
 */
export function findMoves(gone: readonly Moving[], fresh: readonly Moving[]): readonly (readonly [Moving, Moving])[] {
  const left = { gone: new Set(gone.filter(({ text }) => text !== '')), fresh: new Set(fresh.filter(({ text }) => text !== '')) };
  const moves: (readonly [Moving, Moving])[] = [];
  const take = (from: Moving, to: Moving) => {
    if (!left.gone.has(from) || !left.fresh.has(to)) return;
    left.gone.delete(from);
    left.fresh.delete(to);
    moves.push([from, to]);
  };
  const places = new Map<string, Moving[]>();
  for (const to of fresh) places.set(movedKey(to.content), [...(places.get(movedKey(to.content)) ?? []), to]);
  const same = gone.flatMap((from) => (places.get(movedKey(from.content)) ?? []).map((to) => [from, to] as const));
  for (const [from, to] of same.toSorted((a, b) => Number(keepsName(b)) - Number(keepsName(a)))) take(from, to);
  if (left.gone.size * left.fresh.size > MOST_COMPARED) return moves;
  const [before, after] = [[...left.gone].flatMap(weighed), [...left.fresh].flatMap(weighed)];
  const alike = before
    .flatMap((from) => after.map((to) => ({ from, to, share: sharedBy(from, to) })))
    .filter(({ share }) => share >= LEAST_ALIKE);
  for (const { from, to } of alike.toSorted((a, b) => b.share - a.share)) take(from.file, to.file);
  return moves;
}

function keepsName([from, to]: readonly [Moving, Moving]): boolean {
  return path.basename(from.name) === path.basename(to.name);
}

interface Weighed {
  readonly file: Moving;
  /** Characters in all lines of one wording. */
  readonly lines: ReadonlyMap<string, number>;
  readonly size: number;
}

function weighed(file: Moving): readonly Weighed[] {
  if (file.text === undefined) return [];
  const lines = new Map<string, number>();
  let size = 0;
  for (const line of file.text.split(/\r?\n/)) {
    const words = line.trim();
    lines.set(words, (lines.get(words) ?? 0) + words.length);
    size += words.length;
  }
  return [{ file, lines, size }];
}

/** The part of the larger file that is in the other one, too. */
function sharedBy(one: Weighed, other: Weighed): number {
  const larger = Math.max(one.size, other.size);
  if (larger === 0 || Math.min(one.size, other.size) < larger * LEAST_ALIKE) return 0;
  let shared = 0;
  for (const [line, size] of one.lines) shared += Math.min(size, other.lines.get(line) ?? 0);
  return shared / larger;
}
