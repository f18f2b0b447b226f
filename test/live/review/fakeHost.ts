import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Emitter } from '../../../src/base/emitter.ts';
import type { ChangeSets, PublishEvent } from '../../../src/live/review/changeSets.ts';
import type { HostedSession, SessionHost } from '../../../src/live/surface.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { ToolCall } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { Store, type StoreChange } from '../../../src/session/store.ts';

/** Sessions without agents in one folder: the test says what their agents do. */
export class FakeReviewHost implements SessionHost {
  readonly root = mkdtempSync(path.join(tmpdir(), 'review-'));
  readonly state = mkdtempSync(path.join(tmpdir(), 'review-state-'));
  readonly #changes = new Emitter<{ readonly id: string; readonly change: StoreChange }>();
  readonly #lists = new Emitter<void>();
  readonly #sessions = new Map<string, HostedSession>();
  sets: ChangeSets;
  readonly #make: (host: SessionHost, folder: string, publish: PublishEvent) => ChangeSets;
  readonly active = 'a';
  #waiting: (() => void)[] = [];

  constructor(make: (host: SessionHost, folder: string, publish: PublishEvent) => ChangeSets, ...ids: readonly string[]) {
    for (const id of ids) {
      const store = new Store(newSession(id, { protocol: 'none', name: id }, this.root));
      store.onChange((change) => this.#changes.fire({ id, change }));
      this.#sessions.set(id, { id, store, profile: 'none', send: () => {}, hints: async () => [] });
    }
    this.#make = make;
    this.sets = this.#newSets();
    this.onChange(() => this.#wake());
  }
  #newSets(): ChangeSets {
    const sets = this.#make(this, this.state, (id, event) => this.say(id, event));
    sets.onChange(() => this.#wake());
    return sets;
  }
  /** The window is closed, and opened again: what ran is cut off. */
  reload(): void {
    this.sets.dispose();
    this.sets = this.#newSets();
    for (const id of this.all) this.say(id, { type: 'link.closed', reason: 'interrupted', at: Date.now() });
  }
  get all(): readonly string[] {
    return [...this.#sessions.keys()];
  }
  get(id: string): HostedSession | undefined {
    return this.#sessions.get(id);
  }
  onChange(listener: (id: string, change: StoreChange) => void) {
    return this.#changes.listen(({ id, change }) => listener(id, change));
  }
  onSessions(listener: () => void) {
    return this.#lists.listen(listener);
  }
  say(id: string, event: SessionEvent): void {
    this.#sessions.get(id)?.store.apply(event);
  }
  async start(id: string, turnId = 't'): Promise<void> {
    await this.sets.beforePrompt(id, turnId);
    this.say(id, { type: 'turn.started', turnId, at: 1, prompt: [{ type: 'text', text: 'go' }] });
  }
  end(id: string, turnId = 't'): void {
    this.say(id, { type: 'turn.ended', turnId, at: 2, status: 'done' });
  }
  call(id: string, callId: string, call: Partial<ToolCall>, turnId = 't'): void {
    const whole = {
      id: callId,
      name: 'x',
      title: callId,
      kind: 'other',
      inputText: '',
      output: [],
      locations: [],
      status: 'running',
    } as const;
    this.say(id, { type: 'part.added', turnId, part: { kind: 'call', id: callId, call: { ...whole, ...call } } });
  }
  done(id: string, callId: string, turnId = 't'): void {
    this.say(id, { type: 'call.changed', turnId, callId, change: { status: 'done' } });
  }
  path(name: string): string {
    return path.join(this.root, name);
  }
  write(name: string, text: string): void {
    writeFileSync(this.path(name), text);
  }
  edit(id: string, name: string, callId: string): void {
    const diff = { path: path.join(this.root, name), before: null, after: 'x' };
    this.call(id, callId, { kind: 'edit', output: [{ kind: 'diff', diff }] });
    this.write(name, `${id} ${callId}\n`);
    this.done(id, callId);
  }
  /** Names of the files found for a turn, with their origin. */
  rows(id: string, turnId = 't'): readonly string[] | undefined {
    const files = this.get(id)?.store.now.turns.find((turn) => turn.id === turnId)?.files;
    return files?.map((file) => `${path.basename(file.path)} ${file.review} ${file.callId ?? '-'}`).toSorted();
  }
  /** Settles once that holds; what changes wakes it. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
  remove(): void {
    this.sets.dispose();
    for (const folder of [this.root, this.state]) rmSync(folder, { recursive: true, force: true });
  }
}
