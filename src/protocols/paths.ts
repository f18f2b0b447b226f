import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { fileKey, isOnOtherServer, isSameName, type Platform, pathBelowFolder } from '../base/fileName.ts';
import { guardReason } from '../base/guardedFiles.ts';

/** Where a path an agent names really lies (acp.md §10.3). */
export type PathScope = 'inside' | 'guarded' | 'outside';

/** How the system this runs on reads names. */
export const platform: Platform = process.platform === 'win32' || process.platform === 'darwin' ? process.platform : 'posix';

/** One key for all spellings of an absolute path on this system: what files are compared by and kept under. */
export function keyOfFile(file: string): string {
  return fileKey(file, platform);
}

/** True for two spellings of one absolute path on this system. */
export function isSameFile(one: string, other: string): boolean {
  return isSameName(one, other, platform);
}

/**
 * Throws when the path cannot be meant: relative, or with a NUL in it. `known` is where the path leads, for a caller who goes on to
 * use just that place: a link that changes meanwhile does not count then.
 */
export async function placeOf(target: string, roots: readonly string[], known?: string): Promise<PathScope> {
  if (target.includes('\0')) throw new Error('The path holds a NUL character.');
  if (!path.isAbsolute(target)) throw new Error(`The path is not absolute: ${target}`);
  const realRoots = await Promise.all(roots.map((root) => realPath(root)));
  if (isOnOtherServer(target, [...roots, ...realRoots], platform)) return 'outside';
  const real = known ?? (await realPath(path.resolve(target)));
  for (const [at, root] of roots.entries()) {
    const below = pathBelow(realRoots[at] ?? root, real);
    // By both names: an editor reads .vscode/settings.json through whatever link is there.
    if (below !== undefined) return guardReason(below) || guardReason(pathBelow(root, path.resolve(target)) ?? '') ? 'guarded' : 'inside';
  }
  return 'outside';
}

/**
 * True for a path on another server than these folders, links followed. Nothing looks at it before the user has allowed that: Windows would connect to
 * the server and tell it who the user is.
 */
export function isForeign(target: string, folders: readonly string[], system = platform): boolean {
  return (
    isOnOtherServer(target, folders, system) &&
    isOnOtherServer(
      target,
      folders.map((folder) => realPathNow(folder)),
      system,
    )
  );
}

/** True when a user who reads the path sees that it is in none of these folders. */
export function looksOutside(target: string, roots: readonly string[]): boolean {
  return roots.every((root) => pathBelow(root, target) === undefined);
}

/** The way from a folder to something in it with forward slashes, '' for the folder itself; undefined when the target is elsewhere. */
export function pathBelow(root: string, target: string): string | undefined {
  return pathBelowFolder(root, target, platform);
}

/** The system opens no longer path, so there is no file of such a name. */
const LONGEST_PATH = platform === 'win32' ? 32_767 : 4096;
const MOST_LINKS = 40;

/** With the links of every folder that exists followed, and of a link that leads to nothing yet; what does not exist is put behind it. */
export async function realPath(target: string, links = 0): Promise<string> {
  try {
    return await realpath(target);
  } catch {
    if (target.length > LONGEST_PATH) return target;
    const { there, rest } = await splitAtEnd(target);
    const real = await realpath(there).catch(() => undefined);
    if (real !== undefined) return path.join(real, rest);
    if (path.dirname(there) === there) return target;
    const here = path.join(await realPath(path.dirname(there), links), path.basename(there));
    const leadsTo = links < MOST_LINKS ? await readlink(here).catch(() => undefined) : undefined;
    return path.join(leadsTo === undefined ? here : await realPath(path.resolve(path.dirname(here), leadsTo), links + 1), rest);
  }
}

/** The same at once, for a question that is answered before anybody has seen it. */
export function realPathNow(target: string, links = 0): string {
  try {
    return realpathSync.native(target);
  } catch {
    if (target.length > LONGEST_PATH) return target;
    const { there, rest } = splitAtEndNow(target);
    const real = orUndefined(() => realpathSync.native(there));
    if (real !== undefined) return path.join(real, rest);
    if (path.dirname(there) === there) return target;
    const here = path.join(realPathNow(path.dirname(there), links), path.basename(there));
    const leadsTo = links < MOST_LINKS ? orUndefined(() => readlinkSync(here)) : undefined;
    return path.join(leadsTo === undefined ? here : realPathNow(path.resolve(path.dirname(here), leadsTo), links + 1), rest);
  }
}

/** A path up to the last folder, file or link that is there, and what is not. */
interface Split {
  readonly there: string;
  readonly rest: string;
}

async function splitAtEnd(target: string): Promise<Split> {
  const search = endSearch(path.resolve(target));
  let step = search.next();
  while (!step.done) {
    const found = await lstat(step.value).catch(() => undefined);
    step = search.next(found !== undefined);
  }
  return step.value;
}

function splitAtEndNow(target: string): Split {
  const search = endSearch(path.resolve(target));
  let step = search.next();
  while (!step.done) {
    const asked = step.value;
    step = search.next(orUndefined(() => lstatSync(asked)) !== undefined);
  }
  return step.value;
}

/** Asks for each path that it yields whether it is there: for few of them, because a file that exists is in folders that exist. */
function* endSearch(target: string): Generator<string, Split, boolean> {
  const { root } = path.parse(target);
  const parts = target.slice(root.length).split(path.sep).filter(Boolean);
  let [there, missing] = [0, parts.length + 1];
  while (there + 1 < missing) {
    const middle = (there + missing) >> 1;
    if (yield path.join(root, ...parts.slice(0, middle))) there = middle;
    else missing = middle;
  }
  return { there: path.join(root, ...parts.slice(0, there)), rest: parts.slice(there).join(path.sep) };
}

/** The name of a file as its folder has it, where the system takes several spellings for one. A link keeps its own name. */
export function spelledName(file: string): string {
  const name = path.basename(file);
  const real = platform === 'posix' ? name : path.basename(realPathNow(file));
  return keyOfFile(`/${real}`) === keyOfFile(`/${name}`) ? real : name;
}

function orUndefined<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
