import { readTextFile } from '../protocols/textFile.ts';
import { doneSides, pendingSides } from '../session/diffs.ts';
import type { CallId, Turn } from '../session/model.ts';
import { byPath, type ChangedFile, callsOf, diffsOf, isChange } from '../session/select.ts';

/** The calls of a turn whose end the agent has not told and whose changes, all of them, stand on the disk. Never rejects. */
export async function appliedOnDisk(turn: Turn): Promise<readonly CallId[]> {
  const untold = callsOf(turn).filter((call) => call.status === 'ended');
  const found = await Promise.all(
    untold.map(async (call) => {
      const files = byPath(diffsOf(call).filter(isChange));
      const made = await Promise.all(files.map(isMade));
      return made.length > 0 && made.every(Boolean) ? [call.id] : [];
    }),
  );
  return found.flat();
}

/** Certain only where a whole side says so, or a piece that has come to stand where the old one no longer does. */
async function isMade({ path, diffs }: ChangedFile): Promise<boolean> {
  const present = await onDisk(path);
  if (!doneSides(diffs, present).ok) return false;
  const pieces = diffs.filter((diff) => diff.excerpt);
  if (pieces.length === 0) return true;
  const grown = pieces.every(({ before, after }) => after?.includes(before ?? ''));
  return pieces.every(({ after }) => after !== null && after !== '') && (grown || !pendingSides(diffs, present).ok);
}

async function onDisk(path: string): Promise<string | null | undefined> {
  try {
    return await readTextFile(path);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? null : undefined;
  }
}
