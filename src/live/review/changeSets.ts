import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Emitter } from '../../base/emitter.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { Log } from '../../base/log.ts';
import { isForeign, isSameFile, keyOfFile, realPathNow } from '../../protocols/paths.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { CallId, Session, SessionId, ToolCall, Turn, TurnFile, TurnId, UnlistedChanges } from '../../session/model.ts';
import { isSettled } from '../../session/parts.ts';
import type { PlacedHunk } from '../../session/segments.ts';
import { callsOf, diffsOf, isBusy, titleOf, turnFiles } from '../../session/select.ts';
import type { SessionHost } from '../surface.ts';
import type { ChangeSet, Explain, FileEffects, UnreviewedFile } from './changeSet.ts';
import { ALIVE_EVERY, ContentStore } from './contentStore.ts';

/** Milliseconds from the end of a call to the scan of the folder, because calls come in bursts. */
const LOOK_AFTER = 300;
/** Milliseconds that a prompt waits, in the queue, until the files of its folder are read, and after that for the mere list of them. */
const LONGEST_LOOK = 30_000;
const LONGEST_LIST = 10_000;
/** Milliseconds for which the disk rests before a scan finds what was very much. */
const DISK_RESTS = 2000;
/** Sessions whose changes can still be reviewed, and bytes that the texts before them may take. */
const MOST_SESSIONS = 50;
const MOST_BYTES = 1024 * 1024 * 1024;

/** The change set of a session. */
export interface OfSession {
  readonly id: SessionId;
  readonly set: ChangeSet;
}
/** A change of a session's agent. */
export interface SessionHunk extends PlacedHunk {
  readonly of: OfSession;
}
/** `isAll`: its lines are as it wrote them. */
export interface Writer {
  readonly id: SessionId;
  readonly isAll: boolean;
}

interface Claim {
  readonly id: SessionId;
  readonly content: string | null;
  readonly at: number;
}

/** Events that the file review sends to a session. */
export type ReviewEvent = Extract<SessionEvent, { readonly type: 'turn.files' | 'corrections.set' | 'call.amended' | 'notice' }>;
export type PublishEvent = (id: SessionId, event: ReviewEvent) => void;

/** The change sets of all sessions, kept in step with their turns. */
export class ChangeSets implements Disposable {
  readonly #host: SessionHost;
  readonly #folder: string;
  readonly #setType: () => typeof ChangeSet;
  readonly #store: ContentStore;
  readonly #effects: FileEffects;
  readonly #publish: PublishEvent;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #sets = new Map<SessionId, ChangeSet>();
  readonly #looks = new Map<SessionId, { readonly timer: NodeJS.Timeout; readonly after: number }>();
  /** Calls that ran since the last look, and when they ended. */
  readonly #calls = new Map<SessionId, Map<CallId, number>>();
  /** The session behind each file's current content, where several sessions share a folder, and when that was found; keys are absolute paths. */
  readonly #claims = new Map<string, Claim>();
  /** When each session's latest turn began to look at its files: what was claimed before is not what the turn changed. */
  readonly #begun = new Map<SessionId, { readonly turnId: TurnId; readonly at: number }>();
  /** Since when each session only waits for the user's answers: what changes after that is not from its agent. */
  readonly #waits = new Map<SessionId, number>();
  readonly #changes = this.#life.own(new Emitter<SessionId>());
  readonly onChange = this.#changes.listen;
  readonly #writes = this.#life.own(new Emitter<string>());
  /** A file was written or removed for the user, by a decision; absolute paths. */
  readonly onWrote = this.#writes.listen;
  readonly #broughtBack = this.#life.own(new Emitter<{ readonly sessionId: SessionId; readonly turnId: TurnId }>());
  /** Fires when a restore was undone with which the message of that prompt had gone back to the composer. */
  readonly onBroughtBack = this.#broughtBack.listen;

  /** `setType` is called with the first session: the editor loads the class only then. */
  constructor(host: SessionHost, folder: string, setType: () => typeof ChangeSet, effects: FileEffects, publish: PublishEvent, log: Log) {
    this.#host = host;
    this.#folder = folder;
    this.#setType = setType;
    this.#store = new ContentStore(path.join(folder, 'objects'));
    this.#effects = effects;
    this.#publish = publish;
    this.#log = log;
    this.#life.own(host.onChange((id, { event, now }) => !now.partial && this.#follow(id, event)));
    this.#life.own(host.onSessions(() => this.#sessionsChanged()));
    this.#life.onEnd(() => this.#looks.forEach(({ timer }) => clearTimeout(timer)));
    const alive = setInterval(() => this.#sets.forEach((set) => void set.noteAlive()), ALIVE_EVERY);
    alive.unref();
    this.#life.onEnd(() => clearInterval(alive));
    this.#sessionsChanged();
  }

  of(id: SessionId | undefined): ChangeSet | undefined {
    return id === undefined ? undefined : this.#sets.get(id);
  }

  /** Settles when what was kept of the open sessions is read. */
  async loaded(): Promise<void> {
    await Promise.all([...this.#sets.values()].map((set) => set.load()));
  }

  /** Loads the stored change set of a session that is not open. */
  async left(id: SessionId, cwd: string): Promise<ChangeSet> {
    const set = this.#make(id, cwd);
    await set.load();
    // It may have been closed in the middle of a turn.
    await set.look(undefined, true);
    return set;
  }

  /** Those of all sessions, the active one's first. */
  get all(): readonly OfSession[] {
    const { active } = this.#host;
    const all = [...this.#sets].map(([id, set]) => ({ id, set }));
    return [...all.filter(({ id }) => id === active), ...all.filter(({ id }) => id !== active)];
  }

  /** The files of all sessions whose changes are not reviewed yet, each once: as the active session has it, if it has. */
  get files(): readonly UnreviewedFile[] {
    const files = new Map<string, UnreviewedFile>();
    for (const one of this.all.flatMap(({ set }) => set.files)) if (!files.has(keyOfFile(one.path))) files.set(keyOfFile(one.path), one);
    return [...files.values()];
  }

  /** The sessions with changes to review in that file, the active one first. */
  changing(file: string): readonly OfSession[] {
    return this.all.filter(({ set }) => set.files.some((one) => isSameFile(one.path, file)));
  }

  /** The first of them. */
  reviewing(file: string): ChangeSet | undefined {
    return this.changing(file)[0]?.set;
  }

  isActive(id: SessionId): boolean {
    return id === this.#host.active;
  }

  /** How the user knows a session. */
  nameOf(id: SessionId): string {
    const session = this.#host.get(id)?.store.now;
    return session ? titleOf(session) || session.agent.name : '';
  }

  /** For each hunk that was written into since: the other sessions whose agents have done so. */
  async writers(file: string, hunks: readonly SessionHunk[]): Promise<readonly (readonly Writer[])[]> {
    const edited = hunks.filter(({ hunk }) => hunk.written);
    const others = this.all.filter(({ id }) => edited.some(({ of }) => of.id !== id));
    const all = await Promise.all(others.map(async ({ id, set }) => ({ id, wrote: await set.wroteIn(file) })));
    return hunks.map((one) => {
      if (!one.hunk.written) return [];
      return all.flatMap(({ id, wrote }) => {
        const there = id === one.of.id ? [] : wrote.filter((other) => overlaps(other, one));
        return there.length === 0 ? [] : [{ id, isAll: there.every(({ hunk }) => !hunk.written) }];
      });
    });
  }

  /**
   * Looks at the folder before the agent can change it. Never rejects, and settles after a while even when the folder is very large: of files that are
   * not read by then, what the agent changes is known to be changed, and cannot be undone, which is said of each.
   */
  async beforePrompt(id: SessionId, turnId: TurnId): Promise<void> {
    const set = this.#sets.get(id);
    if (!set) return;
    let agentSince: number | undefined;
    let looked: Promise<void> = Promise.resolve();
    const listed = new Promise<void>((resolve) => {
      const pace = { onListed: resolve, agentSince: () => agentSince };
      looked = set
        .startTurn(turnId, this.#beginTurn(id, turnId), pace)
        .then(() => this.updateCorrections(id))
        .catch((error: unknown) => this.#log.error('The files before a prompt could not be read', error))
        .finally(resolve);
    });
    await within(LONGEST_LOOK, looked);
    await within(LONGEST_LIST, listed);
    agentSince = Date.now();
  }

  /** The user is about to save that file. Settles once it is read, so that what an agent wrote into it does not count as the user's. Never rejects. */
  async userSaves(file: string): Promise<void> {
    const reads = [...this.#sets].flatMap(([id, set]) => (set.inTurn ? [set.userSaves(file, this.#explainer(id, false))] : []));
    for (const read of reads) this.#report(read);
    await Promise.allSettled(reads);
  }

  /** The user has saved that file; with `text`, they have typed that and an agent is about to save it. */
  userSaved(file: string, text?: string): void {
    for (const set of this.#sets.values()) this.#report(set.userSaved(file, text));
  }

  /** The text of that file has changed in the editor, saved or not. */
  textChanged(file: string): void {
    for (const set of this.#sets.values()) this.#report(set.textChanged(file));
  }

  /**
   * These files were written, made or removed on the disk. While an agent works, what it changes is found soon: by a look at these files alone, or, where
   * they are very many, by a scan once that rests. Absolute paths.
   */
  changedOnDisk(files: readonly string[]): void {
    for (const [id, set] of this.#sets) if (set.inTurn) this.#report(this.#lookAt(id, set, files));
  }

  /**
   * Reports files (absolute paths) that changed before the disk came to rest, to the sessions without a running turn. Leaves out what the user
   * saved.
   */
  changedBetween(files: readonly string[]): void {
    for (const set of this.#sets.values()) this.#report(set.changedBetween(files));
  }

  /** The user has made, moved or removed these files in the editor; absolute paths. */
  userMoved(files: readonly string[]): void {
    for (const set of this.#sets.values()) if (!set.inTurn) for (const file of files) this.#report(set.userSaved(file));
  }

  async #lookAt(id: SessionId, set: ChangeSet, files: readonly string[]): Promise<void> {
    const waiting = this.#looks.get(id);
    // A scan that is due soon finds everything; one that waits for the end of a burst handles the burst as a whole.
    if (waiting?.after === LOOK_AFTER) return;
    if (waiting || !(await set.lookAt(files, this.#explainer(id, false, true)))) this.#lookSoon(id, set, DISK_RESTS);
  }

  /** Scans now, before another write. */
  async look(id: SessionId): Promise<void> {
    await this.#sets.get(id)?.look(this.#explainer(id));
  }

  /** Scans all busy sessions now, so that files their agents wrote do not count as the user's. */
  async lookAll(): Promise<void> {
    for (const [id, set] of this.#sets) if (set.inTurn) await this.look(id);
  }

  /** Records that a file only the agent reported was kept or undone. */
  reportedSettled(id: SessionId, turnId: TurnId, file: string, how: 'kept' | 'undone'): void {
    const turn = this.#host.get(id)?.store.now.turns.find((one) => one.id === turnId);
    if (!turn) return;
    const files = turnFiles(turn).map((one) => (isSameFile(one.path, file) && one.review === 'reported' ? { ...one, review: how } : one));
    this.#publish(id, { type: 'turn.files', turnId, files, ...(turn.unlisted ? { unlisted: turn.unlisted } : {}) });
  }

  /** Puts the files of a session back to before a prompt, but for those `left` alone. The next prompt tells the agent. Rejects with a message for the user. */
  async restore(id: SessionId, turnId: TurnId, left?: ReadonlySet<string>, conversation?: boolean): Promise<void> {
    await this.of(id)
      ?.restore(turnId, left, conversation)
      .finally(() => this.updateCorrections(id));
  }

  /** Takes back the last restore or undo in a session. Rejects with a message for the user. */
  async undoRestore(sessionId: SessionId): Promise<void> {
    const turnId = await this.of(sessionId)
      ?.undoRestore()
      .finally(() => this.updateCorrections(sessionId));
    if (turnId !== undefined) this.#broughtBack.fire({ sessionId, turnId });
  }

  /** Tells the agent with its next prompt which files differ from what it knows. */
  async updateCorrections(id: SessionId): Promise<void> {
    const texts = (await this.of(id)?.corrections()) ?? [];
    const { corrections = [] } = this.#host.get(id)?.store.now ?? {};
    if (JSON.stringify(texts) !== JSON.stringify(corrections)) this.#publish(id, { type: 'corrections.set', texts });
  }

  /** Bytes that the contents take on the disk. */
  get diskUse(): number {
    return this.#store.bytes;
  }

  /** Drops stored data of the oldest sessions until both bounds hold. Never rejects. */
  async prune(now: number): Promise<void> {
    const names = (await readdir(this.#folder).catch(() => [])).filter((name) => name.endsWith('.json'));
    const files = await Promise.all(
      names.map(async (name) => {
        const file = path.join(this.#folder, name);
        return { file, at: (await stat(file).catch(() => undefined))?.mtimeMs ?? 0 };
      }),
    );
    const open = new Set([...this.#sets.keys()].map((id) => this.#fileOf(id)));
    const sorted = files.toSorted((a, b) => Number(open.has(b.file)) - Number(open.has(a.file)) || b.at - a.at).map((one) => one.file);
    // Loads with the change sets, which come with the first session.
    const { usedBy } = await import('./state.ts');
    for (let keep = Math.min(MOST_SESSIONS, sorted.length); keep >= 0; keep = Math.floor(keep / 2)) {
      for (const file of sorted.slice(Math.max(keep, open.size))) await rm(file, { force: true }).catch(() => {});
      const used = await Promise.all(sorted.slice(0, Math.max(keep, open.size)).map((file) => usedBy(file, this.#store)));
      if ((await this.#store.collect(new Set(used.flat()), now)) <= MOST_BYTES || keep <= open.size) return;
    }
  }

  dispose(): void {
    this.#life.dispose();
  }

  #follow(id: SessionId, event: SessionEvent): void {
    const set = this.#sets.get(id);
    if (!set) return;
    this.#noteWait(id);
    switch (event.type) {
      case 'link.opening':
        return this.#report(set.prime());
      case 'link.ready':
        // Turns that were told again, as by an agent host to another window, come without their files.
        return this.#report(set.prime().then(() => this.#publishTurnFiles(id, set)));
      case 'turn.started':
        return set.checkpoints.includes(event.turnId) ? undefined : this.#report(this.#startedTurn(id, set, event.turnId));
      case 'part.added':
        if (event.part.kind === 'call') this.#callRan(id, event.part.id);
        return;
      case 'call.changed':
        this.#callRan(id, event.callId, event.change.status);
        if (event.change.status === 'done' || event.change.status === 'failed') this.#lookSoon(id, set);
        return;
      case 'background.set':
        return set.inTurn && !this.#isBusy(id) ? this.#lookLast(id, set) : undefined;
      case 'corrections.set':
        return event.texts.length === 0 ? this.#report(set.clearCorrections()) : undefined;
      case 'turn.ended':
        return this.#isBusy(id) ? this.#report(set.look(this.#explainer(id))) : this.#lookLast(id, set);
      case 'link.closed':
        return this.#lookLast(id, set);
      default:
        return;
    }
  }

  #noteWait(id: SessionId): void {
    const session = this.#host.get(id)?.store.now;
    if (!session || !onlyWaits(session)) this.#waits.delete(id);
    else if (!this.#waits.has(id)) this.#waits.set(id, Date.now());
  }

  /** True for a session whose agent could not have made a change at that time, as it waited for the user. */
  #waitedAt(id: SessionId, at: number | undefined): boolean {
    const since = this.#waits.get(id);
    return since !== undefined && at !== undefined && at > since + CLOCK_STEP;
  }

  /** The agent is at work already, unless a prompt was held for that look. */
  #startedTurn(id: SessionId, set: ChangeSet, turnId: TurnId): Promise<void> {
    const agentSince = Date.now();
    return set.startTurn(turnId, this.#beginTurn(id, turnId), { agentSince: () => agentSince });
  }

  /** A turn begins now. Attributes what the turn before left. */
  #beginTurn(id: SessionId, turnId: TurnId): Explain {
    const explain = this.#explainer(id);
    // The look before a prompt may outlast the wait for it.
    if (this.#begun.get(id)?.turnId !== turnId) this.#begun.set(id, { turnId, at: performance.now() });
    return explain;
  }

  /** True while a turn runs or the agent works on after it. */
  #isBusy(id: SessionId): boolean {
    const session = this.#host.get(id)?.store.now;
    return session !== undefined && (isBusy(session) || worksInBackground(session));
  }

  #callRan(id: SessionId, callId: CallId, status?: ToolCall['status']): void {
    const calls = this.#calls.get(id) ?? new Map<CallId, number>();
    const known = calls.get(callId) ?? Number.POSITIVE_INFINITY;
    const end = status === undefined ? known : isSettled({ status }) ? Math.min(known, Date.now()) : Number.POSITIVE_INFINITY;
    this.#calls.set(id, calls.set(callId, end));
  }

  /** After the end of a call, or once the disk rests, which further changes put off. */
  #lookSoon(id: SessionId, set: ChangeSet, after = LOOK_AFTER): void {
    const waiting = this.#looks.get(id);
    if (waiting?.after === LOOK_AFTER) return;
    clearTimeout(waiting?.timer);
    const timer = setTimeout(() => {
      this.#looks.delete(id);
      // The last call of a background agent may have ended.
      if (this.#isBusy(id)) this.#report(set.look(this.#explainer(id)));
      else this.#lookLast(id, set);
    }, after);
    this.#looks.set(id, { timer, after });
  }

  #lookLast(id: SessionId, set: ChangeSet): void {
    this.#report(set.look(this.#explainer(id), true).then(() => this.#publishTurnFiles(id, set)));
  }

  /**
   * Attributes a change by the calls that ran since the last scan and by the work of other sessions in the folder. `isScan`: the folder is scanned
   * with it, so that calls that have ended explain nothing after it. `isEarly`: a scan follows, and knows more.
   */
  #explainer(id: SessionId, isScan = true, isEarly = false): Explain {
    const recent = this.#recentCalls(id);
    const others = [...this.#sets]
      .filter(([other, set]) => other !== id && set.inTurn)
      .map(([other]) => [other, this.#recentCalls(other)] as const);
    const left = recent.calls.filter((call) => !isSettled(call));
    if (isScan) this.#calls.set(id, new Map(left.map((call) => [call.id, Number.POSITIVE_INFINITY])));
    const begun = this.#begun.get(id)?.at ?? 0;
    return (file, content, at) => {
      const claim = this.#claims.get(file);
      if (claim && claim.id !== id && claim.content === content && claim.at >= begun) return 'other';
      const atWork = others.filter(([other]) => !this.#waitedAt(other, at));
      if (atWork.length > 0 && this.#waitedAt(id, at)) return 'other';
      const mine = explaining(recent, file, at);
      const theirs = atWork.flatMap(([, one]) => explaining(one, file, at) ?? []);
      // The other session may tell of its call only after it.
      if (isEarly && !mine?.named && others.length > 0) return 'later';
      if (!mine?.named && theirs.some(({ named }) => named || !mine)) return 'other';
      this.#claims.set(file, { id, content, at: performance.now() });
      for (const [other, set] of this.#sets) if (other !== id) this.#report(set.othersWrote(file, content));
      return mine?.callId === undefined ? undefined : { callId: mine.callId };
    };
  }

  #recentCalls(id: SessionId): RecentCalls {
    const ends = this.#calls.get(id) ?? new Map<CallId, number>();
    const { turns = [], cwd = '' } = this.#host.get(id)?.store.now ?? {};
    return { calls: turns.flatMap(callsOf).filter((call) => ends.has(call.id)), ends: new Map(ends), cwd };
  }

  /** Tells the session what its turns have changed, where that is news. */
  async #publishTurnFiles(id: SessionId, set: ChangeSet): Promise<void> {
    const session = this.#host.get(id)?.store.now;
    for (const turn of session?.turns ?? []) {
      const found = set.turnFiles(turn.id);
      if (!found || (turn.status === 'running' && found.files.length === 0)) continue;
      const watched = new Set(found.files.map((file) => keyOfFile(file.path)));
      const isWatched = (file: string) => watched.has(keyOfFile(file)) || set.watches(turn.id, file);
      // What the agent writes through a link is watched where it is.
      const reported = reportedFiles(turn, session?.cwd ?? '').filter(
        ({ path: file }) => !isWatched(file) && !isWatched(realPathNow(file)),
      );
      const there = await Promise.all(
        // The agent may not have asked about what it reports.
        reported.map(async (file) => {
          const isListed = file.review !== 'reported' || isForeign(file.path, [session?.cwd ?? '']) || (await isThere(file.path));
          return isListed ? [file] : [];
        }),
      );
      const files = [...found.files, ...there.flat()];
      const unlisted = found.unlisted && unlistedBeside(found.unlisted, files, session?.cwd ?? '');
      const event = { type: 'turn.files' as const, turnId: turn.id, files, ...(unlisted ? { unlisted } : {}) };
      if (JSON.stringify([event.files, event.unlisted]) !== JSON.stringify([turn.files, turn.unlisted])) this.#publish(id, event);
    }
  }

  #sessionsChanged(): void {
    for (const id of this.#host.all) {
      const cwd = this.#host.get(id)?.store.now.cwd;
      if (this.#sets.has(id) || cwd === undefined) continue;
      const set = this.#make(id, cwd);
      set.onChange(() => {
        this.#changes.fire(id);
        this.#report(this.#publishTurnFiles(id, set));
      });
      set.onWrote((file) => this.#wroteFor(id, file));
      set.onWrote((file) => this.#writes.fire(file));
      this.#sets.set(id, set);
      this.#callsRun(id);
      this.#report(this.#resume(id, set));
    }
    for (const id of this.#sets.keys()) if (!this.#host.get(id)) this.#forget(id);
    this.#changes.fire(this.#host.active ?? '');
  }

  /** Calls of a turn that was cut off explain what it had changed. */
  #callsRun(id: SessionId): void {
    const turn = this.#host.get(id)?.store.now.turns.at(-1);
    if (turn?.status === 'running')
      for (const call of callsOf(turn))
        this.#calls.set(
          id,
          (this.#calls.get(id) ?? new Map()).set(call.id, isSettled(call) ? (call.endedAt ?? 0) : Number.POSITIVE_INFINITY),
        );
  }

  async #resume(id: SessionId, set: ChangeSet): Promise<void> {
    await set.load();
    if (set.inTurn && !this.#isBusy(id)) this.#lookLast(id, set);
  }

  #make(id: SessionId, cwd: string): ChangeSet {
    const SetType = this.#setType();
    const isTaken = takenBeside(this.#sets, id);
    const isOthers = othersBeside(this.#sets, this.#claims, id);
    return new SetType(cwd, this.#fileOf(id), { store: this.#store, effects: this.#effects, log: this.#log, isTaken, isOthers });
  }

  /** Keeps an undo by the user in one session from counting as work of another session's agent. */
  #wroteFor(id: SessionId, file: string): void {
    for (const [other, set] of this.#sets) if (other !== id) this.#report(set.userSaved(file));
  }

  #forget(id: SessionId): void {
    this.#sets.delete(id);
    this.#calls.delete(id);
    this.#begun.delete(id);
    for (const [file, claim] of this.#claims) if (claim.id === id) this.#claims.delete(file);
  }

  #fileOf(id: SessionId): string {
    return path.join(this.#folder, `${id.replace(/[^\w-]/g, '_')}.json`);
  }

  #report(work: Promise<void>): void {
    work.catch((error: unknown) => this.#log.error('The changes of a session could not be found out', error));
  }
}

/** Tells of a file whether another session than that one has taken it away. */
function takenBeside(sets: ReadonlyMap<SessionId, ChangeSet>, id: SessionId): (file: string) => boolean {
  return (file) => [...sets].some(([other, set]) => other !== id && set.hasTaken(file));
}

/** Returns a function that says whether a file's content is, or may be, from the agent of a session other than this one. */
function othersBeside(
  sets: ReadonlyMap<SessionId, ChangeSet>,
  claims: ReadonlyMap<string, Claim>,
  id: SessionId,
): (file: string, content: string | null) => boolean {
  return (file, content) => {
    const claim = claims.get(file);
    return [...sets].some(([other, set]) => other !== id && set.inTurn) || (claim?.content === content && claim.id !== id);
  };
}

/** Waits for the work, at most so long. */
async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** Files that the agent tells of, with what was decided about them so far. */
function reportedFiles({ parts, files }: Turn, cwd: string): readonly TurnFile[] {
  const decided = new Map(files?.map((file) => [file.path, file.review]));
  return turnFiles({ parts }).map((one) => {
    const file = { ...one, path: path.resolve(cwd, one.path) };
    const review = decided.get(file.path);
    return review === 'kept' || review === 'undone' ? { ...file, review } : file;
  });
}

/** Without files that the list has, because the agent reports them. */
function unlistedBeside(
  { files, folders, between = [] }: UnlistedChanges,
  listed: readonly TurnFile[],
  cwd: string,
): UnlistedChanges | undefined {
  const keys = new Set(listed.map((file) => keyOfFile(file.path)));
  const left = folders.filter((name) => !keys.has(keyOfFile(path.resolve(cwd, name))));
  return files + left.length + between.length === 0 ? undefined : { files, folders: left, ...(between.length === 0 ? {} : { between }) };
}

async function isThere(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

/** True while all that the agent does waits for answers of the user. */
function onlyWaits(session: Session): boolean {
  if (session.asks.length === 0 || worksInBackground(session)) return false;
  const asked = new Set(session.asks.flatMap(({ callId, decision }) => (callId === undefined || decision ? [] : [callId])));
  const running = session.turns.filter(({ status }) => status === 'running').flatMap(callsOf);
  return asked.size > 0 && running.every((call) => isSettled(call) || asked.has(call.id));
}

function worksInBackground({ background, turns }: Session): boolean {
  return (background?.length ?? 0) > 0 || turns.some((turn) => callsOf(turn).some((call) => call.goesOn && !isSettled(call)));
}

/** Calls since the last scan, of a session in that folder. */
interface RecentCalls {
  readonly calls: readonly ToolCall[];
  /** In milliseconds since the epoch. */
  readonly ends: ReadonlyMap<CallId, number>;
  readonly cwd: string;
}

const CHANGES_NOTHING: ReadonlySet<ToolCall['kind']> = new Set(['read', 'search', 'think', 'fetch']);

/** Milliseconds by which the times of files may be behind. */
const CLOCK_STEP = 20;

/** `named`: the call itself names the file. Without `callId`, several calls can have changed it. `at`: when it was changed. */
function explaining(
  { calls, ends, cwd }: RecentCalls,
  file: string,
  at = 0,
): { readonly named: boolean; readonly callId?: CallId } | undefined {
  const key = keyOfFile(file);
  const isIt = (one: { readonly path: string }) => keyOfFile(path.resolve(cwd, one.path)) === key;
  const names = (call: ToolCall) => [...diffsOf(call), ...call.locations].some(isIt);
  const able = calls.filter((call) => !CHANGES_NOTHING.has(call.kind));
  const named = able.findLast(names);
  if (named) return { named: true, callId: named.id };
  // Excludes edits that name other files.
  const isInTime = (call: ToolCall) => call.goesOn === true || at <= (ends.get(call.id) ?? 0) + CLOCK_STEP;
  const [only, ...more] = able.filter((call) => diffsOf(call).length === 0 && isInTime(call));
  if (!only) return undefined;
  return more.length === 0 ? { named: false, callId: only.id } : { named: false };
}

/** In the same lines of a text. */
function overlaps(one: PlacedHunk, other: PlacedHunk): boolean {
  const end = ({ hunk, afterLine }: PlacedHunk) => afterLine + Math.max(1, hunk.after.length);
  return one.afterLine < end(other) && other.afterLine < end(one);
}
