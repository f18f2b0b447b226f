import { readFile } from 'node:fs/promises';
import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { Replay } from './replay.ts';

// Format 1: a file `<id>.jsonl` of one JSON object a line, the head first, without checksums.

const head = z.object({
  id: z.string(),
  profile: z.string(),
  agent: z.object({ protocol: z.string(), name: z.string(), version: z.optional(z.string()) }),
  cwd: z.string(),
  at: z.number(),
});
const typed = z.looseObject({ type: z.string() });
/** Event types that had another name. */
const renamed: Readonly<Record<string, string>> = {
  'turn.began': 'turn.started',
  'turn.kept': 'turn.adapterState',
  'history.began': 'history.started',
  'text.grew': 'text.delta',
  'call.inputGrew': 'call.inputDelta',
  'call.carriedOut': 'call.appliedOnDisk',
};
/** Places in a damaged line at which an event may begin that are tried. */
const MOST_STARTS = 16;

/** Reads a file of format 1. Rejects when it cannot be read; gives a replay without a session when it is not one. */
export async function replayLegacy(file: string): Promise<Replay> {
  return replayLegacyText(await readFile(file, 'utf8'));
}

export function replayLegacyText(text: string): Replay {
  const replay = new Replay();
  const lines = text.split('\n');
  const first = head.safeParse(parsed(lines[0] ?? ''));
  if (!first.success) return replay;
  replay.add({ value: { type: 'journal.head', version: 1, ...first.data, turns: 0 }, gap: 0 });
  for (const [at, line] of lines.entries()) {
    if (at === 0 || line === '') continue;
    const value = eventIn(line);
    // The last line may have been cut off while it was written.
    if (value !== undefined) replay.add({ value: current(value), gap: 0 });
    else if (at < lines.length - 1) replay.add({ value: undefined, gap: 0 });
  }
  return replay;
}

/** Finds an event inside a torn line: the next window appended its first event to it. */
function eventIn(line: string): unknown {
  let at = 0;
  for (let tries = 0; tries < MOST_STARTS && at >= 0; tries += 1) {
    const value = parsed(line.slice(at));
    if (value !== undefined) return value;
    at = line.indexOf('{"type":"', at + 1);
  }
  return undefined;
}

function current(value: unknown): unknown {
  const found = typed.safeParse(value);
  if (!found.success) return value;
  const { type, grew, anew, ...rest } = found.data;
  const now = Object.hasOwn(renamed, type) ? renamed[type] : type;
  return { ...rest, type: now, ...(grew === undefined ? {} : { delta: grew }), ...(anew === undefined ? {} : { reset: anew }) };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
