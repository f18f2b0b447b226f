import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Emitter } from '../../base/emitter.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { Log } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { SessionId, TurnId } from '../../session/model.ts';
import type { SessionHost } from '../surface.ts';
import { ChangeSet, type FileEffects, usedBy } from './changeSet.ts';
import { ContentStore } from './contentStore.ts';

/** Milliseconds after the end of a call until the folder is looked at; calls come in bursts. */
const LOOK_AFTER = 300;
/** Milliseconds that a prompt waits for the first look at its folder. */
const LONGEST_LOOK = 2000;
/** Sessions whose changes can still be reviewed, and bytes that the texts before them may take. */
const MOST_SESSIONS = 50;
const MOST_BYTES = 1024 * 1024 * 1024;

/** The change sets of all sessions, kept in step with their turns. */
export class ChangeSets implements Disposable {
  readonly #host: SessionHost;
  readonly #folder: string;
  readonly #store: ContentStore;
  readonly #effects: FileEffects;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #sets = new Map<SessionId, ChangeSet>();
  readonly #looks = new Map<SessionId, NodeJS.Timeout>();
  readonly #changes = this.#life.own(new Emitter<SessionId>());
  readonly onChange = this.#changes.listen;

  constructor(host: SessionHost, folder: string, effects: FileEffects, log: Log) {
    this.#host = host;
    this.#folder = folder;
    this.#store = new ContentStore(path.join(folder, 'objects'));
    this.#effects = effects;
    this.#log = log;
    this.#life.own(host.onChange((id, { event, now }) => !now.partial && this.#follow(id, event)));
    this.#life.own(host.onSessions(() => this.#sessionsChanged()));
    this.#life.onEnd(() => this.#looks.forEach((timer) => clearTimeout(timer)));
    this.#sessionsChanged();
  }

  of(id: SessionId | undefined): ChangeSet | undefined {
    return id === undefined ? undefined : this.#sets.get(id);
  }

  /** The session with changes in that file to review, the active one first. */
  reviewing(file: string): ChangeSet | undefined {
    const sets = [this.of(this.#host.active), ...this.#sets.values()];
    return sets.find((set) => set?.files.some((one) => one.path === file));
  }

  /** Looks at the folder before the agent can change it. Never rejects, and settles after a while even when the folder is very large. */
  async beforePrompt(id: SessionId, turnId: TurnId): Promise<void> {
    const set = this.#sets.get(id);
    if (!set) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LONGEST_LOOK);
    });
    const looked = set.startTurn(turnId).catch((error: unknown) => this.#log.error('The files before a prompt could not be read', error));
    await Promise.race([looked, late]);
    clearTimeout(timer);
  }

  userSaved(file: string): void {
    for (const set of this.#sets.values()) this.#report(set.userSaved(file));
  }

  /** Drops what the oldest sessions left, within both bounds. Never rejects. */
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
    for (let keep = Math.min(MOST_SESSIONS, sorted.length); keep >= 0; keep = Math.floor(keep / 2)) {
      for (const file of sorted.slice(Math.max(keep, open.size))) await rm(file, { force: true });
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
    switch (event.type) {
      case 'link.ready':
        return this.#report(set.prime());
      case 'turn.started':
        return set.checkpoints.includes(event.turnId) ? undefined : this.#report(set.startTurn(event.turnId));
      case 'call.changed':
        if (event.change.status === 'done' || event.change.status === 'failed') this.#lookSoon(id, set);
        return;
      case 'turn.ended':
      case 'link.closed':
        return this.#report(set.look(true));
      default:
        return;
    }
  }

  #lookSoon(id: SessionId, set: ChangeSet): void {
    if (this.#looks.has(id)) return;
    const timer = setTimeout(() => {
      this.#looks.delete(id);
      this.#report(set.look());
    }, LOOK_AFTER);
    this.#looks.set(id, timer);
  }

  #sessionsChanged(): void {
    for (const id of this.#host.all) {
      const cwd = this.#host.get(id)?.store.now.cwd;
      if (this.#sets.has(id) || cwd === undefined) continue;
      const set = new ChangeSet(cwd, this.#fileOf(id), this.#store, this.#effects, this.#log);
      set.onChange(() => this.#changes.fire(id));
      this.#sets.set(id, set);
      this.#report(set.load());
    }
    for (const id of this.#sets.keys()) if (!this.#host.get(id)) this.#sets.delete(id);
    this.#changes.fire(this.#host.active ?? '');
  }

  #fileOf(id: SessionId): string {
    return path.join(this.#folder, `${id.replace(/[^\w-]/g, '_')}.json`);
  }

  #report(work: Promise<void>): void {
    work.catch((error: unknown) => this.#log.error('The changes of a session could not be found out', error));
  }
}
