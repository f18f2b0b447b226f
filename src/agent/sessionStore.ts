import { createHash } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as z from 'zod/mini';
import { keptNames, type Platform } from '../base/fileName.ts';
import { messageOf } from '../base/log.ts';
import { replaceFileSync } from '../transport/replaceFile.ts';
import type { HistoryChange } from './history.ts';
import type { Message } from './models/model.ts';

const platform: Platform = process.platform === 'win32' || process.platform === 'darwin' ? process.platform : 'posix';

/** Writes that may wait for the disk. */
const MOST_WAITING = 1_000;

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
export type SessionState = z.infer<typeof state>;

/**
 * One session's folder: `<home>/sessions/<md5 of the working directory>/<id>/` with context.jsonl (what the model sees), wire.jsonl (what the
 * client was shown) and state.json, the layout clients of this protocol know (wire.md §11). The directory counts by its key, so that every case of
 * its letters finds the session where the system folds case; a session kept under the written text stays there. Nothing is made before the first
 * turn. While the disk refuses, writes wait in memory and a line on stderr says so.
 */
export class SessionStore {
  readonly folder: string;
  readonly id: string;
  #made = false;
  /** Writes that failed, oldest first. */
  readonly #waiting: (() => void)[] = [];
  #warned = false;

  constructor(home: string, workDir: string, id: string, system = platform) {
    this.id = id;
    const folders = foldersOf(home, workDir, system).map((one) => path.join(one, nameOf(id)));
    const [newest = ''] = folders;
    this.folder = folders.find((one) => existsSync(one)) ?? newest;
  }

  readMessages(): readonly Message[] {
    return whole(this.#lines('context.jsonl').flatMap((value) => parsed(message, value)));
  }

  readState(): SessionState {
    try {
      return state.parse(JSON.parse(readFileSync(path.join(this.folder, 'state.json'), 'utf8')));
    } catch {
      return {};
    }
  }

  /** Merged with what other programs may have put there. */
  writeState(change: SessionState): void {
    this.#try(() => {
      const file = path.join(this.folder, 'state.json');
      let known: object = {};
      try {
        known = Object(JSON.parse(readFileSync(file, 'utf8'))) as object;
      } catch {
        // None yet.
      }
      writeFileSync(`${file}.tmp`, `${JSON.stringify({ ...known, ...change })}\n`);
      replaceFileSync(`${file}.tmp`, file);
    });
  }

  keep(change: HistoryChange): void {
    if (change.type === 'added') return this.append('context.jsonl', change.message);
    this.#try(() => {
      const file = path.join(this.folder, 'context.jsonl');
      writeFileSync(`${file}.tmp`, change.messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
      replaceFileSync(`${file}.tmp`, file);
    });
  }

  append(name: 'context.jsonl' | 'wire.jsonl', value: object): void {
    this.#try(() => appendFileSync(path.join(this.folder, name), `${JSON.stringify(value)}\n`));
  }

  /** The lines of a recording, parsed; those that are no JSON are left out. */
  readRecording(): readonly unknown[] {
    return this.#lines('wire.jsonl');
  }

  writeText(name: string, text: string): string {
    const file = path.join(this.folder, name);
    this.#try(() => writeFileSync(file, text));
    return file;
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

  /** Writes in order. A write that fails (a full disk, a file held by another program) is tried again before the next one. */
  #try(write: () => void): void {
    if (this.#waiting.length >= MOST_WAITING) return;
    this.#waiting.push(write);
    try {
      if (!this.#made) mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      this.#made = true;
      for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
        next();
        this.#waiting.shift();
      }
      this.#warned = false;
    } catch (error) {
      const [why, wasWarned] = [messageOf(error), this.#warned];
      this.#warned = true;
      if (this.#waiting.length === MOST_WAITING)
        process.stderr.write(`parley-agent: too much could not be stored; the session is no longer stored: ${why}\n`);
      else if (!wasWarned) process.stderr.write(`parley-agent: the session could not be stored yet: ${why}\n`);
    }
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

/** Takes the session of that id away, whatever its working directory. False when there is none. */
export function deleteSession(home: string, id: string): boolean {
  const all = path.join(home, 'sessions');
  const name = nameOf(id);
  const folder = namesIn(all)
    .map((one) => path.join(all, one, name))
    .find((one) => existsSync(one));
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  return folder !== undefined;
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
function whole(messages: readonly Message[]): readonly Message[] {
  const answered = new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : [])));
  const broken = messages.findIndex((one) => one.role === 'assistant' && one.calls.some((each) => !answered.has(each.id)));
  return broken < 0 ? messages : messages.slice(0, broken);
}
