import { spawn } from 'node:child_process';
import { lstat, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as afterOthers } from 'node:timers/promises';
import * as z from 'zod/mini';
import { searchGlob } from '../../base/glob.ts';
import { type IgnoreRules, ignoreRules } from '../../base/ignoreRules.ts';
import { Lines } from '../../transport/lines.ts';
import { programOf } from '../../transport/programFile.ts';
import { isNoFile, openReal, readRealNow } from '../../transport/realFiles.ts';
import { insideOnly, shortPath, type Workspace } from '../workspace/paths.ts';
import { isBinary } from '../workspace/textFile.ts';
import { noSuchFile, permitRead } from './files.ts';
import { type LinearPattern, linearPattern } from './patterns.ts';
import { defineTool, done, type ToolFailure, toldFailure } from './tool.ts';

const MOST_ENTRIES = 500;

export const listDirectoryTool = defineTool({
  name: 'ListDirectory',
  description:
    'List the entries of one folder: folders end in /, files come with their size in bytes. What git ignores is left out unless asked for.',
  reads: true,
  input: z.object({
    path: z.optional(
      z.string().check(z.describe('The folder, relative to the working directory or absolute. Default: the working directory.')),
    ),
    include_ignored: z.optional(z.boolean().check(z.describe('Also list what git ignores.'))),
  }),
  run: async (input, context) => {
    const place = await permitRead(context, input.path ?? '.');
    const name = shortPath(context.workspace, place.path);
    const hidden = input.include_ignored ? () => false : ignoredIn(place.real);
    let entries: readonly { readonly name: string; readonly directory: boolean; readonly size: number }[];
    try {
      const found = await readdir(place.real, { withFileTypes: true });
      entries = await Promise.all(found.map((entry) => describe(context.workspace, place.real, entry.name)));
    } catch (error) {
      const info = await stat(place.real).catch(() => undefined);
      if (!info) throw noSuchFile(name);
      if (!info.isDirectory()) throw toldFailure(`${name} is a file. Use ReadFile.`, `${name} 是文件。`);
      throw error;
    }
    const visible = entries.filter((entry) => !hidden(entry.name, entry.directory));
    visible.sort((a, b) => Number(b.directory) - Number(a.directory) || (a.name < b.name ? -1 : 1));
    const lines = visible.slice(0, MOST_ENTRIES).map((entry) => (entry.directory ? `${entry.name}/` : `${entry.name}  ${entry.size}`));
    const left = entries.length - visible.length;
    const cut = visible.length > MOST_ENTRIES ? ` The first ${MOST_ENTRIES} are listed.` : '';
    return done(
      lines.join('\n'),
      `${visible.length} entries in ${name === '.' ? 'the working directory' : name}${left > 0 ? ` (${left} ignored)` : ''}.${cut}`,
    );
  },
});

/** Lists a link that leads out of the workspace without its target. */
async function describe(workspace: Workspace, folder: string, name: string): Promise<{ name: string; directory: boolean; size: number }> {
  const file = path.join(folder, name);
  try {
    const own = await lstat(file);
    const info = own.isSymbolicLink() && (await insideOnly(workspace, file)) ? await stat(file) : own;
    return { name, directory: info.isDirectory(), size: info.size };
  } catch {
    return { name, directory: false, size: 0 };
  }
}

const MOST_PATHS = 1000;

export const globTool = defineTool({
  name: 'Glob',
  description:
    'Find files by a glob pattern such as src/**/*.ts. A pattern without a slash matches names at any depth. What git ignores is left out.',
  reads: true,
  input: z.object({
    pattern: z.string().check(z.minLength(1), z.maxLength(1000), z.describe('The glob pattern.')),
    directory: z.optional(z.string().check(z.describe('Where to start. Default: the working directory.'))),
    include_dirs: z.optional(z.boolean().check(z.describe('Also match folders. Default: false.'))),
  }),
  run: async (input, context) => {
    const place = await permitRead(context, input.directory ?? '.');
    const matches = matcher(input.pattern);
    const found: string[] = [];
    let more = 0;
    for await (const entry of walk(place.real, context.signal)) {
      if ((entry.directory && !input.include_dirs) || !matches(entry.relative)) continue;
      if (found.length < MOST_PATHS) found.push(entry.directory ? `${entry.relative}/` : entry.relative);
      else more += 1;
    }
    const name = shortPath(context.workspace, place.path);
    const shown = name === '.' ? found : found.map((relative) => `${name}/${relative}`);
    const rest = more > 0 ? ` The first ${MOST_PATHS} are listed; use a narrower pattern.` : '';
    return done(
      shown.join('\n'),
      `${found.length + more} matches for ${input.pattern} in ${name === '.' ? 'the working directory' : name}.${rest}`,
    );
  },
});

/** Whether a relative path fits a glob; like .gitignore, a pattern without a slash fits names at any depth. */
function matcher(pattern: string): (relative: string) => boolean {
  try {
    const matches = searchGlob(pattern.replace(/^\.\//, ''));
    return pattern.includes('/') ? matches : (relative) => matches(relative.slice(relative.lastIndexOf('/') + 1));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw toldFailure(`Not a usable pattern: ${why}`, `无法使用的模式：${why}`);
  }
}

const MAX_TEXT = 300;

/** The tool with a search of its own. */
export const grepToolOf = (searched: (search: ContentSearch, signal: AbortSignal) => Promise<Hits>) =>
  defineTool({
    name: 'Grep',
    description:
      'Search file contents with a regular expression (RE2 syntax: no look-around, no back references) or literal text. What git ignores and binary files are left out. Gives path:line:text.',
    reads: true,
    input: z.object({
      pattern: z
        .string()
        .check(z.minLength(1), z.maxLength(2000), z.describe('Regular expression, or the text itself when literal is true.')),
      path: z.optional(z.string().check(z.describe('File or folder to search. Default: the working directory.'))),
      glob: z.optional(z.string().check(z.describe('Only files that match this glob, for example *.ts.'))),
      ignore_case: z.optional(z.boolean()),
      literal: z.optional(z.boolean().check(z.describe('Take the pattern as plain text.'))),
      max_results: z.optional(z.int().check(z.minimum(1), z.maximum(1000), z.describe('Default: 200.'))),
    }),
    run: async (input, context) => {
      const place = await permitRead(context, input.path ?? '.');
      const search: ContentSearch = {
        pattern: input.pattern,
        literal: input.literal ?? false,
        ignoreCase: input.ignore_case ?? false,
        glob: input.glob,
        target: place.real,
        most: input.max_results ?? 200,
      };
      const { hits, more, unsearched } = await searched(search, context.signal);
      const [first] = unsearched;
      const name = shortPath(context.workspace, place.path);
      if (first?.path === place.real) throw toldFailure(`${name} could not be read: ${first.why}`, `无法读取 ${name}：${first.why}`);
      // Shows hits under the requested path instead of the real one.
      const named = (path: string): string => shortPath(context.workspace, place.path + path.slice(place.real.length));
      const lines = hits.map((hit) => `${named(hit.path)}:${hit.line}:${cut(hit.text)}`);
      const files = new Set(hits.map((hit) => hit.path)).size;
      const rest = more ? ` There are more; the first ${search.most} are listed.` : '';
      const found = hits.length === 0 ? 'No matches.' : `${hits.length} matches in ${files} files.${rest}`;
      return done(
        lines.join('\n'),
        found +
          notSearched(
            unsearched.map((one) => named(one.path)),
            first?.why,
          ),
      );
    },
  });

export const grepTool = grepToolOf(async (search, signal) => (await searchRipgrep(search, signal)) ?? searchBuiltIn(search, signal));

const MOST_NAMED = 5;

/** A sentence about files that were not searched, '' when there are none. No match in them was seen, which does not mean that there is none. */
function notSearched(names: readonly string[], why = ''): string {
  if (names.length === 0) return '';
  const rest = names.length > MOST_NAMED ? ', ...' : '';
  return ` Could not be read and were not searched: ${names.slice(0, MOST_NAMED).join(', ')}${rest} (${why}).`;
}

function cut(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\n' || text[end - 1] === '\r') end -= 1;
  const flat = text.slice(0, end);
  return flat.length > MAX_TEXT ? `${flat.slice(0, MAX_TEXT)}...` : flat;
}

const LARGEST = 5 * 1024 * 1024;
/** A line longer than this is not searched whole. */
const LONGEST_LINE = 20_000;
/** Characters that are searched before others get their turn. */
const AT_A_TIME = 256 * 1024;

/** The search where there is no ripgrep: the same answers, slower. */
export async function searchBuiltIn(search: ContentSearch, signal: AbortSignal, open = openReal): Promise<Hits> {
  const fits = await expression(search);
  const info = await stat(search.target).catch(() => undefined);
  if (!info) throw noSuchFile(search.target);
  const hits: Hit[] = [];
  const unsearched: UnsearchedFile[] = [];
  for await (const file of filesOf(search, info.isDirectory(), signal)) {
    signal.throwIfAborted();
    const text = await textOf(file, open).catch((error: unknown) => {
      if (!(info.isDirectory() && isNoFile(error)))
        unsearched.push({ path: file, why: error instanceof Error ? error.message : String(error) });
      return undefined;
    });
    for (const hit of await searchText(file, text ?? '', fits, signal)) {
      if (hits.length === search.most) return { hits, more: true, unsearched };
      hits.push(hit);
    }
  }
  return { hits, more: false, unsearched };
}

async function* filesOf(search: ContentSearch, folder: boolean, signal: AbortSignal): AsyncGenerator<string> {
  if (!folder) {
    yield search.target;
    return;
  }
  const wanted = search.glob === undefined ? () => true : matcher(search.glob);
  for await (const entry of walk(search.target, signal)) {
    if (!entry.directory && !entry.link && wanted(entry.relative)) yield path.join(search.target, entry.relative);
  }
}

async function searchText(file: string, text: string, { fits, longest }: LinearPattern, signal: AbortSignal): Promise<readonly Hit[]> {
  const hits: Hit[] = [];
  let searched = 0;
  for (const [at, line] of text.split('\n').entries()) {
    if (fits(line.slice(0, longest))) hits.push({ path: file, line: at + 1, text: line });
    searched += Math.min(line.length, longest);
    // A pattern that reads less of a line takes longer for it.
    if (searched * LONGEST_LINE < AT_A_TIME * longest) continue;
    searched = 0;
    await afterOthers();
    signal.throwIfAborted();
  }
  return hits;
}

/** The text of a regular file; undefined for anything else. A link that has taken its place is not followed. Rejects when it cannot be read. */
async function textOf(file: string, open: typeof openReal): Promise<string | undefined> {
  const handle = await open(file);
  try {
    const info = await handle.stat();
    if (!info.isFile()) return undefined;
    if (info.size > LARGEST) throw new Error(`larger than ${LARGEST} bytes`);
    const bytes = await handle.readFile();
    return isBinary(bytes) ? undefined : bytes.toString('utf8');
  } finally {
    await handle.close();
  }
}

function unusable(why: string): ToolFailure {
  return toldFailure(`Not a usable regular expression: ${why}. Set literal for plain text.`, `无法使用的正则表达式：${why}。`);
}

/** RE2 takes linear time whatever the pattern, and knows what ripgrep knows. Throws ToolFailure for what it does not. */
async function expression({ pattern, literal, ignoreCase }: ContentSearch): Promise<LinearPattern> {
  if (literal && !ignoreCase) return { fits: (line) => line.includes(pattern), longest: LONGEST_LINE };
  try {
    return await linearPattern(pattern, { literal, ignoreCase, longest: LONGEST_LINE });
  } catch (error) {
    throw unusable(error instanceof Error ? error.message : String(error));
  }
}

const match = z.object({
  type: z.literal('match'),
  data: z.object({
    path: z.object({ text: z.string() }),
    lines: z.object({ text: z.string() }),
    line_number: z.number(),
  }),
});

/** `rg` did not start. */
let missing = false;

/** The search by ripgrep; undefined when there is none on the PATH. */
function searchRipgrep(search: ContentSearch, signal: AbortSignal): Promise<Hits | undefined> {
  const program = ripgrep();
  if (missing || program === undefined) return Promise.resolve(undefined);
  const args = ['--json', '--hidden', '--glob', '!.git', '--glob', '!node_modules', '--sort', 'path', '--no-config'];
  if (isIgnoredFromAbove(search.target)) args.push('--no-ignore-parent');
  if (search.literal) args.push('--fixed-strings');
  if (search.ignoreCase) args.push('--ignore-case');
  if (search.glob !== undefined) args.push('--glob', search.glob);
  args.push('--regexp', search.pattern, '--', search.target);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    const hits: Hit[] = [];
    let more = false;
    let stderr = '';
    const lines = new Lines((line) => {
      const hit = hitOf(line);
      if (!hit || more) return;
      if (hits.length < search.most) hits.push(hit);
      else {
        more = true;
        child.kill();
      }
    });
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < 20_000) stderr += chunk.toString('utf8');
    });
    child.on('error', (error) => {
      if (signal.aborted) reject(error);
      else {
        missing = true;
        resolve(undefined);
      }
    });
    child.on('close', (code) => {
      const why = stderr.trim().slice(0, 500);
      const unsearched = unsearchedIn(stderr);
      if (code === 2 && hits.length === 0 && !more && unsearched.length === 0)
        reject(why.includes('regex parse error') ? unusable(why) : toldFailure(`The search failed: ${why}`, `搜索失败：${why}`));
      else resolve({ hits, more, unsearched });
    });
  });
}

/** Matches ripgrep's messages about files that it could not read: `rg: /a/b: Permission denied (os error 13)`. */
export function unsearchedIn(stderr: string): readonly UnsearchedFile[] {
  return stderr.split(/\r?\n/).flatMap((line) => {
    if (!/^rg: .*\(os error \d+\)$/.test(line)) return [];
    const end = line.lastIndexOf(': ');
    return end < 4 ? [] : [{ path: line.slice(4, end), why: line.slice(end + 2) }];
  });
}

function hitOf(line: string): Hit | undefined {
  try {
    const parsed = match.safeParse(JSON.parse(line));
    if (!parsed.success) return undefined;
    const { path, lines, line_number } = parsed.data.data;
    return { path: path.text, line: line_number, text: lines.text };
  } catch {
    return undefined;
  }
}

/** A search in file contents. */
export interface ContentSearch {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  readonly glob: string | undefined;
  /** Absolute: a folder or a file. */
  readonly target: string;
  readonly most: number;
}
/** `line` from 1. Paths are absolute. */
interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}
/** A file that was not searched. */
interface UnsearchedFile {
  readonly path: string;
  readonly why: string;
}
interface Hits {
  readonly hits: readonly Hit[];
  readonly more: boolean;
  readonly unsearched: readonly UnsearchedFile[];
}

/** Ripgrep on the PATH, never one of the working folder. */
function ripgrep(): string | undefined {
  try {
    return programOf('rg', process.env);
  } catch {
    return undefined;
  }
}

// --- the walk through a folder

interface Found {
  /** Absolute. */
  readonly path: string;
  /** Relative to the start, forward slashes. */
  readonly relative: string;
  readonly directory: boolean;
  /** A link: it is listed, and nothing follows it. */
  readonly link: boolean;
}

/** Never searched, whatever .gitignore holds. */
const ALWAYS = new Set(['.git', '.hg', '.svn', 'node_modules', '.DS_Store', '__pycache__', '.venv']);

interface FolderRules {
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

async function* walkFolder(start: string, folder: string, above: readonly FolderRules[], signal: AbortSignal): AsyncGenerator<Found> {
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
function ignoredIn(folder: string): (name: string, directory: boolean) => boolean {
  const rules = [...rulesAbove(folder), ...rulesOf(folder)];
  return (name, directory) => ALWAYS.has(name) || isIgnored(rules, path.join(folder, name), directory);
}

function isIgnored(rules: readonly FolderRules[], full: string, directory: boolean): boolean {
  let ignored = false;
  for (const { base, rules: own } of rules) {
    const relative = path.relative(base, full).split(path.sep).join('/');
    if (relative === '' || relative.startsWith('..')) continue;
    ignored = own(relative, directory) ?? ignored;
  }
  return ignored;
}

/** The rules above a folder, without those that would ignore the folder itself: who starts there wants to see what is in it. */
function rulesAbove(start: string): readonly FolderRules[] {
  const rules = rulesOfParents(start);
  return isIgnored(rules, start, true) ? [] : rules;
}

/** Whether a repository around a folder ignores it, as one in the home does that keeps settings alone. */
function isIgnoredFromAbove(folder: string): boolean {
  return isIgnored(rulesOfParents(folder), folder, true);
}

function rulesOfParents(start: string): readonly FolderRules[] {
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
function rulesOf(folder: string): readonly FolderRules[] {
  const text = readRealNow(path.join(folder, '.gitignore'), LARGEST_RULES);
  return text === undefined ? [] : [{ base: folder, rules: ignoreRules(text) }];
}
const LARGEST_RULES = 256 * 1024;

async function list(folder: string) {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  } catch {
    return [];
  }
}
