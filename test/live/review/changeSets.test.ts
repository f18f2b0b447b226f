import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Emitter } from '../../../src/base/emitter.ts';
import { silentLog } from '../../../src/base/log.ts';
import { ChangeSets } from '../../../src/live/review/changeSets.ts';
import type { HostedSession, SessionHost } from '../../../src/live/surface.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { ToolCall } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { type Change, Store } from '../../../src/session/store.ts';

/** Sessions without agents in one folder: the test says what their agents do. */
class Desk implements SessionHost {
  readonly root = mkdtempSync(path.join(tmpdir(), 'review-'));
  readonly state = mkdtempSync(path.join(tmpdir(), 'review-state-'));
  readonly #changes = new Emitter<{ readonly id: string; readonly change: Change }>();
  readonly #lists = new Emitter<void>();
  readonly #sessions = new Map<string, HostedSession>();
  readonly sets: ChangeSets;
  readonly active = 'a';
  #waiting: (() => void)[] = [];

  constructor(...ids: readonly string[]) {
    for (const id of ids) {
      const store = new Store(newSession(id, { protocol: 'none', name: id }, this.root));
      store.onChange((change) => this.#changes.fire({ id, change }));
      this.#sessions.set(id, { id, store, profile: 'none', send: () => {}, hints: async () => [] });
    }
    const effects = { readText: async () => null, writeText: async () => {}, hasUnsaved: () => false };
    this.sets = new ChangeSets(this, this.state, effects, (id, event) => this.say(id, event), silentLog);
    this.onChange(() => this.#wake());
    this.sets.onChange(() => this.#wake());
  }
  get all(): readonly string[] {
    return [...this.#sessions.keys()];
  }
  get(id: string): HostedSession | undefined {
    return this.#sessions.get(id);
  }
  onChange(listener: (id: string, change: Change) => void) {
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
  write(name: string, text: string): void {
    writeFileSync(path.join(this.root, name), text);
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

function withDesk(ids: readonly string[], run: (desk: Desk) => Promise<void>): () => Promise<void> {
  return async () => {
    const desk = new Desk(...ids);
    try {
      await run(desk);
    } finally {
      desk.remove();
    }
  };
}

test(
  'a change belongs to the call that names the file, else to the only one that can have made it, else to nobody known',
  withDesk(['a'], async (desk) => {
    await desk.start('a');
    desk.call('a', 'read', { kind: 'read' });
    desk.done('a', 'read');
    desk.call('a', 'npm', { kind: 'execute' });
    desk.write('made', '1');
    desk.done('a', 'npm');
    await desk.until(() => desk.sets.of('a')?.files.length === 1);
    desk.edit('a', 'edited', 'e');
    desk.call('a', 'one', { kind: 'execute' });
    desk.call('a', 'two', { kind: 'execute' });
    desk.write('by one or two', '1');
    desk.end('a');
    await desk.until(() => desk.rows('a')?.length === 3);
    assert.deepEqual(desk.rows('a'), ['by one or two open -', 'edited open e', 'made open npm']);
  }),
);

test(
  'two sessions in one folder: each has what its agent did, and no change is in both',
  withDesk(['a', 'b'], async (desk) => {
    await desk.start('a');
    await desk.start('b');
    desk.edit('a', 'of a', 'e');
    desk.edit('b', 'of b', 'e');
    desk.call('b', 'run', { kind: 'execute' });
    desk.write('by a command of b', '1');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    desk.end('b');
    await desk.until(() => desk.rows('b') !== undefined);
    assert.deepEqual([desk.rows('a'), desk.rows('b')], [['of a open e'], ['by a command of b open run', 'of b open e']]);
    await desk.sets.of('a')?.settle(path.join(desk.root, 'of a'), 'undo');
    await desk.start('b', 't2');
    desk.end('b', 't2');
    await desk.until(() => desk.rows('b', 't2') !== undefined);
    assert.deepEqual(desk.rows('b', 't2'), []);
  }),
);

test(
  'what one session’s user undoes while another’s agent works is not that agent’s',
  withDesk(['a', 'b'], async (desk) => {
    desk.write('x', 'one\n');
    await desk.start('a');
    desk.edit('a', 'x', 'e');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    await desk.start('b');
    desk.call('b', 'run', { kind: 'execute' });
    await desk.sets.of('a')?.settle(path.join(desk.root, 'x'), 'undo');
    desk.end('b');
    await desk.until(() => desk.rows('b') !== undefined);
    assert.deepEqual(desk.rows('b'), []);
  }),
);

test(
  'an agent that works on in the background is followed until it is done',
  withDesk(['a'], async (desk) => {
    await desk.start('a');
    desk.call('a', 'sub', { kind: 'other', goesOn: true });
    desk.say('a', { type: 'background.set', tasks: [{ id: 'x', text: 'works on' }] });
    desk.end('a');
    await desk.sets.look('a');
    desk.write('later', '1');
    desk.say('a', { type: 'call.changed', turnId: 't', callId: 'sub', change: { goesOn: false, status: 'done' } });
    desk.say('a', { type: 'background.set', tasks: [] });
    await desk.until(() => desk.rows('a')?.length === 1);
    assert.deepEqual(desk.rows('a'), ['later open sub']);
    desk.write('mine', '1');
    await desk.sets.look('a');
    assert.deepEqual(desk.rows('a'), ['later open sub'], 'from then on the folder is the user’s');
  }),
);

test(
  'what the agent told of a place that is not watched is listed as told, and a decision stands there, too',
  withDesk(['a'], async (desk) => {
    const outside = path.join(desk.state, 'outside.txt');
    writeFileSync(outside, 'new\n');
    await desk.start('a');
    for (const [callId, file] of [
      ['e1', outside],
      ['e2', path.join(desk.root, 'never written')],
    ] as const) {
      desk.call('a', callId, { kind: 'edit', output: [{ kind: 'diff', diff: { path: file, before: 'old\n', after: 'new\n' } }] });
      desk.done('a', callId);
    }
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    assert.deepEqual(desk.rows('a'), ['outside.txt reported -'], 'what was not written is no change');
    desk.sets.reportedSettled('a', 't', outside, 'undone');
    assert.deepEqual(desk.rows('a'), ['outside.txt undone -']);
    await desk.start('a', 't2');
    desk.end('a', 't2');
    await desk.until(() => desk.rows('a', 't2') !== undefined);
    assert.deepEqual(desk.rows('a'), ['outside.txt undone -']);
  }),
);
