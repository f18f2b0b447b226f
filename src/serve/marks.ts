import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { isMissing, type Log } from '../base/log.ts';
import { makeOwnFolder, writeSecret } from '../live/hostProcess.ts';
import { keptOffers } from '../protocols/ahp/schema.ts';
import type { AgentOffers } from '../protocols/ahp/state.ts';
import type { SessionId } from '../session/model.ts';
import type { KnownNames } from './channels.ts';
import type { KnownMarks, KnownOffers, SessionMark } from './hosted.ts';

/** Most clients whose names are remembered for when they come back. */
const MOST_NAMES = 200;

const fork = z.object({ of: z.string(), chat: z.string() });
const mark = z.object({
  read: z.exactOptional(z.literal(true)),
  archived: z.exactOptional(z.literal(true)),
  fork: z.exactOptional(fork),
});
const shape = z.record(z.string(), mark);

const names = z.record(z.string(), z.string());

const NONE: SessionMark = {};

/** The marks in one file beside the journal: they change without an agent, and often. */
export class SessionMarks implements KnownMarks {
  readonly #file: OwnFile<z.infer<typeof mark>>;

  constructor(folder: string, log: Log) {
    this.#file = new OwnFile(path.join(folder, 'marks.json'), shape, log);
  }

  of(id: SessionId): SessionMark {
    return this.#file.all.get(id) ?? NONE;
  }

  set(id: SessionId, wanted: SessionMark): boolean {
    const before = this.of(id);
    if (before.read === wanted.read && before.archived === wanted.archived && before.fork?.chat === wanted.fork?.chat) return false;
    if (wanted.read || wanted.archived || wanted.fork) this.#file.all.set(id, wanted);
    else this.#file.all.delete(id);
    this.#file.write();
    return true;
  }

  /** Forgets the marks of all other sessions. */
  keepOnly(ids: ReadonlySet<SessionId>): void {
    const gone = [...this.#file.all.keys()].filter((id) => !ids.has(id));
    for (const id of gone) this.#file.all.delete(id);
    if (gone.length > 0) this.#file.write();
  }
}

/** The names of clients by their ids, the latest last: one that comes back does not say its name again, not even to the next run of the host. */
export class ClientNames implements KnownNames {
  readonly #file: OwnFile<string>;

  constructor(folder: string, log: Log) {
    this.#file = new OwnFile(path.join(folder, 'clients.json'), names, log);
  }

  get(id: string): string | undefined {
    return this.#file.all.get(id);
  }

  set(id: string, name: string): void {
    const known = this.#file.all;
    const isNew = known.get(id) !== name;
    known.delete(id);
    known.set(id, name);
    for (const [oldest] of known) if (known.size > MOST_NAMES) known.delete(oldest);
    if (isNew) this.#file.write();
  }
}

/** The offers of each agent when it ran last. */
export class KeptOffers implements KnownOffers {
  readonly #file: OwnFile<AgentOffers>;

  constructor(folder: string, log: Log) {
    this.#file = new OwnFile(path.join(folder, 'offers.json'), keptOffers, log);
  }

  get(profileId: string): AgentOffers | undefined {
    return this.#file.all.get(profileId);
  }

  set(profileId: string, offers: AgentOffers): void {
    if (JSON.stringify(this.get(profileId)) === JSON.stringify(offers)) return;
    this.#file.all.set(profileId, offers);
    this.#file.write();
  }
}

/** A file of names and values that only this user may read. */
class OwnFile<T> {
  readonly #path: string;
  readonly #shape: z.ZodMiniType<Record<string, T>>;
  readonly #log: Log;
  /** Read at first use. */
  #all: Map<string, T> | undefined;

  constructor(file: string, shape: z.ZodMiniType<Record<string, T>>, log: Log) {
    this.#path = file;
    this.#shape = shape;
    this.#log = log;
  }

  get all(): Map<string, T> {
    this.#all ??= this.#read();
    return this.#all;
  }

  /** Empty where there is none that can be read. */
  #read(): Map<string, T> {
    try {
      return new Map(Object.entries(this.#shape.parse(JSON.parse(readFileSync(this.#path, 'utf8')))));
    } catch (error) {
      if (!isMissing(error)) this.#log.warn(`${this.#path} cannot be read: it counts as empty`);
      return new Map();
    }
  }

  /** At once: a host may be killed at any time. */
  write(): void {
    try {
      makeOwnFolder(path.dirname(this.#path));
      writeSecret(this.#path, Object.fromEntries(this.all));
    } catch (error) {
      this.#log.error(`${this.#path} could not be written`, error);
    }
  }
}
