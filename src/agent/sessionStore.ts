import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as z from 'zod/mini';
import { keptNames, type Platform } from '../base/fileName.ts';
import { messageOf } from '../base/log.ts';
import { discard, whileHeld } from '../transport/replaceFile.ts';
import type { HistoryChange } from './history.ts';
import type { HistoryMessage } from './models/model.ts';

const platform: Platform = process.platform === 'win32' || process.platform === 'darwin' ? process.platform : 'posix';

/** Characters of the recording that may wait for the disk. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Milliseconds until what could not be written is tried again, at first and at most. */
const FIRST_RETRY = 100;
const LONGEST_RETRY = 5_000;
/** How often, and at what distance in milliseconds, the rest is tried when the process ends. */
const LAST_TRIES = { count: 8, wait: 100 };

const call = z.object({ id: z.string(), name: z.string(), input: z.string(), meta: z.exactOptional(z.record(z.string(), z.unknown())) });
const userPart = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'audio', 'video']), url: z.string() }),
]);
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), parts: z.array(userPart) }),
  z.object({ role: z.literal('assistant'), text: z.string(), thought: z.exactOptional(z.string()), calls: z.array(call) }),
  z.object({
    role: z.literal('tool'),
    callId: z.string(),
    name: z.string(),
    isError: z.boolean(),
    message: z.string(),
    text: z.string(),
    rejected: z.exactOptional(z.literal(true)),
    diffs: z.exactOptional(z.array(z.object({ path: z.string(), before: z.nullable(z.string()), after: z.string() }))),
    media: z.exactOptional(z.array(userPart)),
  }),
]);
const state = z.object({ title: z.nullish(z.string()), custom_title: z.nullish(z.string()), plan_mode: z.nullish(z.boolean()) });
export type StoredState = z.infer<typeof state>;

/** The unwritten part of a file: its whole text or a change of it, and the lines that follow. */
interface Waiting {
  whole?: string;
  state?: StoredState;
  lines: string[];
  /** Characters of the lines. */
  size: number;
}

/** Stores that wait for the disk. */
const unstored = new Set<SessionStore>();
let isEndWatched = false;

function storeByEnd(store: SessionStore): void {
  unstored.add(store);
  if (!isEndWatched) process.once('exit', storeAtEnd);
  isEndWatched = true;
}

/** No one waits for the process when it ends. */
function storeAtEnd(): void {
  for (let tries = 0; tries < LAST_TRIES.count && unstored.size > 0; tries += 1) {
    if (tries > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_TRIES.wait);
    for (const one of unstored) one.flush();
  }
}

/**
 * One session's folder: `<home>/sessions/<md5 of the working directory>/<id>/` with context.jsonl (what the model sees), wire.jsonl (what the
 * client was shown) and state.json, the layout clients of this protocol know (wire.md §11). The directory counts by its key, so that every case of
 * its letters finds the session where the system folds case; a session kept under the written text stays there. Nothing is made before the first
 * turn. While the disk refuses a file, what it lacks waits in memory and a line on stderr reports that; the other files are written all the same.
 */
export class SessionStore {
  readonly folder: string;
  readonly id: string;
  #made = false;
  /** By the name of the file. */
  readonly #waiting = new Map<string, Waiting>();
  #warned = false;
  #dropped = false;
  #retry: NodeJS.Timeout | undefined;
  #wait = FIRST_RETRY;

  constructor(home: string, workDir: string, id: string, system = platform) {
    this.id = id;
    const folders = foldersOf(home, workDir, system).map((one) => path.join(one, nameOf(id)));
    const [newest = ''] = folders;
    this.folder = folders.find((one) => existsSync(one)) ?? newest;
  }

  /** True when something of it is on the disk. */
  get exists(): boolean {
    return existsSync(this.folder);
  }

  /** The id of the session in the same place that was last written. */
  newestBeside(): string | undefined {
    const all = path.dirname(this.folder);
    try {
      return readdirSync(all)
        .map((name) => ({ name, at: statSync(path.join(all, name)).mtimeMs }))
        .sort((a, b) => b.at - a.at)[0]?.name;
    } catch {
      return undefined;
    }
  }

  readMessages(): readonly HistoryMessage[] {
    return whole(this.#lines('context.jsonl').flatMap((value) => parsed(message, value)));
  }

  readState(): StoredState {
    try {
      return state.parse(JSON.parse(readFileSync(path.join(this.folder, 'state.json'), 'utf8')));
    } catch {
      return {};
    }
  }

  /** Merged with what other programs may have put there. */
  writeState(change: StoredState): void {
    this.#add('state.json', (file) => {
      file.state = { ...file.state, ...change };
    });
  }

  keep(change: HistoryChange): void {
    if (change.type === 'added') return this.append('context.jsonl', change.message);
    this.#rewrite('context.jsonl', change.messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
  }

  append(name: 'context.jsonl' | 'wire.jsonl', value: object): void {
    const line = `${JSON.stringify(value)}\n`;
    this.#add(name, (file) => {
      file.lines.push(line);
      file.size += line.length;
      // Messages for the model stay whole: the process keeps it in any case, and replaces them when they grow too long.
      if (name !== 'wire.jsonl' || file.size <= MOST_WAITING) return;
      dropHalf(file);
      if (!this.#dropped) process.stderr.write('parley-agent: a part of what was shown could not be stored; the rest waits for the disk\n');
      this.#dropped = true;
    });
  }

  /** The lines of a recording, parsed; those that are no JSON are left out. */
  readRecording(): readonly unknown[] {
    return this.#lines('wire.jsonl');
  }

  writeText(name: string, text: string): string {
    this.#rewrite(name, text);
    return path.join(this.folder, name);
  }

  /** Tries now to write what waits. */
  flush(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#write([...this.#waiting.keys()]);
  }

  #lines(name: string): readonly unknown[] {
    let text: string;
    try {
      text = readFileSync(path.join(this.folder, name), 'utf8');
    } catch {
      return [];
    }
    return text.split('\n').flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line) as unknown];
      } catch {
        return [];
      }
    });
  }

  #rewrite(name: string, text: string): void {
    this.#add(name, (file) => Object.assign(file, { whole: text, lines: [], size: 0 }));
  }

  /** Writes at once, unless the file waits already: then it is tried again when its time has come, however much is added. */
  #add(name: string, change: (file: Waiting) => void): void {
    const waiting = this.#waiting.get(name);
    const file = waiting ?? { lines: [], size: 0 };
    change(file);
    this.#waiting.set(name, file);
    if (!waiting) this.#write([name]);
  }

  #write(names: readonly string[]): void {
    let failure: unknown;
    for (const name of names) {
      const waiting = this.#waiting.get(name);
      if (!waiting) continue;
      try {
        if (!this.#made) mkdirSync(this.folder, { recursive: true, mode: 0o700 });
        this.#made = true;
        writeInto(path.join(this.folder, name), waiting);
        this.#waiting.delete(name);
      } catch (error) {
        failure = error;
      }
    }
    if (this.#waiting.size === 0) {
      unstored.delete(this);
      this.#warned = this.#dropped = false;
      this.#wait = FIRST_RETRY;
    } else this.#tryLater();
    if (failure !== undefined && !this.#warned) {
      this.#warned = true;
      process.stderr.write(`parley-agent: the session could not be stored yet: ${messageOf(failure)}\n`);
    }
  }

  #tryLater(): void {
    storeByEnd(this);
    if (this.#retry) return;
    this.#retry = setTimeout(() => this.flush(), this.#wait).unref();
    this.#wait = Math.min(2 * this.#wait, LONGEST_RETRY);
  }
}

/** The first line, which may tell the version, and the newest stay. */
function dropHalf(file: Waiting): void {
  const [first = '', ...others] = file.lines;
  file.lines = [first, ...others.slice(Math.ceil(others.length / 2))];
  file.size = file.lines.reduce((sum, line) => sum + line.length, 0);
}

/** A whole text takes the place of the file, or the file stays as it is. */
function writeInto(file: string, { whole, state: change, lines }: Waiting): void {
  const text = change ? `${JSON.stringify({ ...recordIn(file), ...change })}\n` : whole;
  if (text === undefined) return appendFileSync(file, lines.join(''));
  const fresh = `${file}.tmp`;
  try {
    writeFileSync(fresh, text + lines.join(''));
    renameSync(fresh, file);
  } catch (error) {
    discard(fresh);
    throw error;
  }
}

function recordIn(file: string): object {
  try {
    return Object(JSON.parse(readFileSync(file, 'utf8'))) as object;
  } catch {
    return {};
  }
}

/** Where sessions are kept: the variable every program of this protocol knows, else a folder of our own. */
export function sessionHome(env: NodeJS.ProcessEnv): string {
  const named = env.KIMI_SHARE_DIR?.trim() ?? '';
  return named === '' ? path.join(os.homedir(), '.parley') : named;
}

/** The id of the newest session of a working directory. */
export function lastSession(home: string, workDir: string, system = platform): string | undefined {
  let newest: { readonly id: string; readonly at: number } | undefined;
  for (const folder of foldersOf(home, workDir, system)) {
    for (const id of namesIn(folder)) {
      const at = statSync(path.join(folder, id, 'wire.jsonl'), { throwIfNoEntry: false })?.mtimeMs;
      if (at !== undefined && at > (newest?.at ?? 0)) newest = { id, at };
    }
  }
  return newest?.id;
}

export interface StoredSession {
  readonly id: string;
  readonly title: string | undefined;
  /** When it was last added to, in milliseconds since the epoch. */
  readonly at: number;
}

/** The sessions of a working directory that hold something, newest first. */
export function sessionsOf(home: string, workDir: string, system = platform): readonly StoredSession[] {
  const ids = new Set(foldersOf(home, workDir, system).flatMap(namesIn));
  const found = [...ids].flatMap((id): readonly StoredSession[] => {
    const store = new SessionStore(home, workDir, id, system);
    const at = statSync(path.join(store.folder, 'context.jsonl'), { throwIfNoEntry: false })?.mtimeMs;
    const { title, custom_title } = store.readState();
    return at === undefined ? [] : [{ id, title: custom_title ?? title ?? undefined, at }];
  });
  return found.sort((one, other) => other.at - one.at);
}

/**
 * Takes the session of that id away, whatever its working directory. False when there is none. Rejects with a message for the user while another program
 * holds one of its files, and then all of it is kept: Windows does not move a folder in which a file is open.
 */
export async function deleteSession(home: string, id: string): Promise<boolean> {
  const all = path.join(home, 'sessions');
  const name = nameOf(id);
  const folder = namesIn(all)
    .map((one) => path.join(all, one, name))
    .find((one) => existsSync(one));
  if (folder === undefined) return false;
  const deleted = path.join(home, 'deleted');
  mkdirSync(deleted, { recursive: true, mode: 0o700 });
  await whileHeld(folder, () => rename(folder, path.join(deleted, randomUUID())));
  // With what an earlier process could not remove.
  for (const one of namesIn(deleted)) discard(path.join(deleted, one));
  return true;
}

/** Copies what a session remembers into a new one. False when it remembers nothing. */
export function copySession(home: string, workDir: string, from: string, to: string): boolean {
  const [source, target] = [new SessionStore(home, workDir, from).folder, new SessionStore(home, workDir, to).folder];
  if (!existsSync(path.join(source, 'context.jsonl'))) return false;
  cpSync(source, target, { recursive: true });
  return true;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function nameOf(id: string): string {
  return /^[\w-][\w.-]{0,127}$/.test(id) ? id : createHash('md5').update(id).digest('hex');
}

/** Where sessions of a working directory are kept: new ones in the first folder, old ones in any. */
function foldersOf(home: string, workDir: string, system: Platform): readonly string[] {
  return keptNames(workDir, system).map((name) => path.join(home, 'sessions', createHash('md5').update(name).digest('hex')));
}

function parsed<S extends z.ZodMiniType>(schema: S, value: unknown): readonly z.infer<S>[] {
  const result = schema.safeParse(value);
  return result.success ? [result.data] : [];
}

/** A process that died in the middle of a step leaves calls without results; models refuse such a history, so it ends before them. */
function whole(messages: readonly HistoryMessage[]): readonly HistoryMessage[] {
  const answered = new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : [])));
  const broken = messages.findIndex((one) => one.role === 'assistant' && one.calls.some((each) => !answered.has(each.id)));
  return broken < 0 ? messages : messages.slice(0, broken);
}
