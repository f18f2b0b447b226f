import { constants } from 'node:fs';
import { lstat, open, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type IgnoreRules, ignoreRules } from '../../base/ignoreRules.ts';
import { messageOf } from '../../base/log.ts';
import type { ContentStore } from './contentStore.ts';
import { type Folders, prefixOf } from './folders.ts';

export interface FileState {
  readonly content: string;
  /** Changes whenever the file is written. */
  readonly stamp: string;
}
/** By their names (`nameOf`). */
export type Files = ReadonlyMap<string, FileState>;
export interface Scan {
  readonly folders: Folders;
  /** Single files are put in as they are looked at again. */
  readonly files: Map<string, FileState>;
  /** Not all of the folder was read: it holds more files or bytes than are kept. */
  readonly partial: boolean;
  /** Why contents could not be stored: the disk is full, for example. */
  readonly trouble?: string;
  /** Folders that are left out by their names, and when their entries last changed. */
  readonly leftOut: ReadonlyMap<string, number>;
}
/** Before anything was read. */
export function emptyScan(folders: Folders): Scan {
  return { folders, files: new Map(), partial: false, leftOut: new Map() };
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

/** Records of version control: a list of changed files says nothing of them. */
const RECORDS = new Set(['.git', '.hg', '.svn']);
/** No .gitignore needs to name these. */
const PACKAGES = new Set(['node_modules', '__pycache__', '.venv']);
const MOST_LEFT_OUT = 100;
const AT_ONCE = 8;

/** The content of a file that is not in the store stands for the file at that time and equals no other. */
export function isKept(content: string): boolean {
  return !content.startsWith('unkept ');
}

/** What stays of a content when its file is moved; of one that is not kept, number, size and time of the file. */
export function movedKey(content: string): string {
  const [, written, place] = /^unkept (\S+) \S+ (\d+ \d+)$/.exec(content) ?? [];
  return place === undefined ? content : `${written} ${place}`;
}

/**
 * The files of the folders as they are now, their contents in the store; files unchanged since `before` are not read again. Links are not followed,
 * and files that .gitignore names are left out.
 */
export async function scanFolders(folders: Folders, store: ContentStore, before: Files, limits: ScanLimits = usualLimits): Promise<Scan> {
  const scans: Omit<Scan, 'folders'>[] = [];
  for (const root of [folders.root, ...folders.others]) scans.push(await scanFolder(root, prefixOf(folders, root), store, before, limits));
  const trouble = scans.find((scan) => scan.trouble !== undefined)?.trouble;
  return {
    folders,
    files: new Map(scans.flatMap(({ files }) => [...files])),
    partial: scans.some(({ partial }) => partial),
    leftOut: new Map(scans.flatMap(({ leftOut }) => [...leftOut])),
    ...(trouble === undefined ? {} : { trouble }),
  };
}

async function scanFolder(
  root: string,
  prefix: string,
  store: ContentStore,
  before: Files,
  limits: ScanLimits,
): Promise<Omit<Scan, 'folders'>> {
  const walked: Walked = { root, found: [], leftOut: new Map(), most: limits.files };
  const complete = await walk(walked, '', []);
  const states = new Map<string, FileState>();
  let left = limits.totalBytes;
  let trouble: string | undefined;
  const queue = walked.found.values();
  const work = async () => {
    for (const below of queue) {
      const name = prefix + below;
      const state = await stateOf(path.join(root, below), store, before.get(name), Math.min(limits.fileBytes, left));
      if (!state) continue;
      if (state.stamp !== before.get(name)?.stamp) left -= state.size;
      trouble ??= state.trouble;
      states.set(name, { content: state.content, stamp: state.stamp });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  // In one order, whichever was read first and however the system lists them.
  const files = new Map([...states].sort(([one], [other]) => (one < other ? -1 : 1)));
  const leftOut = new Map([...walked.leftOut].map(([below, at]) => [prefix + below, at]));
  return { files, partial: !complete || left <= 0, leftOut, ...(trouble === undefined ? {} : { trouble }) };
}

interface StateNow extends FileState {
  readonly size: number;
  readonly trouble?: string;
}

/** undefined when there is no regular file of that name. Never rejects. */
export async function stateOf(
  file: string,
  store: ContentStore,
  known: FileState | undefined,
  mostBytes = usualLimits.fileBytes,
): Promise<StateNow | undefined> {
  try {
    const found = await lstat(file);
    if (!found.isFile()) return undefined;
    const { mtimeMs, ctimeMs, ino, size } = found;
    const stamp = `${mtimeMs} ${ctimeMs} ${ino} ${size}`;
    if (known?.stamp === stamp) return { ...known, size };
    if (size > mostBytes) return { content: `unkept ${stamp}`, stamp, size };
    const bytes = await readRegular(file);
    return await store.put(bytes).then(
      (content) => ({ content, stamp, size }),
      // The stamp is left out: the next scan tries again.
      (error: unknown) => ({ content: `unkept ${stamp}`, stamp: '', size, trouble: messageOf(error) }),
    );
  } catch (error) {
    if (isGone(error)) return undefined;
    // The file exists and cannot be read.
    return { content: 'unkept unreadable', stamp: 'unreadable', size: 0 };
  }
}

async function readRegular(file: string): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

type Rules = readonly { readonly below: string; readonly rules: IgnoreRules }[];
interface Walked {
  readonly root: string;
  readonly found: string[];
  readonly leftOut: Map<string, number>;
  readonly most: number;
}

/** False when there are more files than wanted. */
async function walk(walked: Walked, below: string, outer: Rules): Promise<boolean> {
  const folder = path.join(walked.root, below);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const own = entries.some((entry) => entry.name === '.gitignore' && entry.isFile()) ? await rulesIn(folder) : undefined;
  const rules = own ? [...outer, { below, rules: own }] : outer;
  for (const entry of entries) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (RECORDS.has(entry.name)) continue;
      if (PACKAGES.has(entry.name) || isIgnored(rules, name, true)) await leaveOut(walked, name);
      else if (!(await walk(walked, name, rules))) return false;
    } else if (entry.isFile() && !isIgnored(rules, name, false)) {
      if (walked.found.length >= walked.most) return false;
      walked.found.push(name);
    }
  }
  return true;
}

async function leaveOut({ root, leftOut }: Walked, name: string): Promise<void> {
  if (leftOut.size >= MOST_LEFT_OUT) return;
  const found = await lstat(path.join(root, name)).catch(() => undefined);
  if (found) leftOut.set(name, found.mtimeMs);
}

async function rulesIn(folder: string): Promise<IgnoreRules | undefined> {
  const text = await readFile(path.join(folder, '.gitignore'), 'utf8').catch(() => '');
  return text.length > 256 * 1024 ? undefined : ignoreRules(text);
}

/** The rules nearest to a file have the last word. */
function isIgnored(rules: Rules, name: string, directory: boolean): boolean {
  for (const { below, rules: own } of rules.toReversed()) {
    const ignored = own(below === '' ? name : name.slice(below.length + 1), directory);
    if (ignored !== undefined) return ignored;
  }
  return false;
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
