import { constants } from 'node:fs';
import { access, lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { t } from '../../base/l10n.ts';
import { pathBelow, realPathNow } from '../../protocols/paths.ts';
import { replaceFile } from '../../transport/replaceFile.ts';

/** Resolves with the file's mode, undefined when there is none. Rejects with a message for the user when `putFile` would not write there. */
export async function checkPlace(root: string, name: string): Promise<number | undefined> {
  const file = path.join(root, name);
  if (pathBelow(realPathNow(root), realPathNow(path.dirname(file))) === undefined) {
    throw new Error(t('{0} leads outside the folder of the session.', name));
  }
  const there = await lstat(file).catch(() => undefined);
  if (there && !there.isFile()) throw new Error(t('{0} is not a regular file any more.', name));
  if (there) await access(file, constants.W_OK);
  return there && there.mode & 0o777;
}

/** Writes a file below `root` whole or not at all, or removes it (null); never through a link. Rejects with a message for the user. */
export async function putFile(root: string, name: string, bytes: Uint8Array | null): Promise<void> {
  const file = path.join(root, name);
  const mode = await checkPlace(root, name);
  if (bytes === null) return rm(file, { force: true });
  await mkdir(path.dirname(file), { recursive: true });
  const fresh = `${file}.${crypto.randomUUID()}.parley`;
  try {
    await writeFile(fresh, bytes, { flag: 'wx', mode: mode ?? 0o666 });
    await replaceFile(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
