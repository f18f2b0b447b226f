import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { ChangeSet, type FileEffects } from '../../../src/live/review/changeSet.ts';
import { ContentStore, isKept } from '../../../src/live/review/contentStore.ts';
import { emptyScan, type Scan, type ScanPace, scanFolders, usualLimits } from '../../../src/live/review/scan.ts';
import { randomFrom } from '../../random.ts';

/** A store whose first contents wait until the test lets them through. */
class SlowStore extends ContentStore {
  #open: () => void = () => {};
  readonly #gate = new Promise<void>((resolve) => {
    this.#open = resolve;
  });
  #reached: () => void = () => {};
  /** Settles when the first content is to be kept. */
  readonly reached = new Promise<void>((resolve) => {
    this.#reached = resolve;
  });
  override async put(bytes: Uint8Array): Promise<string> {
    this.#reached();
    await this.#gate;
    return super.put(bytes);
  }
  let(): void {
    this.#open();
  }
}

async function inFolder(run: (root: string, store: SlowStore, state: string) => Promise<void>): Promise<void> {
  const base = mkdtempSync(path.join(tmpdir(), 'scan-'));
  const root = path.join(base, 'root');
  mkdirSync(root);
  try {
    await run(root, new SlowStore(path.join(base, 'objects')), path.join(base, 's.json'));
  } finally {
    rmSync(base, { recursive: true });
  }
}
const effects: FileEffects = { readText: async () => null, writeText: async () => {}, hasUnsaved: () => false, folders: () => [] };
const COUNT = 60;

test('what the agent writes, makes and deletes while the files are still read is its change; nothing of it is the baseline', () =>
  inFolder(async (root, store, state) => {
    const file = (name: string) => path.join(root, name);
    for (let at = 0; at < COUNT; at += 1) writeFileSync(file(`f${at}`), `before ${at}\n`);
    const set = new ChangeSet(root, state, { store, effects, log: silentLog });
    let agentSince: number | undefined;
    const started = set.startTurn('t', undefined, { agentSince: () => agentSince });
    // Every file is listed, and the first are being kept: now the prompt goes.
    await store.reached;
    agentSince = Date.now();
    for (let at = 0; at < 40; at += 1) writeFileSync(file(`f${at}`), `after ${at}\n`);
    rmSync(file('f50'));
    writeFileSync(file('made'), 'made\n');
    store.let();
    await started;
    await set.look(undefined, true);
    const rows = new Map(set.turnFiles('t')?.files.map((one) => [path.basename(one.path), one]));
    assert.equal(rows.size, 42);
    assert.deepEqual([rows.get('f50')?.change, rows.get('made')?.change, rows.get('made')?.review], ['deleted', 'created', 'open']);
    // What was read in time comes back; the rest is said, and left alone.
    const preview = await set.preview('t');
    assert.equal(preview?.files.length, 42);
    for (let at = 0; at < 40; at += 1) {
      const row = rows.get(`f${at}`);
      const text = await set.turnTexts('t', file(`f${at}`));
      assert.equal(text?.after, `after ${at}\n`);
      assert.ok(
        row?.review === 'open' ? text.before === `before ${at}\n` : row?.review === 'unkept' && text.before === undefined,
        `f${at}`,
      );
    }
    const unread = [...rows.values()].filter(({ review }) => review === 'unkept');
    assert.deepEqual([...new Set(unread.map((one) => one.whyUnkept))], ['The files before this prompt are not known.']);
    // Undoing all leaves none of these without a word.
    await assert.rejects(set.settleAll('undo'), /keeps no copy of it/);
    assert.deepEqual(set.files.map((one) => one.name).sort(), unread.map((one) => path.basename(one.path)).sort());
    const written = unread.filter(({ change }) => change === 'changed');
    for (const { path: left } of written) assert.match(readFileSync(left, 'utf8'), /^after/);
  }));

test('a turn that begins while its prompt’s look goes on does not look once more', () =>
  inFolder(async (root, store, state) => {
    writeFileSync(path.join(root, 'x'), 'before\n');
    const set = new ChangeSet(root, state, { store, effects, log: silentLog });
    let agentSince: number | undefined;
    const first = set.startTurn('t', undefined, { agentSince: () => agentSince });
    await store.reached;
    agentSince = Date.now();
    const again = set.startTurn('t');
    writeFileSync(path.join(root, 'x'), 'after\n');
    store.let();
    await Promise.all([first, again]);
    await set.look(undefined, true);
    assert.deepEqual([set.checkpoints, set.files.map(({ name }) => name)], [['t'], ['x']]);
  }));

test('the look before a prompt does not wait for the contents that are read ahead of it', () =>
  inFolder(async (root, store, state) => {
    for (let at = 0; at < COUNT; at += 1) writeFileSync(path.join(root, `f${at}`), `before ${at}\n`);
    const set = new ChangeSet(root, state, { store, effects, log: silentLog });
    const primed = set.prime();
    await store.reached;
    let puts = 0;
    const put = store.put.bind(store);
    store.put = (bytes) => {
      puts += 1;
      return put(bytes);
    };
    const listed = new Promise<number>((resolve) => {
      void set.startTurn('t', undefined, { onListed: () => resolve(puts) });
    });
    store.let();
    // Those that were being read when it was asked for are finished, no further one is begun.
    assert.ok((await listed) < 8);
    await primed;
    await set.look();
    assert.equal(set.checkpoints.length, 1);
  }));

test('where not even the list is there when the prompt goes, files written since are never taken for what was there before', () =>
  inFolder(async (root, store) => {
    const file = (name: string) => path.join(root, name);
    store.let();
    for (const name of ['known', 'unknown', 'untouched']) writeFileSync(file(name), 'before\n');
    const folders = { root, others: [] };
    const first = await scanFolders(folders, store, emptyScan(folders));
    const known = new Map([...first.files].filter(([name]) => name !== 'unknown'));
    const written = Date.now();
    while (Date.now() < written + 40) await new Promise((resolve) => setImmediate(resolve));
    const since = Date.now();
    for (const name of ['known', 'unknown', 'made']) appendFileSync(file(name), 'after\n');
    const late = await scanFolders(folders, store, { ...first, files: known }, usualLimits, { agentSince: () => since });
    assert.deepEqual([...late.files.keys()], ['known', 'made', 'unknown', 'untouched']);
    assert.equal(late.files.get('known')?.content, first.files.get('known')?.content);
    for (const name of ['made', 'unknown']) assert.equal(isKept(late.files.get(name)?.content ?? ''), false);
    // The next look reads what they hold now.
    const next = await scanFolders(folders, store, late);
    const changed = [...next.files.keys()].filter((name) => next.files.get(name)?.content !== late.files.get(name)?.content);
    assert.deepEqual(changed, ['known', 'made', 'unknown']);
  }));

test('a file that another one was renamed over before anything was listed is not undone: what it held is not known', () =>
  inFolder(async (root, store, state) => {
    const file = (name: string) => path.join(root, name);
    store.let();
    for (const name of ['replaced', 'untouched']) writeFileSync(file(name), 'before\n');
    const written = Date.now();
    while (Date.now() < written + 40) await new Promise((resolve) => setImmediate(resolve));
    appendFileSync(file('untouched'), 'more\n');
    const set = new ChangeSet(root, state, { store, effects, log: silentLog });
    const since = Date.now();
    writeFileSync(file('fresh'), 'after\n');
    renameSync(file('fresh'), file('replaced'));
    await set.startTurn('t', undefined, { agentSince: () => since });
    await set.look(undefined, true);
    const [row] = set.files.filter(({ name }) => name === 'replaced');
    assert.deepEqual([row?.kind, row?.unkept, row?.whyUnkept], ['changed', true, 'The files before this prompt are not known.']);
    await assert.rejects(set.settle(file('replaced'), 'undo'), /keeps no copy of it/);
    assert.equal((await set.preview('t'))?.files.find(({ name }) => name === 'replaced')?.how, 'unknown');
    assert.equal(readFileSync(file('replaced'), 'utf8'), 'after\n');
  }));

test('in a folder with too many files the watched ones stay the same, whatever comes or goes before them', () =>
  inFolder(async (root, store) => {
    store.let();
    const random = randomFrom(7);
    const limits = { ...usualLimits, files: 30 };
    const names = Array.from({ length: 50 }, (_, at) => `${'abc'[at % 3]}/${String.fromCharCode(97 + (at % 7))}/f${at}`);
    const write = (name: string, text: string) => {
      mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      writeFileSync(path.join(root, name), text);
    };
    for (const name of names) write(name, 'before\n');
    const folders = { root, others: [] };
    const scan = (before: Pick<Scan, 'files' | 'ends'>, pace?: ScanPace) => scanFolders(folders, store, before, limits, pace);
    let last = await scan(emptyScan(folders));
    assert.deepEqual([last.files.size, last.partial], [30, true]);
    const watched = new Set(last.files.keys());
    const there = new Set(names);
    for (let round = 0; round < 40; round += 1) {
      const fresh = `${'abc'[random(3)]}/${String.fromCharCode(97 + random(7))}/n${round}`;
      write(fresh, 'new\n');
      const gone = [...there][random(there.size)] ?? '';
      rmSync(path.join(root, gone));
      there.delete(gone);
      there.add(fresh);
      const next = await scan(last);
      const came = [...next.files.keys()].filter((name) => !last.files.has(name));
      const went = [...last.files.keys()].filter((name) => !next.files.has(name));
      for (const name of came) assert.equal(name, fresh);
      for (const name of went) assert.equal(name, gone);
      if (watched.has(gone)) assert.deepEqual(went, [gone]);
      last = next;
    }
  }));

test('files that new ones push out of a walk are watched on', () =>
  inFolder(async (root, store) => {
    store.let();
    const limits = { ...usualLimits, files: 10 };
    for (let at = 0; at < 8; at += 1) writeFileSync(path.join(root, `z${at}`), 'before\n');
    const folders = { root, others: [] };
    const first = await scanFolders(folders, store, emptyScan(folders), limits);
    for (let at = 0; at < 30; at += 1) writeFileSync(path.join(root, `a${at}`), 'new\n');
    const next = await scanFolders(folders, store, first, limits);
    assert.deepEqual([first.partial, next.partial], [false, true]);
    assert.deepEqual(
      [...first.files.keys()].filter((name) => !next.files.has(name)),
      [],
    );
  }));
