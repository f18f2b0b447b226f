import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SessionEvent } from '../../session/events.ts';
import type { Content, Part, QueuedPrompt, Session, Turn, TurnId } from '../../session/model.ts';
import { newSession, reduce } from '../../session/reduce.ts';
import { type JournalRecord, RecordReader, weightOf } from './records.ts';
import { type HeadRecord, type KnownRecord, type QueueRecord, recordOf, type SnapshotRecord } from './schema.ts';

/** The format version that this build writes. Leaves files of a higher version alone. */
export const VERSION = 2;
/** Bytes that are read and replayed without a pause: some milliseconds of work. */
const CHUNK = 128 * 1024;
/** Bytes of JSON, roughly, that one record of parts holds: what a damaged record can cost. */
const PARTS_BYTES = 64 * 1024;

export interface Replayed {
  readonly head: HeadRecord;
  readonly session: Session;
  /** Records that are damaged, missing or of a wrong shape. */
  readonly lost: number;
  /** Number of the last record. */
  readonly seq: number;
  /** Bytes of the file. */
  readonly size: number;
  /** It holds a snapshot to its end. */
  readonly hasSnapshot: boolean;
  /** When the file was written last, in milliseconds since the epoch. */
  readonly at: number;
}

/** The conversation in that file as far as it can be read; undefined when there is none. Rejects when the file cannot be read at all. */
export async function replayFile(file: string): Promise<Replayed | undefined> {
  const handle = await open(file);
  try {
    const reader = new RecordReader();
    const replay = new Replay();
    let size = 0;
    for await (const chunk of chunksOf(handle)) {
      size += chunk.length;
      for (const record of reader.push(chunk)) replay.add(record);
      // A cached read can resolve before other tasks have run.
      await nextTurn();
    }
    for (const record of reader.end()) replay.add(record);
    const { head, lost, hasSnapshot } = replay;
    const session = replay.finish();
    const { mtimeMs: at } = await handle.stat();
    return head && session && { head, session, lost, seq: reader.lastSeq, size, hasSnapshot, at };
  } finally {
    await handle.close();
  }
}

export async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    // Records keep views of the chunk until they are whole, so each needs its own memory.
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Puts a session together from records. */
export class Replay {
  #head: HeadRecord | undefined;
  #session: GrowingSession | undefined;
  /** Events before any readable head. */
  readonly #early: SessionEvent[] = [];
  /** A snapshot whose end was not read yet. */
  #snapshot: PartialSnapshot | undefined;
  readonly #queued = new QueueContents();
  #lost = 0;
  #hasSnapshot = false;

  get hasSnapshot(): boolean {
    return this.#hasSnapshot;
  }

  get head(): HeadRecord | undefined {
    return this.#head;
  }

  /** Records that are damaged, missing or of a wrong shape; those before a whole snapshot do not matter any more. */
  get lost(): number {
    return this.#lost;
  }

  add({ value, gap }: Pick<JournalRecord, 'value' | 'gap'>): void {
    const record = recordOf(value);
    const lost = gap + (record ? 0 : 1);
    this.#lost += lost;
    this.#snapshot?.lose(lost);
    if (record) this.#take(record);
  }

  /** Returns the session after the last record. */
  finish(): Session | undefined {
    this.#closeSnapshot(false);
    return this.#session?.whole;
  }

  #take(record: KnownRecord): void {
    switch (record.type) {
      case 'journal.head':
        return this.#begin(record);
      case 'journal.state':
        this.#snapshot = new PartialSnapshot(record.session);
        this.#queued.set(record.session.queue);
        return;
      case 'journal.turn':
        this.#snapshot ??= this.#withoutState();
        return this.#snapshot?.addTurn({ ...record.turn, parts: [] });
      case 'journal.parts':
        return this.#snapshot?.addParts(record.turnId, record.parts);
      case 'journal.complete':
        return this.#closeSnapshot(true);
      case 'journal.queue': {
        const queue = this.#queued.queueOf(record);
        this.#lost += record.queue.length - queue.length;
        return this.#apply({ type: 'queue.set', queue });
      }
      default:
        return this.#apply(record);
    }
  }

  #apply(event: SessionEvent): void {
    if (event.type === 'queue.set') this.#queued.set(event.queue);
    this.#closeSnapshot(false);
    if (this.#session) this.#session.apply(event);
    else this.#early.push(event);
  }

  #begin(head: HeadRecord): void {
    this.#head = head;
    if (this.#session) return;
    this.#session = new GrowingSession(this.#early.reduce(applied, newSession(head.id, head.agent, head.cwd)));
    this.#early.length = 0;
  }

  /** A snapshot whose beginning is damaged: its turns are whole. */
  #withoutState(): PartialSnapshot | undefined {
    const head = this.#head;
    const rest = this.#session?.whole ?? (head && newSession(head.id, head.agent, head.cwd));
    const snapshot = rest && new PartialSnapshot(rest);
    snapshot?.lose(1);
    return snapshot;
  }

  /** Accepts a truncated snapshot only when it holds no less than the state it replaces. */
  #closeSnapshot(whole: boolean): void {
    const snapshot = this.#snapshot;
    this.#snapshot = undefined;
    if (!snapshot || (!whole && snapshot.turnCount < (this.#session?.turnCount ?? 0))) return;
    if (whole) [this.#lost, this.#hasSnapshot] = [snapshot.lost, true];
    this.#session = new GrowingSession(snapshot.session);
  }
}

/** A snapshot as far as it was read. */
class PartialSnapshot {
  readonly #rest: Omit<Session, 'turns'>;
  readonly #turns: Turn[] = [];
  #lost = 0;

  constructor(rest: Omit<Session, 'turns'>) {
    this.#rest = rest;
  }

  get session(): Session {
    return { ...this.#rest, turns: this.#turns };
  }

  get turnCount(): number {
    return this.#turns.length;
  }

  /** Records that were lost since it began. */
  get lost(): number {
    return this.#lost;
  }

  lose(records: number): void {
    this.#lost += records;
  }

  addTurn(turn: Turn): void {
    this.#turns.push(turn);
  }

  /** Does not rebuild a damaged turn from its parts. */
  addParts(turnId: string, parts: readonly Part[]): void {
    const last = this.#turns.at(-1);
    if (last?.id === turnId) this.#turns[this.#turns.length - 1] = { ...last, parts: last.parts.concat(parts) };
  }
}

/** Turns that the reducer works on while older ones wait aside; it copies the list of turns with nearly every event. */
const WINDOW = 256;
/** Events that look at no turn. */
const TURNLESS: ReadonlySet<SessionEvent['type']> = new Set([
  'link.opening',
  'link.ready',
  'history.started',
  'queue.set',
  'plan.set',
  'commands.set',
  'mode.set',
  'options.set',
  'terminal.changed',
  'background.set',
  'usage.set',
  'title.set',
  'resume.set',
  'notice',
  'notices.removed',
]);

/** A session to which many events are applied: the same state as `reduce` makes, in time that does not grow with the number of its turns. */
class GrowingSession {
  #recent: Session;
  #older: Turn[] = [];
  #olderIds = new Set<string>();

  constructor(start: Session) {
    this.#recent = start;
  }

  get whole(): Session {
    return this.#older.length === 0 ? this.#recent : { ...this.#recent, turns: this.#older.concat(this.#recent.turns) };
  }

  get turnCount(): number {
    return this.#older.length + this.#recent.turns.length;
  }

  apply(event: SessionEvent): void {
    if (this.#older.length > 0 && this.#looksBack(event)) this.#join();
    this.#recent = applied(this.#recent, event);
    const { turns } = this.#recent;
    if (turns.length <= WINDOW || turns.some((turn) => turn.status === 'running')) return;
    const settled = turns.slice(0, -WINDOW / 2);
    for (const turn of settled) {
      this.#older.push(turn);
      this.#olderIds.add(turn.id);
    }
    this.#recent = { ...this.#recent, turns: turns.slice(-WINDOW / 2) };
  }

  #join(): void {
    this.#recent = this.whole;
    this.#older = [];
    this.#olderIds = new Set();
  }

  #looksBack(event: SessionEvent): boolean {
    if (TURNLESS.has(event.type)) return false;
    // A message steered into the turn may have become a turn of its own before.
    if (event.type === 'turn.ended') return event.clears === true || this.#olderIds.has(event.turnId) || this.#hasPending(event.turnId);
    return !('turnId' in event) || event.turnId === undefined || this.#olderIds.has(event.turnId);
  }

  #hasPending(turnId: string): boolean {
    const turn = this.#recent.turns.find((one) => one.id === turnId);
    return turn?.parts.some((part) => part.kind === 'prompt' && part.pending) ?? false;
  }
}

/** Returns the session unchanged when the reducer throws on a well-formed event. */
function applied(session: Session, event: SessionEvent): Session {
  try {
    return reduce(session, event);
  } catch {
    return session;
  }
}

export function* snapshotOf(session: Session): Generator<SnapshotRecord> {
  const { turns, ...rest } = session;
  yield { type: 'journal.state', session: rest };
  for (const { parts, ...turn } of turns) {
    yield { type: 'journal.turn', turn };
    yield* partsOf(turn.id, parts);
  }
  yield { type: 'journal.complete' };
}

function* partsOf(turnId: string, parts: readonly Part[]): Generator<SnapshotRecord> {
  let piece: Part[] = [];
  let bytes = 0;
  for (const part of parts) {
    piece.push(part);
    bytes += weightOf(part, PARTS_BYTES);
    if (bytes < PARTS_BYTES) continue;
    yield { type: 'journal.parts', turnId, parts: piece };
    piece = [];
    bytes = 0;
  }
  if (piece.length > 0) yield { type: 'journal.parts', turnId, parts: piece };
}

/** Contents of the prompts that waited last: each is written once, however often the queue changes meanwhile. */
export class QueueContents {
  #known: ReadonlyMap<TurnId, readonly Content[]> = new Map();

  /** Forgets all but these, which a snapshot holds as well. */
  keepOnly(queue: readonly QueuedPrompt[]): void {
    this.#known = new Map(queue.flatMap(({ turnId, content }) => (this.#known.get(turnId) === content ? [[turnId, content]] : [])));
  }

  set(queue: readonly QueuedPrompt[]): void {
    this.#known = new Map(queue.map(({ turnId, content }) => [turnId, content]));
  }

  /** The record of an event; without the contents that a reader knows by then. */
  recordOf(event: SessionEvent): KnownRecord {
    if (event.type !== 'queue.set') return event;
    const before = this.#known;
    this.set(event.queue);
    const isKnown = ({ turnId, content }: QueuedPrompt) => before.get(turnId) === content;
    if (!event.queue.some(isKnown)) return event;
    const queue = event.queue.map((one) => {
      const { content, ...rest } = one;
      return isKnown(one) ? rest : { ...rest, content };
    });
    return { type: 'journal.queue', queue };
  }

  /** The queue of a record. Prompts whose contents were in a damaged record are missing. */
  queueOf({ queue }: QueueRecord): readonly QueuedPrompt[] {
    return queue.flatMap((one) => {
      const content = one.content ?? this.#known.get(one.turnId);
      return content ? [{ ...one, content }] : [];
    });
  }
}
