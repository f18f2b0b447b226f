import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type IgnoreRules, ignoreRules } from '../../base/ignoreRules.ts';
import { readRealNow } from '../../transport/realFiles.ts';

export interface Found {
  /** Absolute. */
  readonly path: string;
  /** Relative to the start, forward slashes. */
  readonly relative: string;
  readonly directory: boolean;
  /** A link: it is listed, and nothing follows it. */
  readonly link: boolean;
}

/** Never of interest, whatever .gitignore says. */
const ALWAYS = new Set(['.git', '.hg', '.svn', 'node_modules', '.DS_Store', '__pycache__', '.venv']);

interface Rules {
  readonly base: string;
  readonly rules: IgnoreRules;
}

/**
 * Everything below a folder that git would not ignore, folders before what is in them, by name. Links are listed and not followed, so the walk
 * ends and stays inside. .gitignore files above the start count up to the repository's root, unless they ignore the start itself.
 */
export async function* walk(start: string, signal: AbortSignal): AsyncGenerator<Found> {
  yield* walkFolder(start, start, rulesAbove(start), signal);
}

async function* walkFolder(start: string, folder: string, above: readonly Rules[], signal: AbortSignal): AsyncGenerator<Found> {
  signal.throwIfAborted();
  const entries = await list(folder);
  const rules = entries.some((entry) => entry.name === '.gitignore') ? [...above, ...rulesOf(folder)] : above;
  for (const entry of entries) {
    if (ALWAYS.has(entry.name)) continue;
    const full = path.join(folder, entry.name);
    const directory = entry.isDirectory();
    if (isIgnored(rules, full, directory)) continue;
    yield { path: full, relative: path.relative(start, full).split(path.sep).join('/'), directory, link: entry.isSymbolicLink() };
    if (directory) yield* walkFolder(start, full, rules, signal);
  }
}

/** Whether git would ignore one entry of a folder; for listings of one level. */
export function ignoredIn(folder: string): (name: string, directory: boolean) => boolean {
  const rules = [...rulesAbove(folder), ...rulesOf(folder)];
  return (name, directory) => ALWAYS.has(name) || isIgnored(rules, path.join(folder, name), directory);
}

function isIgnored(rules: readonly Rules[], full: string, directory: boolean): boolean {
  let ignored = false;
  for (const { base, rules: own } of rules) {
    const relative = path.relative(base, full).split(path.sep).join('/');
    if (relative === '' || relative.startsWith('..')) continue;
    ignored = own(relative, directory) ?? ignored;
  }
  return ignored;
}

/** The rules above a folder, without those that would ignore the folder itself: who starts there wants to see what is in it. */
function rulesAbove(start: string): readonly Rules[] {
  const rules = rulesOfParents(start);
  return isIgnored(rules, start, true) ? [] : rules;
}

/** Whether a repository around a folder ignores it, as one in the home does that keeps settings alone. */
export function isIgnoredFromAbove(folder: string): boolean {
  return isIgnored(rulesOfParents(folder), folder, true);
}

function rulesOfParents(start: string): readonly Rules[] {
  const chain: string[] = [];
  for (let at = path.dirname(start), last = start; ; last = at, at = path.dirname(at)) {
    if (isRepository(last) || at === last) break;
    chain.unshift(at);
    if (isRepository(at)) break;
  }
  return chain.some(isRepository) ? chain.flatMap(rulesOf) : [];
}

function isRepository(folder: string): boolean {
  return readRealNow(path.join(folder, '.git', 'HEAD'), 1) !== undefined;
}

/** The .gitignore of a folder; git does not follow a link there either. */
function rulesOf(folder: string): readonly Rules[] {
  const text = readRealNow(path.join(folder, '.gitignore'), LARGEST_RULES);
  return text === undefined ? [] : [{ base: folder, rules: ignoreRules(text) }];
}
const LARGEST_RULES = 256 * 1024;

async function list(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  } catch {
    return [];
  }
}
