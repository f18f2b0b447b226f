import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Lines } from '../../../transport/lines.ts';
import type { Past } from '../../adapter.ts';
import { type Entry, entryIn } from './entry.ts';

/** How much of a file is read to find its first prompt, in bytes. */
const HEAD = 256 * 1024;
/** Bytes of one conversation that are read to show it. */
const LARGEST = 256 * 1024 * 1024;
const LARGEST_LINE = 16 * 1024 * 1024;
const MOST = 200;
const TITLE_LENGTH = 80;

/** The conversations in that folder, newest first. A folder that is not there, or files of another layout, are an empty list. */
export async function pastConversations(folder: string): Promise<readonly Past[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.jsonl'));
  const dated = await Promise.all(
    names.map(async (name) => ({
      file: path.join(folder, name),
      at: await stat(path.join(folder, name)).then(
        ({ mtimeMs }) => Math.round(mtimeMs),
        () => 0,
      ),
    })),
  );
  const newest = dated.sort((a, b) => b.at - a.at).slice(0, MOST);
  const found = await Promise.all(
    newest.map(async ({ file, at }): Promise<Past | undefined> => {
      const title = await firstPrompt(file);
      return title === undefined ? undefined : { key: path.basename(file, '.jsonl'), title, at };
    }),
  );
  return found.filter((past) => past !== undefined);
}

/** A kept conversation as it last stood: from the last thing said back to its beginning. Empty when it cannot be read. */
export async function conversationIn(folder: string, key: string): Promise<readonly Entry[]> {
  const file = fileOf(folder, key);
  if (file === undefined) return [];
  const all = new Map<string, Entry>();
  let last: Entry | undefined;
  await eachLine(file, LARGEST, (text) => {
    const entry = entryIn(text);
    if (!entry) return false;
    all.set(entry.id, entry);
    if (entry.said) last = entry;
    return false;
  });
  const said: Entry[] = [];
  for (let one = last; one; one = one.after === undefined ? undefined : all.get(one.after)) {
    all.delete(one.id);
    if (one.said) said.push(one);
  }
  return said.reverse();
}

async function firstPrompt(file: string): Promise<string | undefined> {
  let found: string | undefined;
  await eachLine(file, HEAD, (text) => {
    const said = entryIn(text)?.said;
    if (said?.who === 'person') found = said.text.split('\n', 1)[0]?.slice(0, TITLE_LENGTH);
    return found !== undefined;
  });
  return found;
}

/** Gives lines until one is enough. */
async function eachLine(file: string, bytes: number, enough: (line: string) => boolean): Promise<void> {
  let done = false;
  const take = (line: string) => {
    done ||= enough(line);
  };
  const lines = new Lines(take, { limit: LARGEST_LINE, onTooLong: () => {} });
  try {
    for await (const chunk of createReadStream(file, { end: bytes - 1 })) {
      lines.push(chunk as Buffer);
      if (done) return;
    }
    lines.end();
  } catch {
    // Not there, or not readable: there is nothing to show.
  }
}

/** A key is the name of a file, never a way to one. */
function fileOf(folder: string, key: string): string | undefined {
  return /^[\w-]{1,100}$/.test(key) ? path.join(folder, `${key}.jsonl`) : undefined;
}
