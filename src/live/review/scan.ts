import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { type IgnoreRules, ignoreRules } from '../../base/ignoreRules.ts';
import { mapAtOnce } from '../../base/keyedQueue.ts';
import { isMissing, reasonOf } from '../../base/log.ts';
import { pathBelow, realPathNow } from '../../protocols/paths.ts';
import { type ContentStore, isKept, linkContent, movedKey, unkeptFor, unreadContent } from './contentStore.ts';
import { type Folders, fileOf, placeOf, prefixOf } from './folders.ts';

export interface FileState {
  readonly content: string;
  /** Changes whenever the file is written. */
  readonly stamp: string;
  /** When it was last written, in milliseconds since the epoch. */
  readonly at?: number;
  /** Its rights. */
  readonly mode?: number | undefined;
}
/** By their names (`nameOf`). */
export type FileStates = ReadonlyMap<string, FileState>;
export interface Scan {
  readonly folders: Folders;
  /** Single files are put in as they are looked at again. */
  readonly files: Map<string, FileState>;
  /** Not all of a folder was read: it holds more files or bytes than are kept. */
  readonly partial: boolean;
  /** All files that were listed were read. */
  readonly isRead?: boolean;
  /** Why contents could not be stored: the disk is full, for example. */
  readonly trouble?: string;
  /**
   * The paths left out, with when they last changed: files that are ignored, folders that are, or by their names, and links that lead outside, with
   * when their target changed.
   */
  readonly leftOut: ReadonlyMap<string, number>;
  /** The ignore rules of when the turn began, by the path of their folder. */
  readonly rules?: FolderRules | undefined;
  /** Folders in which there is nothing at all. */
  readonly emptyFolders: readonly string[];
  /** The last name that is watched in a folder with too many files; later scans end there, too. By the folder's path. */
  readonly ends: ReadonlyMap<string, string>;
}
type FolderRules = ReadonlyMap<string, IgnoreRules>;
/** The starting point of a scan. The rules from the start of the turn apply together with the present ones, so that a file that was watched then still is. */
export type ScanBefore = Pick<Scan, 'files' | 'ends' | 'rules'>;

/** Before anything was read. */
export function emptyScan(folders: Folders): Scan {
  return { folders, files: new Map(), partial: false, leftOut: new Map(), emptyFolders: [], ends: new Map() };
}
/** A scan that goes on from files known of an earlier window; `ends` as of its scan. Its ignore rules are those of the .gitignore files among them. */
export async function scanOf(folders: Folders, store: ContentStore, files: Map<string, FileState>, ends: Scan['ends']): Promise<Scan> {
  const rules = new Map<string, IgnoreRules>();
  for (const [name, { content }] of files) {
    if (path.posix.basename(name) !== '.gitignore' || !isKept(content)) continue;
    const bytes = await store.get(content);
    if (bytes && bytes.length <= LARGEST_IGNORE) rules.set(path.dirname(fileOf(folders, name)), ignoreRules(bytes.toString('utf8')));
  }
  return { ...emptyScan(folders), files, ends, partial: ends.size > 0, rules };
}
export interface ScanLimits {
  readonly files: number;
  readonly fileBytes: number;
  /** New bytes that one scan reads. */
  readonly totalBytes: number;
  /** Files that change at once and are still listed one by one. */
  readonly burst: number;
}
export const usualLimits: ScanLimits = { files: 20_000, fileBytes: 8 * 1024 * 1024, totalBytes: 512 * 1024 * 1024, burst: 2000 };

/** Records of version control: a list of changed files does not include them. */
const RECORDS = new Set(['.git', '.hg', '.svn']);
/** True for a file below such records: they are never looked at. */
export function isOfRecords(name: string): boolean {
  return path.posix
    .dirname(name)
    .split('/')
    .some((folder) => RECORDS.has(folder));
}

/** No .gitignore needs to name these. */
const PACKAGES = new Set(['node_modules', '__pycache__', '.venv']);
const MOST_LEFT_OUT = 100;
const MOST_IGNORED_FILES = 1000;
/** Bytes of a .gitignore that is followed, at most. */
const LARGEST_IGNORE = 256 * 1024;
/** Characters of a link that is kept. */
const LONGEST_LINK = 1024;
const AT_ONCE = 8;

/** How a scan goes along with what happens meanwhile. */
export interface ScanPace {
  /** All files are listed, with their stamps; their contents are still to be read. */
  readonly onListed?: () => void;
  /** Since when the agent may write, in milliseconds as `Date.now`. What it has written since is never taken for what a file held before. */
  readonly agentSince?: () => number | undefined;
  /** Nothing more is to be read: files without their contents are left out. */
  readonly isEnough?: () => boolean;
}
/** A file as it was listed. */
interface Listed {
  readonly name: string;
  readonly file: string;
  readonly found: Pick<Stats, 'mtimeMs' | 'ctimeMs' | 'ino' | 'size' | 'mode' | 'isSymbolicLink'> | 'unreadable';
  /** Since when the agent may have written it. */
  readonly agentSince?: number | undefined;
}
const UNREADABLE: FileState = { content: 'unkept unreadable', stamp: 'unreadable' };
/** Milliseconds in which a file system may give two writes the same time. */
const SAME_TIME = 20;

/**
 * The files and links of the folders as they are now, their contents in the store; files unchanged since `before` are not read again. Links are not
 * followed, and files that .gitignore names are left out. All files are listed before the first is read.
 */
export async function scanFolders(
  folders: Folders,
  store: ContentStore,
  before: ScanBefore,
  limits: ScanLimits = usualLimits,
  pace: ScanPace = {},
): Promise<Scan> {
  const leftOut = new Map<string, number>();
  const ends = new Map<string, string>();
  const rules = new Map<string, IgnoreRules>();
  const watched = before.rules ? foldersOfFiles(before.files.keys()) : new Set<string>();
  const emptyFolders: string[] = [];
  const listed: Listed[] = [];
  for (const root of [folders.root, ...folders.others]) {
    const prefix = prefixOf(folders, root);
    const begin = before.rules && { rules: before.rules, prefix, files: before.files, folders: watched };
    const walked = await walkFolder(root, limits.files, before.ends.get(root), begin);
    for (const [folder, own] of walked.rules) rules.set(folder, own);
    for (const [below, at] of [...walked.leftOut, ...walked.ignoredFiles]) leftOut.set(prefix + below, at);
    if (walked.end !== undefined) ends.set(root, walked.end);
    emptyFolders.push(...walked.empty.map((below) => prefix + below));
    listed.push(...(await listFiles(root, prefix, [...walked.found, ...knownBehind(walked, prefix, before.files)], pace)));
  }
  pace.onListed?.();
  const { files, left, trouble } = await readFiles(listed, store, before.files, limits, pace);
  return {
    folders,
    files,
    partial: ends.size > 0 || left <= 0,
    isRead: pace.isEnough?.() !== true,
    leftOut,
    rules: before.rules ?? rules,
    emptyFolders,
    ends,
    ...(trouble === undefined ? {} : { trouble }),
  };
}

/** New files have pushed them out of the walk: they are watched on. */
function knownBehind({ end }: FolderWalk, prefix: string, known: FileStates): readonly string[] {
  if (end === undefined) return [];
  const below = [...known.keys()].flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  return below.filter((name) => !path.isAbsolute(name) && isBehind(name, end));
}

async function listFiles(root: string, prefix: string, names: readonly string[], pace: ScanPace): Promise<readonly Listed[]> {
  const listed: Listed[] = [];
  await mapAtOnce(
    names,
    async (below) => {
      const file = path.join(root, below);
      const agentSince = pace.agentSince?.();
      const found = await statsOf(file);
      if (found) listed.push({ name: prefix + below, file, found, agentSince });
    },
    AT_ONCE,
  );
  return listed;
}

async function readFiles(
  listed: readonly Listed[],
  store: ContentStore,
  before: FileStates,
  limits: ScanLimits,
  pace: ScanPace,
): Promise<{ readonly files: Map<string, FileState>; readonly left: number; readonly trouble: string | undefined }> {
  const states = new Map<string, FileState>();
  let left = limits.totalBytes;
  let trouble: string | undefined;
  await mapAtOnce(
    listed,
    async (one) => {
      const known = before.get(one.name);
      const isKnown = one.found !== 'unreadable' && known?.stamp === stampOf(one.found);
      if (!isKnown && pace.isEnough?.()) return;
      const state = await stateOfListed(one, store, known, Math.min(limits.fileBytes, left), pace.agentSince);
      if (!state) return;
      if (!isKnown) left -= state.size;
      trouble ??= state.trouble;
      const { content, stamp, mode } = state;
      states.set(one.name, one.found === 'unreadable' ? UNREADABLE : { content, stamp, mode, at: one.found.ctimeMs });
    },
    AT_ONCE,
  );
  // In one order, whichever was read first and however the system lists them.
  const files = new Map([...states].sort(([one], [other]) => (one < other ? -1 : 1)));
  return { files, left, trouble };
}

interface StateNow extends FileState {
  readonly size: number;
  readonly trouble?: string;
}

/** The same of a file of a folder, with when it changed; undefined too where a folder on the way is a link, which a scan does not follow. */
export async function stateIn(
  folders: Folders,
  name: string,
  store: ContentStore,
  known: FileState | undefined,
): Promise<FileState | undefined> {
  const { root, below } = placeOf(folders, name);
  const file = path.join(root, below);
  if (realPathNow(path.dirname(file)) !== path.join(realPathNow(root), path.dirname(below))) return undefined;
  const found = await statsOf(file);
  const state = found && (await stateOfListed({ name, file, found }, store, known, usualLimits.fileBytes));
  return (
    state && { content: state.content, stamp: state.stamp, mode: state.mode, ...(found === 'unreadable' ? {} : { at: found.ctimeMs }) }
  );
}

/** undefined when there is no regular file and no link of that name. Never rejects. */
export async function stateOf(
  file: string,
  store: ContentStore,
  known: FileState | undefined,
  mostBytes = usualLimits.fileBytes,
): Promise<StateNow | undefined> {
  const found = await statsOf(file);
  return found && stateOfListed({ name: '', file, found }, store, known, mostBytes);
}

/** Of a file that the agent has written since it was listed, what is known of the time before. */
async function stateOfListed(
  { file, found, agentSince: since = Number.POSITIVE_INFINITY }: Listed,
  store: ContentStore,
  known: FileState | undefined,
  mostBytes: number,
  agentSince?: () => number | undefined,
): Promise<StateNow | undefined> {
  if (found === 'unreadable') return { ...UNREADABLE, size: 0 };
  const { size, ctimeMs } = found;
  const mode = found.isSymbolicLink() ? undefined : found.mode & 0o777;
  const stamp = stampOf(found);
  if (known?.stamp === stamp) return { ...known, size };
  // A new file may have taken the place of another one, whatever its time of creation.
  if (ctimeMs >= since - SAME_TIME) return known ? { ...known, size: 0 } : { content: unreadContent(), stamp: '', size: 0 };
  if (found.isSymbolicLink()) return stateOfLink(file, stamp, agentSince?.() !== undefined);
  if (size > mostBytes) return { content: `unkept ${stamp}`, stamp, size, mode };
  const read = await readRegular(file, mostBytes).catch((error: unknown) => (isMissing(error) ? 'gone' : 'unreadable'));
  const isAsListed = typeof read === 'object' && read.stamp === stamp;
  // The agent may have been quicker.
  if (!isAsListed && agentSince?.() !== undefined) return { content: unreadContent(stamp), stamp, size: 0, mode };
  if (typeof read === 'string') return read === 'gone' ? undefined : { ...UNREADABLE, size: 0 };
  // Written once more at the same time it has the same stamp.
  const isYoung = Date.now() - ctimeMs < SAME_TIME;
  return await store.put(read.bytes).then(
    (content) => ({ content, stamp: isAsListed && !isYoung ? stamp : '', size, mode }),
    // The stamp is left out: the next scan tries again.
    (error: unknown) => ({ content: unkeptFor(error, stamp), stamp: '', size, mode, trouble: reasonOf(error) }),
  );
}

async function stateOfLink(file: string, stamp: string, isAgentAtWork: boolean): Promise<StateNow | undefined> {
  const target = await readlink(file).catch((error: unknown) => (isMissing(error) ? null : undefined));
  const now = await statsOf(file);
  const isAsListed = now !== undefined && now !== 'unreadable' && stampOf(now) === stamp;
  // The agent may have been quicker.
  if (!isAsListed && isAgentAtWork) return { content: unreadContent(stamp), stamp, size: 0 };
  if (typeof target !== 'string') return target === null ? undefined : { ...UNREADABLE, size: 0 };
  const content = target.length > LONGEST_LINK ? `unkept ${stamp}` : linkContent(target);
  // Without a stamp it is read again the next time: another link may get the same one.
  return { content, stamp: '', size: 0 };
}

/** undefined when there is no regular file and no link of that name. Never rejects. */
async function statsOf(file: string): Promise<Listed['found'] | undefined> {
  try {
    const found = await lstat(file);
    return found.isFile() || found.isSymbolicLink() ? found : undefined;
  } catch (error) {
    // The file exists and cannot be read.
    return isMissing(error) ? undefined : 'unreadable';
  }
}

/**
 * Those of the names that a scan like this one would find by now, or has found; of a folder that is gone, what was in it. New files are judged by the
 * ignore rules of when the turn began and by the present ones, as in a scan.
 */
export async function watchedAmong(scan: Scan, names: readonly string[]): Promise<readonly string[]> {
  const chosen = new Set<string>();
  const rulesNow = new Map<string, Promise<IgnoreRules | undefined>>();
  const now = (folder: string) => {
    const rules = rulesNow.get(folder) ?? rulesIn(folder);
    rulesNow.set(folder, rules);
    return rules;
  };
  const folders = foldersOfFiles(scan.files.keys());
  for (const name of names) {
    if (scan.files.has(name) || (await isFound(scan, name, now))) chosen.add(name);
    if (folders.has(name)) for (const one of scan.files.keys()) if (one.startsWith(`${name}/`)) chosen.add(one);
  }
  return [...chosen];
}

async function isFound({ folders, ends, rules }: Scan, name: string, rulesNow: (folder: string) => Promise<IgnoreRules | undefined>) {
  const root = [folders.root, ...folders.others].find(
    (one) => name.startsWith(prefixOf(folders, one)) && (one !== folders.root || !path.isAbsolute(name)),
  );
  if (root === undefined || ends.has(root)) return false;
  const below = name.slice(prefixOf(folders, root).length);
  const parts = below.split('/');
  if (parts.some((part) => RECORDS.has(part) || PACKAGES.has(part))) return false;
  const outer: { readonly below: string; readonly rules: IgnoreRules }[] = [];
  const earlier: { readonly below: string; readonly rules: IgnoreRules }[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const folder = parts.slice(0, at).join('/');
    const place = path.join(root, folder);
    const [present, before] = [await rulesNow(place), rules?.get(place)];
    if (present) outer.push({ below: folder, rules: present });
    if (before) earlier.push({ below: folder, rules: before });
    const [one, isFolder] = [parts.slice(0, at + 1).join('/'), at < parts.length - 1];
    if (isIgnored(outer, one, isFolder) || isIgnored(earlier, one, isFolder)) return false;
  }
  return true;
}

/** Names of the files that differ between two scans; not of those that only one of them looked at, because of its ignore rules, bounds or folders. */
export async function changedBetween(before: Scan, after: Scan): Promise<readonly string[]> {
  const roots = new Set([after.folders.root, ...after.folders.others]);
  const changed: string[] = [];
  for (const [name, { content }] of before.files) {
    const now = after.files.get(name);
    const file = fileOf(after.folders, name);
    if (now ? now.content !== content : roots.has(placeOf(before.folders, name).root) && (await changedAt(file)) === undefined)
      changed.push(name);
  }
  if (before.partial) return changed;
  const earlier = new Set([before.folders.root, ...before.folders.others]);
  const wasLeftOut = (name: string) => [name, ...foldersOfFiles([name])].some((one) => before.leftOut.has(one));
  const isNew = (name: string) => !before.files.has(name) && !wasLeftOut(name) && earlier.has(placeOf(after.folders, name).root);
  return [...changed, ...[...after.files.keys()].filter(isNew)];
}

/** When the file, or the entries of a folder, last changed. */
export async function changedAt(file: string): Promise<number | undefined> {
  return (await lstat(file).catch(() => undefined))?.mtimeMs;
}

function stampOf({ mtimeMs, ctimeMs, ino, size }: Exclude<Listed['found'], 'unreadable'>): string {
  return `${mtimeMs} ${ctimeMs} ${ino} ${size}`;
}

/** With the stamp that it had when all was read. Rejects for what is no regular file, or larger than `mostBytes`. */
async function readRegular(file: string, mostBytes: number): Promise<{ readonly bytes: Buffer; readonly stamp: string }> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > mostBytes) throw new Error(`${file} is not what was listed`);
    const bytes = await handle.readFile();
    return { bytes, stamp: stampOf(await handle.stat()) };
  } finally {
    await handle.close();
  }
}

type NestedRules = readonly { readonly below: string; readonly rules: IgnoreRules }[];
/** Of when the turn began: what was ignored, and the files that were watched. */
interface TurnBegin {
  readonly rules: FolderRules;
  readonly prefix: string;
  readonly files: FileStates;
  /** Folders of those files, and all above. */
  readonly folders: ReadonlySet<string>;
}
interface FolderWalk {
  readonly root: string;
  readonly found: string[];
  readonly leftOut: Map<string, number>;
  readonly ignoredFiles: Map<string, number>;
  readonly rules: Map<string, IgnoreRules>;
  readonly begin: TurnBegin | undefined;
  readonly empty: string[];
  readonly most: number;
  /** The last name to be found. */
  readonly last: string | undefined;
  /** The files looked at in folders that are left out. */
  seenLeftOut: number;
  folders: number;
  /** The last name that was found, where that is not all. */
  end: string | undefined;
}
/** Rules of the folders above, now and when the turn began. */
interface Outer {
  readonly now: NestedRules;
  readonly earlier: NestedRules;
  /** In a folder that is left out: only what was watched when the turn began. */
  readonly isLeftOut?: boolean;
}

/** `last`: where the walk before had to end. What was watched then is watched on, however many files come or go before that. */
async function walkFolder(root: string, most: number, last: string | undefined, begin: TurnBegin | undefined): Promise<FolderWalk> {
  const [leftOut, ignoredFiles, rules] = [new Map<string, number>(), new Map<string, number>(), new Map<string, IgnoreRules>()];
  const walked: FolderWalk = {
    root,
    found: [],
    leftOut,
    ignoredFiles,
    rules,
    begin,
    empty: [],
    most,
    last,
    seenLeftOut: 0,
    folders: 0,
    end: undefined,
  };
  if (!(await walk(walked, '', { now: [], earlier: [] }))) walked.end = walked.found.at(-1) ?? '';
  return walked;
}

/** False when there are more files than wanted. */
async function walk(walked: FolderWalk, below: string, outer: Outer): Promise<boolean> {
  const folder = path.join(walked.root, below);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  if (entries.length === 0 && below !== '') walked.empty.push(below);
  const own = entries.some((entry) => entry.name === '.gitignore' && entry.isFile()) ? await rulesIn(folder) : undefined;
  if (own) walked.rules.set(folder, own);
  const atBegin = walked.begin?.rules.get(folder);
  const rules: Outer = {
    ...outer,
    now: own ? [...outer.now, { below, rules: own }] : outer.now,
    earlier: atBegin ? [...outer.earlier, { below, rules: atBegin }] : outer.earlier,
  };
  // By the present rules or by those of when the turn began: the agent may have changed them.
  const isOut = (name: string, directory: boolean) =>
    rules.isLeftOut || isIgnored(rules.now, name, directory) || isIgnored(rules.earlier, name, directory);
  walked.folders += 1;
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (walked.last !== undefined && isBehind(name, walked.last)) return false;
    if (entry.isDirectory()) {
      if (RECORDS.has(entry.name)) continue;
      const isLeftOut = PACKAGES.has(entry.name) || isOut(name, true);
      if (isLeftOut && !rules.isLeftOut) await leaveOut(walked, name);
      if (isLeftOut && !wasWatchedBelow(walked, name)) continue;
      if (!(await walk(walked, name, { ...rules, isLeftOut }))) return false;
    } else if (entry.isFile() || entry.isSymbolicLink()) {
      if (isOut(name, false) && !wasWatched(walked, name)) {
        if (!rules.isLeftOut && entry.isFile()) await leaveOutFile(walked, name);
        continue;
      }
      if (isFull(walked)) return false;
      walked.found.push(name);
      if (entry.isSymbolicLink()) await leaveOutLink(walked, name);
    }
  }
  return true;
}

function wasWatched({ begin }: FolderWalk, name: string): boolean {
  return begin?.files.has(begin.prefix + name) === true;
}

function wasWatchedBelow({ begin }: FolderWalk, folder: string): boolean {
  return begin?.folders.has(begin.prefix + folder) === true;
}

/** All folders on the way to these. */
export function foldersOfFiles(names: Iterable<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const name of names)
    for (let at = name.lastIndexOf('/'); at > 0 && !folders.has(name.slice(0, at)); at = name.lastIndexOf('/', at - 1))
      folders.add(name.slice(0, at));
  return folders;
}

/** A walk that knows its end may find as many new files again. */
function isFull({ found, folders, most, last }: FolderWalk): boolean {
  return found.length >= (last === undefined ? most : 2 * most) || folders > most;
}

/** In the order of a walk. */
function isBehind(name: string, last: string): boolean {
  const [path, end] = [name.split('/'), last.split('/')];
  const at = path.findIndex((part, index) => part !== end[index]);
  return at >= 0 && at < end.length && (path[at] ?? '') > (end[at] ?? '');
}

async function leaveOut(walked: FolderWalk, name: string): Promise<void> {
  const { root, leftOut } = walked;
  const at = leftOut.size < MOST_LEFT_OUT ? await changedAt(path.join(root, name)) : undefined;
  if (at !== undefined) leftOut.set(name, PACKAGES.has(path.posix.basename(name)) ? at : await newestIn(walked, path.join(root, name), at));
}

/** When something in a folder that is left out was last made, removed or rewritten, among the first that are looked at. */
async function newestIn(walked: FolderWalk, folder: string, at: number): Promise<number> {
  let newest = at;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    if (walked.seenLeftOut >= MOST_IGNORED_FILES) return newest;
    if (!entry.isFile() && !entry.isDirectory()) continue;
    walked.seenLeftOut += 1;
    const place = path.join(folder, entry.name);
    const own = (await changedAt(place)) ?? 0;
    newest = Math.max(newest, entry.isDirectory() && !PACKAGES.has(entry.name) ? await newestIn(walked, place, own) : own);
  }
  return newest;
}

async function leaveOutFile({ root, ignoredFiles }: FolderWalk, name: string): Promise<void> {
  const at = ignoredFiles.size < MOST_IGNORED_FILES ? await changedAt(path.join(root, name)) : undefined;
  if (at !== undefined) ignoredFiles.set(name, at);
}

/** Notes where a link leads out of the folder. Targets inside are watched at their own paths. */
async function leaveOutLink({ root, leftOut }: FolderWalk, name: string): Promise<void> {
  if (leftOut.size >= MOST_LEFT_OUT) return;
  const link = path.join(root, name);
  const [target, inside] = await Promise.all([realpath(link).catch(() => undefined), realpath(root).catch(() => root)]);
  if (target === undefined || pathBelow(inside, target) !== undefined) return;
  const found = await stat(target).catch(() => undefined);
  if (found) leftOut.set(name, found.mtimeMs);
}

async function rulesIn(folder: string): Promise<IgnoreRules | undefined> {
  const read = await readRegular(path.join(folder, '.gitignore'), LARGEST_IGNORE).catch(() => undefined);
  return read && ignoreRules(read.bytes.toString('utf8'));
}

/** The rules nearest to a file have the last word. */
function isIgnored(rules: NestedRules, name: string, directory: boolean): boolean {
  for (const { below, rules: own } of rules.toReversed()) {
    const ignored = own(below === '' ? name : name.slice(below.length + 1), directory);
    if (ignored !== undefined) return ignored;
  }
  return false;
}

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

interface LineWeights {
  readonly file: Moving;
  /** Characters in all lines of one wording. */
  readonly lines: ReadonlyMap<string, number>;
  readonly size: number;
}

function weighed(file: Moving): readonly LineWeights[] {
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
function sharedBy(one: LineWeights, other: LineWeights): number {
  const larger = Math.max(one.size, other.size);
  if (larger === 0 || Math.min(one.size, other.size) < larger * LEAST_ALIKE) return 0;
  let shared = 0;
  for (const [line, size] of one.lines) shared += Math.min(size, other.lines.get(line) ?? 0);
  return shared / larger;
}
