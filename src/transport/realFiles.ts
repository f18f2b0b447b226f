import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, type Stats, writeSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { systemCode } from '../base/log.ts';
import { replaceFile, whileHeld } from './replaceFile.ts';

/**
 * Files opened by a path whose links were followed before, when somebody decided about it. A link that was put in its place since is not followed,
 * and what was opened is compared with what was meant: on Linux by the name the system gives the open file, so that no swap in between counts, and
 * elsewhere by its number.
 */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
/** A pipe without a writer does not hold up the one who opens it. */
const NON_BLOCK = constants.O_NONBLOCK ?? 0;
const FOLDER = constants.O_DIRECTORY ?? 0;
const LINUX = process.platform === 'linux';
/** Most bytes that are written without letting anything else run. */
const MOST_AT_ONCE = 4 * 1024 * 1024;

/** The place that was decided about leads elsewhere now. */
export class PlaceChanged extends Error {
  constructor(file: string) {
    super(`${file} leads elsewhere than when it was checked`);
  }
}

/** The file holds another text than the one that the new text was made from. */
export class ContentChanged extends Error {
  constructor(file: string) {
    super(`${file} was written meanwhile`);
  }
}

/** Opens a regular file for reading. Rejects with the system's error, or PlaceChanged. */
export async function openReal(real: string): Promise<FileHandle> {
  const flags = constants.O_RDONLY | NO_FOLLOW | NON_BLOCK;
  const handle = await whileHeld(real, () => open(real, flags)).catch((error: unknown) => {
    throw systemCode(error) === 'ELOOP' ? new PlaceChanged(real) : error;
  });
  try {
    await checkOpened(handle, real);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The error of a file that is gone meanwhile, or of a socket. */
export function isNoFile(error: unknown): boolean {
  return ['ENOENT', 'ENXIO', 'EOPNOTSUPP', 'ENOTSUP'].includes(systemCode(error) ?? '');
}

/** A symbolic link to be made; where it leads is written as it is. */
export interface LinkTo {
  readonly target: string;
}

export interface WriteOptions {
  /** Waits for the disk, which for many files takes long; so by default. */
  readonly durable?: boolean;
  /** A file that is there keeps its own otherwise. */
  readonly mode?: number | undefined;
  /** Where a link leads that may be there: it is replaced, and not followed. */
  readonly overLink?: string | undefined;
}

/**
 * Writes a file or link whole or not at all: a temporary one in the same folder takes its place. Missing folders are made. Rejects with PlaceChanged
 * when the folder, or the file itself, is not where it was.
 */
export async function writeReal(real: string, content: string | Uint8Array | LinkTo, options: WriteOptions = {}): Promise<void> {
  const { durable = true, mode, overLink } = options;
  const folder = await openFolder(path.dirname(real));
  const name = path.basename(real);
  const temporary = folder.at(`.${name.slice(0, 100)}.${randomUUID().slice(0, 8)}.tmp`);
  const target = folder.at(name);
  try {
    const there = await lstat(target).catch(() => undefined);
    if (there?.isSymbolicLink() && (overLink === undefined || (await readlink(target)) !== overLink)) throw new PlaceChanged(real);
    if (isLink(content)) await symlink(content.target, temporary);
    else await writeTemporary(temporary, content, mode ?? (there?.isFile() ? there.mode & 0o7777 : undefined), durable);
    await folder.check();
    await replaceFile(temporary, target);
  } catch (error) {
    await whileHeld(real, () => rm(temporary, { force: true })).catch(() => {});
    throw error;
  } finally {
    await folder.close();
  }
}

function isLink(content: string | Uint8Array | LinkTo): content is LinkTo {
  return typeof content === 'object' && 'target' in content;
}

async function writeTemporary(file: string, content: string | Uint8Array, mode: number | undefined, durable: boolean): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW, 0o666);
  try {
    // Before the content: nobody reads what is not for them.
    if (mode !== undefined) await handle.chmod(mode);
    await handle.writeFile(content);
    if (durable) await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes into a file in its place, which keeps what else hangs on it (owner, watchers), also when the disk is full; makes it where there is none. A
 * file that has other names is replaced: nobody decided about those, and nothing tells where they are. Rejects with ContentChanged, and writes nothing,
 * where the file does not hold the text `from`. A program may be adding lines: up to 4 MB nothing is awaited between that look and the write.
 */
export async function overwriteReal(real: string, content: string | Uint8Array, from?: string): Promise<void> {
  const folder = await openFolder(path.dirname(real));
  try {
    const flags = (from === undefined ? constants.O_WRONLY | constants.O_CREAT : constants.O_RDWR) | NO_FOLLOW | NON_BLOCK;
    let hasOtherNames = false;
    const handle = await whileHeld(real, () => open(folder.at(path.basename(real)), flags, 0o666)).catch((error: unknown) => {
      throw systemCode(error) === 'ELOOP' ? new PlaceChanged(real) : error;
    });
    try {
      await checkOpened(handle, real);
      const there = await handle.stat();
      if (!there.isFile()) throw new Error(`${real} is not a regular file`);
      hasOtherNames = there.nlink > 1;
      if (from !== undefined && !holds(handle.fd, Buffer.from(from))) throw new ContentChanged(real);
      const bytes = Buffer.from(content);
      if (!hasOtherNames && from !== undefined && bytes.length <= MOST_AT_ONCE) replaceContentNow(handle.fd, there.size, bytes);
      else if (!hasOtherNames) await replaceContent(handle, bytes);
    } finally {
      await handle.close();
    }
    // Windows replaces no file that is open.
    if (hasOtherNames) await writeReal(real, content);
  } finally {
    await folder.close();
  }
}

/** Takes the room that a longer content needs before the first byte of the old one is gone. */
async function replaceContent(handle: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await handle.stat();
  try {
    await writeAt(handle, bytes, size, bytes.length);
  } catch (error) {
    await handle.truncate(size);
    throw error;
  }
  await writeAt(handle, bytes, 0, Math.min(size, bytes.length));
  await handle.truncate(bytes.length);
}

/** The same, at once. */
function replaceContentNow(fd: number, size: number, bytes: Buffer): void {
  const writeNow = (from: number, to: number) => {
    for (let at = from; at < to; ) at += writeSync(fd, bytes, at, to - at, at);
  };
  try {
    writeNow(size, bytes.length);
  } catch (error) {
    ftruncateSync(fd, size);
    throw error;
  }
  writeNow(0, Math.min(size, bytes.length));
  ftruncateSync(fd, bytes.length);
}

function holds(fd: number, bytes: Buffer): boolean {
  const there = Buffer.alloc(bytes.length + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < there.length; length += read)
    read = readSync(fd, there, length, there.length - length, length);
  return length === bytes.length && there.subarray(0, length).equals(bytes);
}

/** Writes the bytes from `from` to `to` at their places. */
async function writeAt(handle: FileHandle, bytes: Buffer, from: number, to: number): Promise<void> {
  for (let at = from; at < to; ) at += (await handle.write(bytes, at, to - at, at)).bytesWritten;
}

/** The rights on a file. Rejects with PlaceChanged when a link has taken its place. */
export async function chmodReal(real: string, mode: number): Promise<void> {
  const handle = await openReal(real);
  try {
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}

/** Removes a file, or a link itself; nothing where there is none. Rejects with PlaceChanged when the folder is not where it was. */
export async function removeReal(real: string): Promise<void> {
  if (!(await lstat(real).catch(() => undefined))) return;
  const folder = await openFolder(path.dirname(real));
  try {
    await folder.check();
    await whileHeld(real, () => rm(folder.at(path.basename(real)), { force: true }));
  } finally {
    await folder.close();
  }
}

/** Moves a file. Rejects where there is another one, and with PlaceChanged when a folder is not where it was. */
export async function moveReal(real: string, to: string): Promise<void> {
  const source = await openFolder(path.dirname(real));
  try {
    await moveFrom(source, real, to);
  } finally {
    await source.close();
  }
}

async function moveFrom(source: OpenFolder, real: string, to: string): Promise<void> {
  const target = await openFolder(path.dirname(to));
  try {
    await Promise.all([source.check(), target.check()]);
    const [from, place] = [source.at(path.basename(real)), target.at(path.basename(to))];
    const [moved, there] = [await lstat(from), await lstat(place).catch(() => undefined)];
    // One file under both names: only the case of a letter differs.
    if (there && (there.ino !== moved.ino || there.dev !== moved.dev)) throw new Error(`${to} exists`);
    await replaceFile(from, place);
  } finally {
    await target.close();
  }
}

/** The beginning of a regular file, at once: for small files that are read at start. Undefined for anything else, a link among it. */
export function readRealNow(real: string, most: number): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(real, constants.O_RDONLY | NO_FOLLOW | NON_BLOCK);
    const info = fstatSync(file);
    if (!info.isFile()) return undefined;
    const bytes = Buffer.alloc(Math.min(most, info.size));
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

interface OpenFolder {
  /** A path of an entry that stays in this very folder where the system can say so. */
  readonly at: (name: string) => string;
  /** Rejects when the folder has been moved away or a link has taken its place. */
  readonly check: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Opens a folder by its real path, and makes it and those above it where they are missing. */
async function openFolder(real: string): Promise<OpenFolder> {
  await makeFolder(real);
  if (process.platform === 'win32') {
    const check = () => checkPlace(real);
    await check();
    return { at: (name) => path.join(real, name), check, close: async () => {} };
  }
  const handle = await open(real, constants.O_RDONLY | FOLDER | NO_FOLLOW).catch((error: unknown) => {
    throw ['ELOOP', 'ENOTDIR'].includes(systemCode(error) ?? '') ? new PlaceChanged(real) : error;
  });
  const check = () => checkOpened(handle, real);
  try {
    await check();
  } catch (error) {
    await handle.close();
    throw error;
  }
  const base = LINUX ? `/proc/self/fd/${handle.fd}` : real;
  return { at: (name) => path.join(base, name), check, close: () => handle.close() };
}

/** One folder after the other, each in the folder above that was checked: making them all at once would follow links. */
async function makeFolder(real: string): Promise<void> {
  const there = await lstat(real).catch(() => undefined);
  if (there?.isDirectory()) return;
  if (there) throw new PlaceChanged(real);
  const parent = path.dirname(real);
  if (parent === real) return;
  const above = await openFolder(parent);
  try {
    await mkdir(above.at(path.basename(real))).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
  } finally {
    await above.close();
  }
}

async function checkOpened(handle: FileHandle, real: string): Promise<void> {
  const opened = LINUX ? await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined) : undefined;
  if (opened === real) return;
  // Mounted Windows drives may tell another case.
  if (opened !== undefined && opened.toLowerCase() !== real.toLowerCase()) throw new PlaceChanged(real);
  const [is, meant] = await Promise.all([handle.stat(), checkPlace(real)]);
  if (is.ino !== meant.ino || is.dev !== meant.dev) throw new PlaceChanged(real);
}

/** Rejects when a link is on the way by now. */
async function checkPlace(real: string): Promise<Stats> {
  if ((await realpath(real)).normalize('NFC') !== real.normalize('NFC')) throw new PlaceChanged(real);
  return lstat(real);
}
