import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { Launch, Past, Protocol } from '../protocols/adapter.ts';
import { keyOfFile } from '../protocols/paths.ts';
import type { Ports } from '../protocols/ports.ts';
import type { Session, SessionId, TurnId } from '../session/model.ts';
import type { ApprovalRule } from '../session/policy.ts';
import { newSession, reduce } from '../session/reduce.ts';
import type { StoreChange } from '../session/store.ts';
import type { Journal, JournalEntry } from './journal/journal.ts';
import type { JournalWriter } from './journal/writer.ts';
import { LiveSession } from './liveSession.ts';
import type { Profile } from './profiles.ts';
import type { SessionHost } from './surface.ts';

/** How many earlier conversations the journal keeps, and most bytes that these may take. */
export const KEPT = { sessions: 500, bytes: 1024 * 1024 * 1024 };
/** Milliseconds between checks whether another window has released a conversation. */
const LOOK_EVERY = 2000;
/** Milliseconds for which the window before a reload may still hold its conversations. */
const RELOAD_GRACE = 3000;
const RELOAD_LOOK = 100;

export interface SessionsDeps {
  /** The protocols by name, loaded when the first session needs one. */
  readonly protocols: () => Readonly<Record<string, Protocol>>;
  /** The profile of that id as it is configured now. */
  readonly profile: (id: string) => Profile | undefined;
  /** Rejects with a message for the user when the agent cannot be launched. */
  readonly launch: (profile: Profile, session: { readonly id: SessionId; readonly cwd: string }) => Promise<Launch>;
  readonly ports: (session: { readonly id: SessionId; readonly cwd: string; readonly profile: string }) => Ports;
  readonly rules: (id: SessionId, profile: string) => readonly ApprovalRule[];
  readonly client: { readonly name: string; readonly version: string };
  readonly log: Log;
  readonly trace: (id: SessionId, way: 'in' | 'out', message: unknown) => void;
  readonly now: () => number;
  readonly newId: () => string;
  readonly journal: Journal;
  /** Identifies this window, so that its open sessions are restored. */
  readonly windowKey: () => string;
}

/** Work that an agent's next prompt waits for. Never rejects. */
export type BeforePrompt = (id: SessionId, turnId: TurnId) => Promise<void>;

/** The work that the prompts of every session wait for. */
class PromptHold {
  #work: BeforePrompt | undefined;

  set(work: BeforePrompt): void {
    this.#work = work;
  }

  before(id: SessionId, turnId: TurnId): Promise<void> | undefined {
    return this.#work?.(id, turnId);
  }
}

/** All live sessions, and which one is active. */
export class Sessions implements SessionHost, Disposable {
  readonly #deps: SessionsDeps;
  readonly #open = new Map<SessionId, { readonly session: LiveSession; readonly life: Lifetime }>();
  readonly #changes = new Emitter<{ readonly id: SessionId; readonly change: StoreChange }>();
  readonly #lists = new Emitter<void>();
  readonly #hold = new PromptHold();
  readonly #life = new Lifetime();
  #active: SessionId | undefined;
  /** Sessions not restored yet (unread, open elsewhere, or of an unconfigured agent), and which one was active. */
  #awaited: { readonly ids: readonly SessionId[]; readonly active?: SessionId } = { ids: [] };
  #looking: NodeJS.Timeout | undefined;
  readonly #ended = new Set<Promise<void>>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  get active(): SessionId | undefined {
    return this.#active;
  }

  get all(): readonly SessionId[] {
    return [...this.#open.keys()];
  }

  get(id: SessionId): LiveSession | undefined {
    return this.#open.get(id)?.session;
  }

  onChange(listener: (id: SessionId, change: StoreChange) => void): Disposable {
    return this.#changes.listen(({ id, change }) => listener(id, change));
  }

  onSessions(listener: () => void): Disposable {
    return this.#lists.listen(listener);
  }

  /** Makes all further prompts wait for this. */
  holdPrompts(beforePrompt: BeforePrompt): void {
    this.#hold.set(beforePrompt);
  }

  /** Starts a conversation, new or one the agent remembers, and makes it the active one. */
  open(profile: Profile, cwd: string, past?: Past & { readonly copyOf?: string }, id = this.#deps.newId()): SessionId {
    const agent = { protocol: profile.protocol, name: profile.name };
    const writer = this.#deps.journal.create({ id, profile: profile.id, agent, cwd, at: this.#deps.now() });
    const session = this.#add(newSession(id, agent, cwd), profile, writer);
    this.#activate(id);
    if (past?.copyOf !== undefined) session.name(past.title, past.copyOf);
    void session.start(past && { key: past.key, history: true });
    return id;
  }

  /** Brings back a conversation from the journal with its transcript, unless another window has it open. */
  async reopen(id: SessionId): Promise<'open' | 'elsewhere' | 'gone'> {
    const outcome = await this.bringBack(id);
    if (outcome === 'open') this.#activate(id);
    return outcome;
  }

  /** Like `reopen`, but keeps the active session active. */
  async bringBack(id: SessionId): Promise<'open' | 'elsewhere' | 'gone'> {
    const outcome = await this.bringBackIdle(id);
    if (outcome === 'open') this.#wake(id);
    return outcome;
  }

  /** Like `bringBack`, but the agent starts with the next prompt only. */
  async bringBackIdle(id: SessionId): Promise<'open' | 'elsewhere' | 'gone'> {
    const found = this.#open.has(id) ? 'back' : await this.#load(id);
    if (found === 'elsewhere') return 'elsewhere';
    return found === 'back' ? 'open' : 'gone';
  }

  /**
   * Restores the sessions open when the window was last closed. Only the active one starts its agent; the others do on a switch. Resolves with those
   * that another window has open; they come back once it lets go of them. `onReturn` is called when the formerly active session is one of these and
   * comes back: the window before a reload may have taken long to end.
   */
  async restore(onReturn: (id: SessionId) => void = () => {}): Promise<readonly SessionId[]> {
    this.#awaited = this.#deps.journal.readOpen(this.#deps.windowKey());
    await this.#released(this.#awaited.ids);
    await this.restoreAwaited();
    const last = this.all.at(-1);
    if (last !== undefined && this.#active === undefined) this.switchTo(last);
    const elsewhere = this.#awaited.ids.filter((id) => this.#deps.journal.isElsewhere(id));
    if (elsewhere.length > 0 && !this.#life.ended) this.#looking = setInterval(() => void this.#checkAwaited(onReturn), LOOK_EVERY).unref();
    await this.#deps.journal.prune(KEPT, new Set([...this.all, ...this.#awaited.ids]), this.#deps.now());
    return elsewhere;
  }

  /** On a reload the earlier process may take a moment to end. */
  async #released(ids: readonly SessionId[]): Promise<void> {
    for (let waited = 0; waited < RELOAD_GRACE && !this.#life.ended; waited += RELOAD_LOOK) {
      if (!ids.some((id) => this.#deps.journal.isElsewhere(id))) return;
      await new Promise((resolve) => setTimeout(resolve, RELOAD_LOOK));
    }
  }

  async #checkAwaited(onReturn: (id: SessionId) => void): Promise<void> {
    if (this.#awaited.ids.some((id) => !this.#deps.journal.isElsewhere(id))) {
      const active = await this.restoreAwaited();
      if (active !== undefined) onReturn(active);
    }
    if (this.#awaited.ids.every((id) => !this.#deps.journal.isElsewhere(id))) clearInterval(this.#looking);
  }

  /** Restores sessions whose agent was missing from the settings before. Resolves with the formerly active one, if restored. */
  async restoreAwaited(): Promise<SessionId | undefined> {
    for (const id of this.#awaited.ids) {
      const found = await this.#load(id);
      if (found === 'back' || found === 'gone') this.#awaited = { ...this.#awaited, ids: this.#awaited.ids.filter((one) => one !== id) };
    }
    const { ids, active } = this.#awaited;
    if (active === undefined || !this.#open.has(active)) return undefined;
    this.#awaited = { ids };
    if (this.#active === undefined) this.switchTo(active);
    return active;
  }

  /** Makes a session active; a restored session starts its agent now. */
  switchTo(id: SessionId): void {
    if (!this.#open.has(id)) return;
    this.#activate(id);
    this.#wake(id);
  }

  /** Ends the agent and closes the session; the journal keeps it. */
  async close(id: SessionId): Promise<void> {
    const entry = this.#open.get(id);
    if (!entry) return;
    this.#open.delete(id);
    this.#end(entry.life);
    if (this.#active === id) this.#active = this.all.at(-1);
    this.#listChanged();
    await entry.session.ended;
  }

  /** Earlier conversations of this folder that are not open, newest first. */
  async past(cwd: string): Promise<readonly JournalEntry[]> {
    const entries = await this.#deps.journal.list();
    return entries.filter((entry) => keyOfFile(entry.head.cwd) === keyOfFile(cwd) && !this.#open.has(entry.head.id));
  }

  /** Sets a title the user chose, open or not. Returns false when it cannot be written: another window has the session, or it is gone. */
  async rename(id: SessionId, title: string): Promise<boolean> {
    const session = this.get(id);
    if (session) {
      session.rename(title);
      return true;
    }
    const found = await this.#deps.journal.open(id);
    if (found.kind !== 'opened') return false;
    const event = { type: 'title.set', title, chosen: true } as const;
    found.writer.record(event, reduce(found.session, event));
    found.writer.dispose();
    return true;
  }

  /** The state of a session, open or not. */
  async read(id: SessionId): Promise<Session | undefined> {
    return this.get(id)?.store.now ?? (await this.#deps.journal.read(id))?.session;
  }

  /** Opens a recorded session and shows it. Its agent starts when the user wants it to. */
  openRecorded(profile: Profile, recorded: Session): void {
    const { cwd, agent } = recorded;
    const writer = this.#deps.journal.add({ id: recorded.id, profile: profile.id, agent, cwd, at: this.#deps.now() }, recorded);
    const session = this.#add(recorded, profile, writer);
    session.interrupt();
    this.#activate(session.id);
  }

  /** Whether another window has it open. */
  isElsewhere(id: SessionId): boolean {
    return !this.#open.has(id) && this.#deps.journal.isElsewhere(id);
  }

  /** Closes the session and removes it from the journal. */
  async forget(id: SessionId): Promise<void> {
    await this.close(id);
    await this.#deps.journal.remove(id);
  }

  /** Settles once every ended agent's process has exited. */
  async agentsEnded(): Promise<void> {
    await Promise.all(this.#ended);
  }

  dispose(): void {
    this.#life.dispose();
    clearInterval(this.#looking);
    for (const { session, life } of this.#open.values()) {
      this.#end(life);
      this.#ended.add(session.ended);
    }
    this.#open.clear();
    this.#changes.dispose();
    this.#lists.dispose();
  }

  /** A session that does not end as it should keeps no other one from ending. */
  #end(life: Lifetime): void {
    try {
      life.dispose();
    } catch (error) {
      this.#deps.log.error('A session did not end as it should', error);
    }
  }

  async #load(id: SessionId): Promise<'back' | 'gone' | 'noAgent' | 'elsewhere'> {
    const found = await this.#deps.journal.open(id);
    if (found.kind !== 'opened') return found.kind;
    const profile = this.#deps.profile(found.head.profile);
    if (!profile || this.#life.ended) {
      found.writer.dispose();
      if (!profile) this.#deps.log.warn(`A session of the agent "${found.head.profile}" is left closed: that agent is not configured`);
      return 'noAgent';
    }
    this.#add(found.session, profile, found.writer).interrupt(found.lost, found.at);
    return 'back';
  }

  #add(start: Session, profile: Profile, journal: JournalWriter): LiveSession {
    const { id, cwd } = start;
    const { launch, profile: configured, rules, trace } = this.#deps;
    const hold = this.#hold;
    const protocol = this.#deps.protocols()[profile.protocol];
    if (!protocol) throw new Error(`No protocol is called "${profile.protocol}"`);
    const session = new LiveSession(start, profile.id, {
      protocol,
      launch: () => launch(configured(profile.id) ?? profile, { id, cwd }),
      ports: this.#deps.ports({ id, cwd, profile: profile.id }),
      rules: () => rules(id, profile.id),
      client: this.#deps.client,
      log: this.#deps.log,
      trace: (way, message) => trace(id, way, message),
      now: this.#deps.now,
      newId: this.#deps.newId,
      journal,
      beforePrompt: (turnId) => hold.before(id, turnId),
    });
    const life = new Lifetime();
    life.own(session);
    life.own(session.store.onChange((change) => this.#changes.fire({ id, change })));
    this.#open.set(id, { session, life });
    this.#listChanged();
    return session;
  }

  #wake(id: SessionId): void {
    const session = this.get(id);
    if (session?.store.now.link.state === 'closed' && !session.startedHere) void session.restart();
  }

  #activate(id: SessionId): void {
    this.#active = id;
    this.#listChanged();
  }

  #listChanged(): void {
    const ids = [...new Set([...this.all, ...this.#awaited.ids])];
    const active = this.#active ?? this.#awaited.active;
    this.#deps.journal.writeOpen(this.#deps.windowKey(), { ids, ...(active === undefined ? {} : { active }) });
    this.#lists.fire();
  }
}
