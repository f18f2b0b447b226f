import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { keptNames } from '../../base/fileName.ts';
import { parseJson } from '../../base/json.ts';
import { Lines } from '../../transport/lines.ts';
import type { Past } from '../adapter.ts';
import { platform } from '../paths.ts';
import { fromUserInput } from './codec.ts';
import { events, recordLine } from './schema.ts';

/** How much of a recording is read to find its first prompt. */
const HEAD_BYTES = 256 * 1024;
const MOST = 200;
/** Where servers keep their data, by the name they give; the others are Kimi CLI under its changing names. */
const HOMES: Readonly<Record<string, string>> = { 'parley-agent': '.parley' };
const TITLE_LENGTH = 80;
const stateFile = z.object({ custom_title: z.nullish(z.string()), title: z.nullish(z.string()) });

/**
 * Earlier sessions of a working directory, newest first, read from where the agent keeps them (wire.md §11). Read-only; a layout that is not
 * there, or not as expected, is an empty list.
 */
export async function pastSessions(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  server = '',
  system = platform,
): Promise<readonly Past[]> {
  const share = env.KIMI_SHARE_DIR?.trim() || join(homedir(), HOMES[server] ?? '.kimi');
  const folders = keptNames(cwd, system).map((name) => join(share, 'sessions', createHash('md5').update(name).digest('hex')));
  const dated = await Promise.all(folders.map(sessionsIn));
  const newest = dated.flat().sort((a, b) => b.at - a.at);
  const found = await Promise.all(
    newest.slice(0, MOST).map(async ({ folder, key, at }): Promise<Past | undefined> => {
      const title = (await givenTitle(folder)) ?? (await firstPrompt(join(folder, 'wire.jsonl')));
      return title === undefined ? undefined : { key, title: title.slice(0, TITLE_LENGTH), at };
    }),
  );
  return found.filter((past) => past !== undefined);
}

interface Dated {
  readonly folder: string;
  readonly key: string;
  readonly at: number;
}

async function sessionsIn(folder: string): Promise<readonly Dated[]> {
  const keys = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    keys.map(async (key) => ({ folder: join(folder, key), key, at: await changedAt(join(folder, key, 'wire.jsonl')) })),
  );
  return found.filter((one): one is Dated => one.at !== undefined);
}

async function changedAt(file: string): Promise<number | undefined> {
  return stat(file).then(
    (found) => Math.round(found.mtimeMs),
    () => undefined,
  );
}

async function givenTitle(folder: string): Promise<string | undefined> {
  try {
    const parsed = stateFile.safeParse(parseJson(await readFile(join(folder, 'state.json'), 'utf8')));
    return parsed.data?.custom_title || parsed.data?.title || undefined;
  } catch {
    return undefined;
  }
}

/** The text of the first prompt; undefined if there is none yet. */
async function firstPrompt(file: string): Promise<string | undefined> {
  let found: string | undefined;
  const lines = new Lines((line) => {
    found ??= promptIn(line);
  });
  try {
    for await (const chunk of createReadStream(file, { end: HEAD_BYTES - 1 })) {
      lines.push(chunk as Buffer);
      if (found !== undefined) break;
    }
    return found;
  } catch {
    return undefined;
  }
}

function promptIn(line: string): string | undefined {
  if (!line.includes('TurnBegin')) return undefined;
  try {
    const record = recordLine.safeParse(parseJson(line));
    if (!record.success || record.data.message.type !== 'TurnBegin') return undefined;
    const begun = events.TurnBegin.safeParse(record.data.message.payload);
    const text = begun.success ? fromUserInput(begun.data.user_input).find((content) => content.type === 'text') : undefined;
    return text?.type === 'text' ? text.text.trim().split('\n', 1)[0] : '(no text)';
  } catch {
    return undefined;
  }
}
