import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { appendFile, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { parseJson } from '../base/json.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { SessionEvent } from '../session/events.ts';
import { joinTextDeltas } from '../session/join.ts';
import type { AgentInfo, Session, SessionId } from '../session/model.ts';
import { newSession, reduce } from '../session/reduce.ts';

/** The first line of a session's file. */
export interface JournalHead {
  readonly id: SessionId;
  readonly profile: string;
  readonly agent: AgentInfo;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
export interface JournalEntry {
  readonly head: JournalHead;
  readonly title: string;
  /** When it was last written, milliseconds since the epoch. */
  readonly at: number;
  /** The agent's own name for the conversation, as far as the beginning of the file says it. */
  readonly resumeKey?: string;
}

const head = z.object({
  id: z.string(),
  profile: z.string(),
  agent: z.object({ protocol: z.string(), name: z.string(), version: z.optional(z.string()) }),
  cwd: z.string(),
  at: z.number(),
});
const line = z.looseObject({ type: z.string() });
/** Milliseconds between writes; growth within is joined. */
const WRITE_EVERY = 250;
const DAY = 24 * 60 * 60 * 1000;
const TITLE_BYTES = 64 * 1024;

/** Sessions as files of events: one JSON object a line, the head first. What cannot be read is skipped, never fatal. */
export class Journal {
  readonly #folder: string;
  readonly #log: Log;

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Opens the file to write on; a new one begins with its head. */
  write(start: JournalHead): JournalWriter {
    mkdirSync(this.#folder, { recursive: true });
    const file = this.#fileOf(start.id);
    if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(start)}\n`, { mode: 0o600 });
    return new JournalWriter(file, this.#log);
  }

  async read(id: SessionId): Promise<{ readonly head: JournalHead; readonly session: Session } | undefined> {
    const text = await readFile(this.#fileOf(id), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const [first = '', ...rest] = text.split('\n');
    const parsed = head.safeParse(parseLine(first));
    if (!parsed.success || parsed.data.id !== id) return undefined;
    const found = toHead(parsed.data);
    let session = newSession(id, found.agent, found.cwd);
    for (const one of rest) session = replayLine(session, one);
    return { head: found, session };
  }

  /** Newest first. */
  async list(): Promise<readonly JournalEntry[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const entries = await Promise.all(
      names.filter((name) => name.endsWith('.jsonl')).map((name) => this.#entry(path.join(this.#folder, name))),
    );
    return entries.filter((entry) => entry !== undefined).sort((a, b) => b.at - a.at);
  }

  /** Removes all but the newest files, and those older than a day in which nothing was ever said. `keep` names ids that stay in any case. */
  async prune(most: number, keep: ReadonlySet<SessionId>, now: number): Promise<void> {
    const spoken = await this.list();
    const stay = new Set([...spoken.slice(0, most).map((entry) => entry.head.id), ...keep].map((id) => path.basename(this.#fileOf(id))));
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      if (!name.endsWith('.jsonl') || stay.has(name)) continue;
      const file = path.join(this.#folder, name);
      const written = await stat(file).catch(() => undefined);
      if (written && now - written.mtimeMs > DAY) await rm(file, { force: true });
    }
  }

  async remove(id: SessionId): Promise<void> {
    await rm(this.#fileOf(id), { force: true });
  }

  /** Which sessions a window had open, under a key of its own. */
  readOpen(key: string): OpenSessions {
    try {
      const parsed = openSessions.safeParse(JSON.parse(readFileSync(path.join(this.#folder, `${key}.open.json`), 'utf8')));
      if (parsed.success) return { ids: parsed.data.ids, ...(parsed.data.active === undefined ? {} : { active: parsed.data.active }) };
    } catch {
      // No such file yet, or half of one: nothing was open.
    }
    return { ids: [] };
  }

  writeOpen(key: string, sessions: OpenSessions): void {
    mkdirSync(this.#folder, { recursive: true });
    const file = path.join(this.#folder, `${key}.open.json`);
    // Whole or not at all: the window may be reloaded in the middle of it.
    writeFileSync(`${file}.new`, JSON.stringify(sessions));
    renameSync(`${file}.new`, file);
  }

  async #entry(file: string): Promise<JournalEntry | undefined> {
    try {
      const handle = await open(file);
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(TITLE_BYTES), 0, TITLE_BYTES, 0);
        const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
        const parsed = head.safeParse(parseLine(lines[0] ?? ''));
        if (!parsed.success) return undefined;
        const found = toHead(parsed.data);
        let session = newSession(found.id, found.agent, found.cwd);
        for (const one of lines.slice(1)) {
          session = replayLine(session, one);
          if (session.turns.length > 0) break;
        }
        if (session.turns.length === 0) return undefined;
        const prompt = session.turns[0]?.prompt.find((content) => content.type === 'text');
        const title = session.title || (prompt?.type === 'text' ? prompt.text.trim() : '');
        const key = session.resumeKey === undefined ? {} : { resumeKey: session.resumeKey };
        return { head: found, title: title.split('\n', 1)[0] ?? '', at: (await stat(file)).mtimeMs, ...key };
      } finally {
        await handle.close();
      }
    } catch (error) {
      this.#log.warn(`A session file could not be read: ${messageOf(error)}`);
      return undefined;
    }
  }

  #fileOf(id: SessionId): string {
    return path.join(this.#folder, `${id.replace(/[^\w-]/g, '_')}.jsonl`);
  }
}

export interface OpenSessions {
  readonly ids: readonly SessionId[];
  readonly active?: SessionId;
}
const openSessions = z.object({ ids: z.array(z.string()), active: z.optional(z.string()) });

/** Writes events behind the session, joined, a few times a second; `flush` writes the rest at once. */
export class JournalWriter {
  readonly #file: string;
  readonly #log: Log;
  #waiting: SessionEvent[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string, log: Log) {
    this.#file = file;
    this.#log = log;
  }

  record(event: SessionEvent): void {
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => this.#write(), WRITE_EVERY);
  }

  /** Settles when all that was recorded before the call is on disk. */
  async settled(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  /** For the end of the process: synchronous. */
  flush(): void {
    try {
      const text = this.#take();
      if (text) appendFileSync(this.#file, text);
    } catch (error) {
      this.#log.error('The session could not be written to its journal', error);
    }
  }

  #write(): void {
    const text = this.#take();
    if (!text) return;
    this.#writing = this.#writing
      .then(() => appendFile(this.#file, text))
      .catch((error: unknown) => this.#log.error('The session could not be written to its journal', error));
  }

  #take(): string {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const events = joinTextDeltas(this.#waiting);
    this.#waiting = [];
    return events.map((event) => this.#lineOf(event)).join('');
  }

  /** An event that cannot be written costs only itself. */
  #lineOf(event: SessionEvent): string {
    try {
      return `${JSON.stringify(event)}\n`;
    } catch (error) {
      this.#log.error(`An event (${event.type}) could not be written to the journal and is left out`, error);
      return '';
    }
  }
}

function parseLine(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Event types of version 0.1.0 files under their names today. */
const RENAMED: Readonly<Record<string, string>> = {
  'turn.began': 'turn.started',
  'turn.kept': 'turn.adapterState',
  'history.began': 'history.started',
  'text.grew': 'text.delta',
  'call.inputGrew': 'call.inputDelta',
  'call.carriedOut': 'call.appliedOnDisk',
};
function migrate(event: z.infer<typeof line>): z.infer<typeof line> {
  const { grew, anew, ...rest } = event;
  if (event.type === 'terminal.changed' && (grew !== undefined || anew !== undefined))
    return { ...rest, delta: grew, reset: anew } as typeof event;
  const type = Object.hasOwn(RENAMED, event.type) ? RENAMED[event.type] : undefined;
  return type === undefined ? event : { ...event, type };
}

/** A line that is damaged, or of a build that knows more, changes nothing. */
function replayLine(session: Session, text: string): Session {
  const parsed = line.safeParse(parseLine(text));
  if (!parsed.success) return session;
  try {
    return reduce(session, migrate(parsed.data) as unknown as SessionEvent) ?? session;
  } catch {
    return session;
  }
}

function toHead(data: z.infer<typeof head>): JournalHead {
  const { version, ...agent } = data.agent;
  return { ...data, agent: version === undefined ? agent : { ...agent, version } };
}
