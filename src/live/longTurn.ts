import type { Part, PartId, Turn } from '../session/model.ts';
import { isSettled } from '../session/parts.ts';

/** Parts a turn keeps. Every change copies the list, so a turn without an end would cost ever more. */
export const MOST_PARTS = 5000;
/** Removed at a time, so that the cost of removing is spread. */
const AT_A_TIME = 1000;

/** The oldest parts to drop from a turn that has grown too long: nothing that goes on, or that something kept belongs to. Empty while it is short. */
export function surplusParts({ parts }: Turn): readonly PartId[] {
  if (parts.length <= MOST_PARTS) return [];
  const needed = new Set<string>();
  const going = parts.filter((part, at) => at >= parts.length - MOST_PARTS + AT_A_TIME || goesOn(part));
  for (const { id, parent } of going) {
    needed.add(id);
    if (parent !== undefined) needed.add(parent);
  }
  // The parents of parents: a part stands after the one it belongs to.
  for (const { id, parent } of parts.toReversed()) if (parent !== undefined && needed.has(id)) needed.add(parent);
  return parts.filter(({ id }) => !needed.has(id)).map(({ id }) => id);
}

function goesOn(part: Part): boolean {
  return (
    (part.kind === 'call' && (!isSettled(part.call) || part.call.goesOn === true)) || (part.kind === 'prompt' && part.pending === true)
  );
}
