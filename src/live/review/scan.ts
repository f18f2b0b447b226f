import { constants } from 'node:fs';
import { lstat, open, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type IgnoreRules, ignoreRules } from '../../base/ignoreRules.ts';
import type { ContentStore } from './contentStore.ts';

export interface FileState {
  /** Name of the content in the store; null when the file is too large to be kept. */
  readonly hash: string | null;
  /** Changes whenever the file is written. */
  readonly stamp: string;
}
/** Paths relative to the folder, with slashes. */
export type Files = ReadonlyMap<string, FileState>;
export interface Scan {
  readonly files: Files;
  /** Not all of the folder was read: it holds more files or bytes than are kept. */
  readonly partial: boolean;
}
export interface ScanLimits {
  readonly files: number;
  readonly fileBytes: number;
  /** New bytes that one scan reads. */
  readonly totalBytes: number;
}
export const usualLimits: ScanLimits = { files: 20_000, fileBytes: 8 * 1024 * 1024, totalBytes: 512 * 1024 * 1024 };

/** Nothing in them is an agent's work worth reviewing, whatever .gitignore says. */
const NEVER = new Set(['.git', '.hg', '.svn', 'node_modules', '__pycache__', '.venv']);
const AT_ONCE = 8;

/**
 * The files of a folder as they are now, their contents in the store; what has not changed since `before` is not read again. Links are not followed,
 * and what .gitignore files name is left out.
 */
export async function scanFolder(root: string, store: ContentStore, before: Files, limits: ScanLimits = usualLimits): Promise<Scan> {
  const found: string[] = [];
  const complete = await walk(root, '', [], found, limits.files);
  const files = new Map<string, FileState>();
  let left = limits.totalBytes;
  const queue = found.values();
  const work = async () => {
    for (const name of queue) {
      const state = await stateOf(path.join(root, name), store, before.get(name), Math.min(limits.fileBytes, left));
      if (state && state.stamp !== before.get(name)?.stamp) left -= state.size;
      if (state) files.set(name, { hash: state.hash, stamp: state.stamp });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { files, partial: !complete || left <= 0 };
}

/** undefined when there is no regular file of that name. */
export async function stateOf(
  file: string,
  store: ContentStore,
  known: FileState | undefined,
  mostBytes = usualLimits.fileBytes,
): Promise<(FileState & { readonly size: number }) | undefined> {
  try {
    const found = await lstat(file);
    if (!found.isFile()) return undefined;
    const { mtimeMs, ctimeMs, ino, size } = found;
    const stamp = `${mtimeMs} ${ctimeMs} ${ino} ${size}`;
    if (known?.stamp === stamp) return { ...known, size };
    if (size > mostBytes) return { hash: null, stamp, size };
    const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      return { hash: await store.put(await handle.readFile()), stamp, size };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isGone(error)) return undefined;
    // It is there and cannot be read.
    return { hash: null, stamp: 'unreadable', size: 0 };
  }
}

type Rules = readonly { readonly below: string; readonly rules: IgnoreRules }[];

/** False when there are more files than wanted. */
async function walk(root: string, below: string, outer: Rules, found: string[], most: number): Promise<boolean> {
  const entries = await readdir(path.join(root, below), { withFileTypes: true }).catch(() => []);
  const own = entries.some((entry) => entry.name === '.gitignore' && entry.isFile()) ? await rulesIn(path.join(root, below)) : undefined;
  const rules = own ? [...outer, { below, rules: own }] : outer;
  for (const entry of entries) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (NEVER.has(entry.name) || isIgnored(rules, name, true)) continue;
      if (!(await walk(root, name, rules, found, most))) return false;
    } else if (entry.isFile() && !isIgnored(rules, name, false)) {
      if (found.length >= most) return false;
      found.push(name);
    }
  }
  return true;
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
