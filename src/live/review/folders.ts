import { constants } from 'node:fs';
import { access, lstat, readdir, readlink, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { t } from '../../base/l10n.ts';
import { messageOf, reasonOf, systemCode } from '../../base/log.ts';
import { isForeign, pathBelow, platform, realPathNow, spelledName } from '../../protocols/paths.ts';
import { chmodReal, type LinkTo, moveReal, PlaceChanged, removeReal, writeReal } from '../../transport/realFiles.ts';
import { explained } from '../../transport/replaceFile.ts';
import { isFileOrFolderNow } from './contentStore.ts';

/** The folders whose files are reviewed: the session's own, and the others of the workspace, none inside another. Absolute. */
export interface Folders {
  readonly root: string;
  readonly others: readonly string[];
}

export function foldersOf(root: string, others: readonly string[]): Folders {
  const chosen: string[] = [];
  for (const folder of others) {
    const overlaps = [root, ...chosen].some((one) => pathBelow(one, folder) !== undefined || pathBelow(folder, one) !== undefined);
    if (!overlaps) chosen.push(folder);
  }
  return { root, others: chosen };
}

/** Prefix of a folder's file names: empty in the session's own folder, elsewhere the whole path. */
export function prefixOf({ root }: Folders, folder: string): string {
  return folder === root ? '' : `${slashed(folder)}/`;
}

/**
 * A file's name: its path with slashes, relative in the session's own folder and absolute in the others. undefined for what lies in none of them. A
 * folder on the way may be a link; the name is spelled as in its folder. A file on another server lies in none of them, and is not looked at.
 */
export function nameOf(folders: Folders, file: string, system = platform): string | undefined {
  if (isForeign(file, [folders.root, ...folders.others], system)) return undefined;
  const below = (target: string, real: boolean) => {
    for (const folder of [folders.root, ...folders.others]) {
      const name = pathBelow(real ? realPathNow(folder) : folder, target);
      if (name) return prefixOf(folders, folder) + name;
    }
    return undefined;
  };
  const real = () => below(path.join(realPathNow(path.dirname(file)), spelledName(file)), true);
  return (platform === 'posix' ? below(file, false) : undefined) ?? real();
}

export function fileOf({ root }: Folders, name: string): string {
  return path.isAbsolute(name) ? path.normalize(name) : path.join(root, name);
}

/** The new content of a file, or a link; null: none of them. */
export type FileContent = Uint8Array | LinkTo | null;

/** Files that are written in one step, with what each asks of the others: going through all of them for each would take minutes for many. */
export interface WrittenTogether {
  readonly names: ReadonlySet<string>;
  /** The files that are removed, by each folder above them. */
  readonly removed: ReadonlyMap<string, ReadonlySet<string>>;
}

export function writtenTogether(all: readonly { readonly name: string; readonly target: unknown }[]): WrittenTogether {
  const removed = new Map<string, Set<string>>();
  for (const { name, target } of all) {
    for (const folder of target === null ? foldersAbove(name) : []) {
      const known = removed.get(folder);
      if (known) known.add(name);
      else removed.set(folder, new Set([name]));
    }
  }
  return { names: new Set(all.map(({ name }) => name)), removed };
}

/** Names of the folders that a file lies in; of an empty folder on a list, which ends with a slash, its own too. */
export function foldersAbove(name: string): readonly string[] {
  return [...name.matchAll(/\//g)].flatMap(({ index }) => (index > 0 ? [name.slice(0, index)] : []));
}

/** A folder, and the name of a file below it. */
export interface FolderFile {
  readonly root: string;
  readonly below: string;
}

/** The folder of a file, and its name there. Throws a message for the user when its folder is no longer one of these. */
export function placeOf(folders: Folders, name: string): FolderFile {
  if (!path.isAbsolute(name)) return { root: folders.root, below: name };
  const root = folders.others.find((folder) => name.startsWith(prefixOf(folders, folder)));
  if (root === undefined) throw outside(name);
  return { root, below: name.slice(prefixOf(folders, root).length) };
}

/** For the user: with the folder's own name before it, where it is not the session's. */
export function shownName(folders: Folders, name: string): string {
  const { folder: root } = otherFolder(folders, name);
  return root === undefined ? name : `${path.basename(root)}/${name.slice(prefixOf(folders, root).length)}`;
}

/** The folder of a file where it is not the session's own. */
export function otherFolder(folders: Folders, name: string): { readonly folder?: string } {
  const folder = folders.others.find((one) => name.startsWith(prefixOf(folders, one)));
  return folder === undefined ? {} : { folder };
}

function slashed(folder: string): string {
  return folder.replaceAll(path.sep, '/').replace(/\/$/, '');
}

/**
 * Resolves with the file's real path. Rejects with a message for the user when `putFile` would not write there. `overLink`: where the link leads that
 * may be there.
 */
export async function checkPlace(root: string, name: string, overLink?: string): Promise<string> {
  const file = path.join(root, name);
  const folder = realPathNow(path.dirname(file));
  if (pathBelow(realPathNow(root), folder) === undefined) throw outside(name);
  const there = await lstat(file).catch(() => undefined);
  if (there?.isDirectory()) throw new Error(isFileOrFolderNow(name, 'folder'));
  const isMeant = there?.isSymbolicLink() && overLink !== undefined && (await readlink(file).catch(() => undefined)) === overLink;
  if (there && !there.isFile() && !isMeant) throw changedSince(name);
  if (there?.isFile())
    await access(file, constants.W_OK).catch((error: unknown) => {
      throw readable(name, error);
    });
  return path.join(folder, path.basename(file));
}

/** Like `checkPlace`, where no folder on the way may be a link, either. */
export async function checkOwnPlace({ root, below }: FolderFile, overLink?: string): Promise<string> {
  const real = await checkPlace(root, below, overLink);
  if (real.normalize('NFC') !== path.join(realPathNow(root), below).normalize('NFC')) throw outside(below);
  return real;
}

/** Rejects where a folder on the way to a place below `root` is a link. */
export function checkFolders({ root, below }: FolderFile): void {
  const real = realPathNow(path.dirname(path.join(root, below)));
  if (real.normalize('NFC') !== path.join(realPathNow(root), path.dirname(below)).normalize('NFC')) throw outside(below);
}

/** More entries of a folder are not counted. */
const MOST_INSIDE = 10_000;

/** Names of what is in a folder, with slashes, other than folders; undefined for what is no folder, or holds too much. */
export async function filesInFolder(folder: string): Promise<readonly string[] | undefined> {
  const isFolder = (await lstat(folder).catch(() => undefined))?.isDirectory() === true;
  const entries = isFolder ? await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => undefined) : undefined;
  if (!entries || entries.length > MOST_INSIDE) return undefined;
  const nameIn = (parent: string, name: string) => path.relative(folder, path.join(parent, name)).replaceAll(path.sep, '/');
  return entries.flatMap((one) => (one.isDirectory() ? [] : [nameIn(one.parentPath, one.name)]));
}

/** Removes a folder below `root` and those in it, as far as nothing else is in them. Never rejects. */
export async function removeEmptyFolders({ root, below }: FolderFile): Promise<void> {
  const inside = await readdir(path.join(root, below), { withFileTypes: true }).catch(() => []);
  for (const one of inside) if (one.isDirectory()) await removeEmptyFolders({ root, below: `${below}/${one.name}` });
  await removeEmptyFolder({ root, below }).catch(() => {});
}

/**
 * Writes a file or link below `root` whole or not at all, or removes it (null); never through a link, and over none but the one that leads to
 * `overLink`. No folder on the way is a link: it would be another file. Without a `mode` it keeps its own, or has that of a new file. Rejects with a message for the user.
 */
export async function putFile({ root, below }: FolderFile, content: FileContent, mode?: number, overLink?: string): Promise<void> {
  const real = await checkOwnPlace({ root, below }, overLink);
  try {
    await (content === null ? removeReal(real) : writeReal(real, content, { durable: false, mode, overLink }));
  } catch (error) {
    throw readable(below, error);
  }
}

/** Sets who may read, write and run a file; never through a link. Rejects with a message for the user. */
export async function putMode({ root, below }: FolderFile, mode: number): Promise<void> {
  try {
    await chmodReal(await checkPlace(root, below), mode);
  } catch (error) {
    throw readable(below, error);
  }
}

/** Removes a folder below `root` in which there is nothing; never through a link. Rejects for one in which there is something. */
export async function removeEmptyFolder({ root, below }: FolderFile): Promise<void> {
  const folder = path.join(root, below);
  const above = realPathNow(path.dirname(folder));
  const real = realPathNow(root);
  if (above !== real && pathBelow(real, above) === undefined) throw outside(below);
  await rmdir(path.join(above, path.basename(folder)));
}

/** Moves a file, or the link that leads to `link`, never over another one and never through a link. Rejects with a message for the user. */
export async function moveFile(place: FolderFile, to: FolderFile, link?: string): Promise<void> {
  const [real, target] = [await checkPlace(place.root, place.below, link), await checkPlace(to.root, to.below)];
  try {
    await moveReal(real, target);
  } catch (error) {
    throw readable(to.below, error);
  }
}

/**
 * Turns an error of the system into words for the user: a place that a link has taken since has changed, a protected file is named as such, and
 * any other reason comes without the name of the call and the path.
 */
export function readable(name: string, error: unknown): unknown {
  if (error instanceof PlaceChanged || isOtherThing(error)) return changedSince(name);
  const refused = explained(name, error);
  if (refused !== error) return refused;
  const reason = reasonOf(error);
  return reason === messageOf(error) ? error : new Error(t('{0} could not be written: {1}', name, reason));
}

/** True when a file's place was taken by a folder or a link, or the other way round, while it was written. */
function isOtherThing(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'EISDIR' || code === 'ENOTDIR' || code === 'ENOTEMPTY' || code === 'ELOOP';
}

/** For the user: that file was not written, and why. */
export function notWritten(name: string, error: unknown): string {
  const why = readable(name, error);
  const isSaid = why !== error && !(error instanceof PlaceChanged || isOtherThing(error));
  return isSaid ? messageOf(why) : t('{0} could not be written: {1}', name, messageOf(why));
}

export function changedSince(name: string): Error {
  return new Error(t('{0} has changed in the meantime. Look at the change again.', name));
}

/** A link or a folder on the way was replaced, or the folder was taken out of the workspace. */
function outside(name: string): Error {
  return new Error(
    t('{0} now lies elsewhere, so nothing was written. Remove the link that leads there, or add its folder, and try again.', name),
  );
}
