import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isBinary } from '../workspace/textFile.ts';
import { walk } from '../workspace/walk.ts';
import { matcher } from './glob.ts';
import type { Hit, Hits, Search } from './search.ts';
import { ToolFailure } from './tool.ts';

const LARGEST = 5 * 1024 * 1024;
/** A line longer than this is not searched whole, so that a greedy pattern cannot hold everything up. */
const LONGEST_LINE = 20_000;

/** The search where there is no ripgrep: the same answers, slower. */
export async function searchBuiltIn(search: Search, signal: AbortSignal): Promise<Hits> {
  const fits = expression(search);
  const info = await stat(search.target).catch(() => undefined);
  if (!info) throw new ToolFailure(`${search.target} does not exist.`);
  const hits: Hit[] = [];
  for await (const file of filesOf(search, info.isDirectory(), signal)) {
    signal.throwIfAborted();
    for (const hit of await searchFile(file, fits)) {
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
    if (!entry.directory && wanted(entry.relative)) yield path.join(search.target, entry.relative);
  }
}

async function searchFile(file: string, fits: RegExp): Promise<readonly Hit[]> {
  try {
    const info = await stat(file);
    if (!info.isFile() || info.size > LARGEST) return [];
    const bytes = await readFile(file);
    if (isBinary(bytes)) return [];
    const hits: Hit[] = [];
    for (const [at, line] of bytes.toString('utf8').split('\n').entries()) {
      if (fits.test(line.slice(0, LONGEST_LINE))) hits.push({ path: file, line: at + 1, text: line });
    }
    return hits;
  } catch {
    return [];
  }
}

function expression(search: Search): RegExp {
  const source = search.literal ? search.pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&') : search.pattern;
  const flags = search.ignoreCase ? 'i' : '';
  try {
    return new RegExp(source, search.literal ? flags : `${flags}u`);
  } catch {
    return new RegExp(source, flags);
  }
}
