import { constants } from 'node:fs';
import { access, lstat } from 'node:fs/promises';
import path from 'node:path';
import { t } from '../../base/l10n.ts';
import { pathBelow, realPathNow } from '../../protocols/paths.ts';
import { moveReal, PlaceChanged, removeReal, writeReal } from '../../transport/realFiles.ts';
import type { Place } from './folders.ts';

/** Resolves with the file's real path. Rejects with a message for the user when `putFile` would not write there. */
export async function checkPlace(root: string, name: string): Promise<string> {
  const file = path.join(root, name);
  const folder = realPathNow(path.dirname(file));
  if (pathBelow(realPathNow(root), folder) === undefined) throw leadsOutside(name);
  const there = await lstat(file).catch(() => undefined);
  if (there && !there.isFile()) throw new Error(t('{0} has changed in the meantime. Look at the change again.', name));
  if (there) await access(file, constants.W_OK);
  return path.join(folder, path.basename(file));
}

/** Writes a file below `root` whole or not at all, or removes it (null); never through a link. Rejects with a message for the user. */
export async function putFile(root: string, name: string, bytes: Uint8Array | null): Promise<void> {
  const real = await checkPlace(root, name);
  try {
    await (bytes === null ? removeReal(real) : writeReal(real, bytes, false));
  } catch (error) {
    throw error instanceof PlaceChanged ? leadsOutside(name) : error;
  }
}

/** Moves a file, never over another one and never through a link. Rejects with a message for the user. */
export async function moveFile(place: Place, to: Place): Promise<void> {
  const [real, target] = [await checkPlace(place.root, place.below), await checkPlace(to.root, to.below)];
  try {
    await moveReal(real, target);
  } catch (error) {
    throw error instanceof PlaceChanged ? leadsOutside(to.below) : error;
  }
}

function leadsOutside(name: string): Error {
  return new Error(t('{0} (outside the workspace)', name));
}
