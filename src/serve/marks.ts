import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { isMissing, type Log } from '../base/log.ts';
import { makeOwnFolder, writeSecret } from '../live/hostProcess.ts';
import type { SessionId } from '../session/model.ts';
import type { KnownMarks, SessionMark } from './hosted.ts';

const fork = z.object({ of: z.string(), chat: z.string() });
const mark = z.object({
  read: z.exactOptional(z.literal(true)),
  archived: z.exactOptional(z.literal(true)),
  fork: z.exactOptional(fork),
});
const shape = z.record(z.string(), mark);

const NONE: SessionMark = {};

/** The marks in one file beside the journal: they change without an agent, and often. */
export class SessionMarks implements KnownMarks {
  readonly #file: string;
  readonly #log: Log;
  /** Read at first use. */
  #marks: Map<SessionId, SessionMark> | undefined;

  constructor(folder: string, log: Log) {
    this.#file = path.join(folder, 'marks.json');
    this.#log = log;
  }

  of(id: SessionId): SessionMark {
    return this.#known.get(id) ?? NONE;
  }

  set(id: SessionId, wanted: SessionMark): boolean {
    const before = this.of(id);
    if (before.read === wanted.read && before.archived === wanted.archived && before.fork?.chat === wanted.fork?.chat) return false;
    if (wanted.read || wanted.archived || wanted.fork) this.#known.set(id, wanted);
    else this.#known.delete(id);
    this.#write();
    return true;
  }

  /** Forgets the marks of all other sessions. */
  keepOnly(ids: ReadonlySet<SessionId>): void {
    const gone = [...this.#known.keys()].filter((id) => !ids.has(id));
    for (const id of gone) this.#known.delete(id);
    if (gone.length > 0) this.#write();
  }

  get #known(): Map<SessionId, SessionMark> {
    this.#marks ??= new Map(Object.entries(this.#read()));
    return this.#marks;
  }

  #read(): z.infer<typeof shape> {
    try {
      return shape.parse(JSON.parse(readFileSync(this.#file, 'utf8')));
    } catch (error) {
      if (!isMissing(error)) this.#log.warn(`${this.#file} cannot be read: no session counts as read or archived`);
      return {};
    }
  }

  /** At once: a host may be killed at any time. */
  #write(): void {
    try {
      makeOwnFolder(path.dirname(this.#file));
      writeSecret(this.#file, Object.fromEntries(this.#known));
    } catch (error) {
      this.#log.error('What is read and archived could not be kept', error);
    }
  }
}
