import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { openReal } from '../../transport/realFiles.ts';
import { isBinary } from '../workspace/textFile.ts';
import { walk } from '../workspace/walk.ts';
import { matcher } from './glob.ts';
import type { Hit, Hits, Search } from './search.ts';
import { ToolFailure } from './tool.ts';

const LARGEST = 5 * 1024 * 1024;
/** A line longer than this is not searched whole. */
const LONGEST_LINE = 20_000;
/** Characters that are searched before others get their turn. */
const AT_A_TIME = 256 * 1024;

type Fits = (line: string) => boolean;

/** The search where there is no ripgrep: the same answers, slower. */
export async function searchBuiltIn(search: Search, signal: AbortSignal): Promise<Hits> {
  const fits = await expression(search);
  const info = await stat(search.target).catch(() => undefined);
  if (!info) throw new ToolFailure(`${search.target} does not exist.`);
  const hits: Hit[] = [];
  for await (const file of filesOf(search, info.isDirectory(), signal)) {
    signal.throwIfAborted();
    for (const hit of await searchFile(file, fits, signal)) {
      if (hits.length === search.most) return { hits, more: true };
      hits.push(hit);
    }
  }
  return { hits, more: false };
}

async function* filesOf(search: Search, folder: boolean, signal: AbortSignal): AsyncGenerator<string> {
  if (!folder) {
    yield search.target;
    return;
  }
  const wanted = search.glob === undefined ? () => true : matcher(search.glob);
  for await (const entry of walk(search.target, signal)) {
    if (!entry.directory && !entry.link && wanted(entry.relative)) yield path.join(search.target, entry.relative);
  }
}

async function searchFile(file: string, fits: Fits, signal: AbortSignal): Promise<readonly Hit[]> {
  const text = await textOf(file).catch(() => undefined);
  const hits: Hit[] = [];
  let searched = 0;
  for (const [at, line] of (text ?? '').split('\n').entries()) {
    if (fits(line.slice(0, LONGEST_LINE))) hits.push({ path: file, line: at + 1, text: line });
    searched += Math.min(line.length, LONGEST_LINE);
    if (searched < AT_A_TIME) continue;
    searched = 0;
    await afterOthers();
    signal.throwIfAborted();
  }
  return hits;
}

/** The text of a regular file; undefined for what is none. A link that has taken its place is not followed. */
async function textOf(file: string): Promise<string | undefined> {
  const handle = await openReal(file);
  try {
    const info = await handle.stat();
    if (!info.isFile() || info.size > LARGEST) return undefined;
    const bytes = await handle.readFile();
    return isBinary(bytes) ? undefined : bytes.toString('utf8');
  } finally {
    await handle.close();
  }
}

/** RE2 takes linear time whatever the pattern, and knows what ripgrep knows. Throws ToolFailure for what it does not. */
async function expression({ pattern, literal, ignoreCase }: Search): Promise<Fits> {
  if (literal && !ignoreCase) return (line) => line.includes(pattern);
  const { RE2JS } = await import('re2js');
  try {
    const source = literal ? RE2JS.quote(pattern) : RE2JS.translateRegExp(pattern);
    const compiled = RE2JS.compile(source, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => compiled.test(line);
  } catch (error) {
    throw new ToolFailure(
      `Not a usable regular expression: ${error instanceof Error ? error.message : String(error)}. Set literal for plain text.`,
    );
  }
}
