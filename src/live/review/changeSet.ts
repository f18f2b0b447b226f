import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { access, lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { Emitter } from '../../base/emitter.ts';
import { KeyedQueue } from '../../base/keyedQueue.ts';
import { t } from '../../base/l10n.ts';
import type { Log } from '../../base/log.ts';
import { pathBelow, realPathNow } from '../../protocols/paths.ts';
import { inMannerOf, plain } from '../../session/diffs.ts';
import {
  afterText,
  beforeText,
  compareTexts,
  type Hunk,
  hunksOfSegments,
  type PlacedHunk,
  type Segments,
  settleHunks,
  withUserText,
} from '../../session/segments.ts';
import type { ContentStore } from './contentStore.ts';
import { type FileState, type Files, type ScanLimits, scanFolder, stateOf, usualLimits } from './scan.ts';

/** A file of the session's folder whose changes by the agent are not reviewed yet. */
export interface ChangedFile {
  /** Relative to the folder, with slashes. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly kind: 'created' | 'deleted' | 'changed';
}
/** What a change set does to files. Text goes through the editor, so that unsaved text stays. */
export interface FileEffects {
  /** The text as the user has it, unsaved text first; null when there is no file, undefined when it is no text. */
  readText(path: string): Promise<string | null | undefined>;
  /** `from` is the text that `text` was made of; rejects where the user has changed the same place since. */
  writeText(path: string, text: string, from: string): Promise<void>;
  hasUnsaved(path: string): boolean;
}
export interface RestorePreview {
  readonly turnId: string;
  readonly files: readonly { readonly name: string; readonly how: 'rewrite' | 'create' | 'delete' | 'unknown' }[];
}

/** Contents by their names in the store; null: there is no such file. `before` leaves out what is still to be reviewed. */
interface Tracked {
  readonly before: string | null;
  readonly after: string | null;
}
/** A file that a restore replaced: what it was, and, if it was under review, its other side. */
interface Replaced {
  readonly name: string;
  readonly present: string | null;
  readonly before?: string | null | undefined;
}
interface Checkpoint {
  readonly turnId: string;
  /** The list of all files, as an object of the store. */
  readonly files: string;
  /** Files that the agent changed in that turn. */
  readonly changed: readonly string[];
}
const hash = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const tracked = z.object({ before: z.nullable(hash), after: z.nullable(hash) });
const stored = z.object({
  version: z.literal(1),
  files: z.array(z.tuple([z.string(), tracked])),
  checkpoints: z.array(z.object({ turnId: z.string(), files: hash, changed: z.array(z.string()) })),
  undo: z.optional(z.array(z.object({ name: z.string(), present: z.nullable(hash), before: z.optional(z.nullable(hash)) }))),
});
const listed = z.array(z.tuple([z.string(), z.nullable(hash)]));
/** Prompts that can be gone back to. */
const MOST_CHECKPOINTS = 100;

/** What the agent of one session has done to the files of its folder, found by comparing the folder before and after, whoever wrote it and how. */
export class ChangeSet {
  readonly #root: string;
  readonly #file: string;
  readonly #store: ContentStore;
  readonly #effects: FileEffects;
  readonly #log: Log;
  readonly #limits: ScanLimits;
  readonly #queue = new KeyedQueue();
  readonly #changes = new Emitter<void>();
  readonly onChange = this.#changes.listen;
  #now: Files = new Map();
  #partial = false;
  #tracked = new Map<string, Tracked>();
  #checkpoints: Checkpoint[] = [];
  /** What the last restore replaced. */
  #undo: Replaced[] = [];
  #loaded = false;
  /** What happens in the folder may be the agent's. */
  #inTurn = false;

  /** `file` is where the state is kept between windows. */
  constructor(root: string, file: string, store: ContentStore, effects: FileEffects, log: Log, limits = usualLimits) {
    this.#root = root;
    this.#file = file;
    this.#store = store;
    this.#effects = effects;
    this.#log = log;
    this.#limits = limits;
  }

  get files(): readonly ChangedFile[] {
    return [...this.#tracked]
      .map(([name, { before, after }]) => ({
        name,
        path: path.join(this.#root, name),
        kind: before === null ? ('created' as const) : after === null ? ('deleted' as const) : ('changed' as const),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The folder holds more than is watched. */
  get partial(): boolean {
    return this.#partial;
  }

  get checkpoints(): readonly string[] {
    return this.#checkpoints.map((one) => one.turnId);
  }

  get canUndoRestore(): boolean {
    return this.#undo.length > 0;
  }

  /** Reads the folder, so that the look at the beginning of a turn is quick. */
  prime(): Promise<void> {
    return this.#run(async () => {
      if (this.#now.size === 0) await this.#scan();
    });
  }

  /** The prompts in which the agent changed that file. */
  turnsChanging(file: string): readonly string[] {
    const name = this.#nameOf(file);
    return this.#checkpoints.filter((one) => name !== undefined && one.changed.includes(name)).map((one) => one.turnId);
  }

  /** Brings back what an earlier window left; what happened to the files in between was not the agent. */
  load(): Promise<void> {
    return this.#run(async () => {
      if (this.#loaded) return;
      this.#loaded = true;
      const parsed = stored.safeParse(await readJson(this.#file));
      if (!parsed.success) return;
      this.#tracked = new Map(parsed.data.files);
      this.#checkpoints = parsed.data.checkpoints;
      this.#undo = parsed.data.undo ?? [];
      for (const name of this.#tracked.keys()) await this.#absorbUser(name, await this.#present(name));
      this.#changes.fire();
    });
  }

  /** A prompt is about to be sent: what differs from the end of the last turn is the user's, and the state is one to go back to. */
  async startTurn(turnId: string): Promise<void> {
    await this.load();
    await this.#run(async () => {
      const { files } = await this.#scan();
      this.#inTurn = true;
      for (const name of this.#tracked.keys()) await this.#absorbUser(name, files.get(name)?.hash ?? null);
      const list = Buffer.from(JSON.stringify([...files].map(([name, state]) => [name, state.hash])));
      this.#checkpoints.push({ turnId, files: await this.#store.put(list), changed: [] });
      this.#checkpoints = this.#checkpoints.slice(-MOST_CHECKPOINTS);
      await this.#save();
    });
  }

  /** Looks what the agent has done since the last look; `last`: with it the turn is over. */
  look(last = false): Promise<void> {
    return this.#run(async () => {
      const checkpoint = this.#checkpoints.at(-1);
      if (!this.#inTurn || !checkpoint) return;
      const before = this.#now;
      const { files } = await this.#scan();
      this.#inTurn = !last;
      const names = new Set([...before.keys(), ...files.keys()]);
      const changed = [...names].filter((name) => this.#track(name, before.get(name), files.get(name)));
      if (changed.length === 0) return;
      this.#checkpoints[this.#checkpoints.length - 1] = { ...checkpoint, changed: [...new Set([...checkpoint.changed, ...changed])] };
      await this.#save();
      this.#changes.fire();
    });
  }

  /** The user has saved that file: what is new in it is theirs. */
  userSaved(file: string): Promise<void> {
    return this.#run(async () => {
      const name = this.#nameOf(file);
      if (name === undefined || this.#checkpoints.length === 0) return;
      const state = await stateOf(file, this.#store, this.#now.get(name));
      this.#now = new Map(this.#now);
      if (state) (this.#now as Map<string, FileState>).set(name, state);
      if (!this.#tracked.has(name)) return;
      await this.#absorbUser(name, state?.hash ?? null);
      await this.#save();
      this.#changes.fire();
    });
  }

  /** The text of the file without what is to be reviewed: null when there was none, undefined when it is not known or no text. */
  async baseText(file: string): Promise<string | null | undefined> {
    const found = this.#tracked.get(this.#nameOf(file) ?? '');
    return found && this.#textOf(found.before);
  }

  /** The hunks of a file as it is now; undefined when it is not under review, or no text. */
  async segments(file: string): Promise<Segments | undefined> {
    const found = this.#tracked.get(this.#nameOf(file) ?? '');
    const present = found && (await this.#effects.readText(file));
    if (!found || present === undefined) return undefined;
    const before = await this.#textOf(found.before);
    return before === undefined ? undefined : compareTexts(plain(before ?? ''), plain(present ?? ''));
  }

  /** Keeps or undoes hunks of a file, or all of it. Rejects with a message for the user when that is not possible any more. */
  settle(file: string, how: 'keep' | 'undo', which: 'all' | readonly PlacedHunk[] = 'all'): Promise<void> {
    return this.#run(async () => {
      const name = this.#nameOf(file);
      const found = name === undefined ? undefined : this.#tracked.get(name);
      if (name === undefined || !found) throw new Error(t('{0} has no changes to review.', path.basename(file)));
      if (which !== 'all') await this.#settleHunks(name, found, how, which);
      else if (how === 'keep') this.#tracked.delete(name);
      else await this.#undoFile(name, found);
      await this.#save();
      this.#changes.fire();
    });
  }

  /** What going back to before that prompt would do to files. Only files that the agent has changed since are touched. */
  async preview(turnId: string): Promise<RestorePreview | undefined> {
    const wanted = await this.#restoreList(turnId);
    if (!wanted) return undefined;
    const files = [...wanted].flatMap(([name, { target, present }]) => {
      if (target === present) return [];
      const how = target === undefined ? 'unknown' : target === null ? 'delete' : present === null ? 'create' : 'rewrite';
      return [{ name, how } as const];
    });
    return { turnId, files };
  }

  /** Puts the files back to before that prompt. Can be undone. */
  restore(turnId: string): Promise<void> {
    return this.#run(async () => {
      const wanted = await this.#restoreList(turnId);
      if (!wanted) throw new Error(t('The files before this prompt are not known any more.'));
      const targets = [...wanted].flatMap(([name, { target, present }]) =>
        target === undefined || target === present ? [] : [{ name, target, present }],
      );
      await this.#putAll(targets);
      this.#undo = targets.map(({ name, present }) => ({ name, present, before: this.#tracked.get(name)?.before }));
      await this.#settled(targets.map(({ name }) => name));
    });
  }

  /** Takes back the last restore. */
  undoRestore(): Promise<void> {
    return this.#run(async () => {
      const targets = this.#undo.map(({ name, present }) => ({ name, target: present }));
      await this.#putAll(targets);
      for (const { name, present, before } of this.#undo) if (before !== undefined) this.#tracked.set(name, { before, after: present });
      this.#undo = [];
      await this.#settled(targets.map(({ name }) => name));
    });
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run('', task);
  }

  async #scan(): Promise<{ readonly files: Files }> {
    const scan = await scanFolder(this.#root, this.#store, this.#now, this.#limits);
    this.#now = scan.files;
    this.#partial = scan.partial;
    return scan;
  }

  /** True when the file was changed. */
  #track(name: string, before: FileState | undefined, now: FileState | undefined): boolean {
    const [from, to] = [before?.hash ?? null, now?.hash ?? null];
    // Of a file too large to be kept there is nothing to show.
    if (from === to || before?.hash === null || now?.hash === null) return false;
    const first = this.#tracked.get(name)?.before;
    const base = first === undefined ? from : first;
    if (base === to) this.#tracked.delete(name);
    else this.#tracked.set(name, { before: base, after: to });
    return true;
  }

  /** A file under review was changed by somebody else: their text belongs to both sides. */
  async #absorbUser(name: string, now: string | null): Promise<void> {
    const found = this.#tracked.get(name);
    if (!found || found.after === now) return;
    const [before, after, text] = await Promise.all([found.before, found.after, now].map((one) => this.#textOf(one)));
    if (now === null || typeof text !== 'string') {
      this.#tracked.delete(name);
      return;
    }
    if (before === undefined || after === undefined) return void this.#tracked.set(name, { ...found, after: now });
    const segments = withUserText(compareTexts(plain(before ?? ''), plain(after ?? '')), plain(text));
    await this.#rebase(name, found, segments, text, now);
  }

  async #rebase(name: string, found: Tracked, segments: Segments, present: string, after: string): Promise<void> {
    const base = beforeText(segments);
    if (hunksOfSegments(segments).length === 0) return void this.#tracked.delete(name);
    const before = found.before === null && base === '' ? null : await this.#store.put(Buffer.from(inMannerOf(base, present)));
    this.#tracked.set(name, { before, after });
  }

  async #settleHunks(name: string, found: Tracked, how: 'keep' | 'undo', which: readonly PlacedHunk[]): Promise<void> {
    const file = path.join(this.#root, name);
    const present = await this.#effects.readText(file);
    const before = await this.#textOf(found.before);
    if (typeof present !== 'string' || before === undefined) {
      throw new Error(t('{0} cannot be reviewed in parts: it is not a text file, or it is gone.', name));
    }
    const segments = compareTexts(plain(before ?? ''), plain(present));
    const chosen = new Set<Hunk>();
    for (const { hunk, afterLine } of hunksOfSegments(segments)) {
      if (which.some((one) => one.afterLine === afterLine && sameHunk(one.hunk, hunk))) chosen.add(hunk);
    }
    if (chosen.size < which.length) throw new Error(t('{0} has changed in the meantime. Look at the change again.', name));
    const next = settleHunks(segments, (hunk) => chosen.has(hunk), how);
    const text = afterText(next);
    if (found.before === null && text === '' && how === 'undo') return this.#undoFile(name, found);
    if (how === 'undo') await this.#effects.writeText(file, text, plain(present));
    const state = await this.#refresh(name);
    await this.#rebase(name, found, next, inMannerOf(text, present), state ?? found.after ?? '');
  }

  /** Undoes what is left of the agent's changes; what the user wrote into the file stays. */
  async #undoFile(name: string, found: Tracked): Promise<void> {
    const file = path.join(this.#root, name);
    const present = await this.#present(name);
    const bytes = found.before === null ? null : await this.#store.get(found.before);
    if (bytes === undefined) throw new Error(t('{0} cannot be restored: the text before the change is gone.', name));
    if (this.#effects.hasUnsaved(file) || (present !== null && present !== found.after)) {
      const [text, before, after] = [await this.#effects.readText(file), await this.#textOf(found.before), await this.#textOf(found.after)];
      if (typeof text !== 'string' || before === undefined || after === undefined) {
        throw new Error(t('{0} cannot be restored: it has changed since, and is not a text file.', name));
      }
      const mine = withUserText(compareTexts(plain(before ?? ''), plain(after ?? '')), plain(text));
      await this.#effects.writeText(file, beforeText(mine), plain(text));
    } else await this.#putBytes(name, bytes);
    this.#tracked.delete(name);
    await this.#refresh(name);
  }

  /** What the file is now, into the list of files; its content's name comes back. */
  async #refresh(name: string): Promise<string | null> {
    const state = await stateOf(path.join(this.#root, name), this.#store, this.#now.get(name));
    const files = new Map(this.#now);
    if (state) files.set(name, state);
    else files.delete(name);
    this.#now = files;
    return state?.hash ?? null;
  }

  async #present(name: string): Promise<string | null> {
    return (await stateOf(path.join(this.#root, name), this.#store, this.#now.get(name)))?.hash ?? null;
  }

  async #restoreList(turnId: string) {
    const at = this.#checkpoints.findLastIndex((one) => one.turnId === turnId);
    const checkpoint = this.#checkpoints[at];
    if (!checkpoint) return undefined;
    const list = await listOf(this.#store, checkpoint.files);
    if (!list) return undefined;
    const names = new Set(this.#checkpoints.slice(at).flatMap((one) => one.changed));
    const found = new Map<string, { readonly target: string | null | undefined; readonly present: string | null }>();
    for (const name of names) {
      // In the list without a name: it was too large to be kept.
      const target = list.has(name) ? (list.get(name) ?? undefined) : null;
      found.set(name, { target, present: await this.#present(name) });
    }
    return found;
  }

  /** All contents are read, and all files looked at, before the first is written. */
  async #putAll(targets: readonly { readonly name: string; readonly target: string | null }[]): Promise<void> {
    const contents = await Promise.all(
      targets.map(async ({ name, target }) => {
        const bytes = target === null ? null : await this.#store.get(target);
        if (bytes === undefined) throw new Error(t('{0} cannot be restored: the text before the change is gone.', name));
        if (this.#effects.hasUnsaved(path.join(this.#root, name)))
          throw new Error(t('{0} has unsaved changes. Save or revert it first.', name));
        return { name, bytes };
      }),
    );
    for (const { name, bytes } of contents) await this.#putBytes(name, bytes);
  }

  async #settled(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const found = this.#tracked.get(name);
      const now = await this.#refresh(name);
      if (found && found.before === now) this.#tracked.delete(name);
      else if (found) this.#tracked.set(name, { ...found, after: now });
    }
    await this.#save();
    this.#changes.fire();
  }

  /** Writes or removes a file, whole or not at all, and never through a link. */
  async #putBytes(name: string, bytes: Uint8Array | null): Promise<void> {
    const file = path.join(this.#root, name);
    const folder = path.dirname(file);
    if (pathBelow(realPathNow(this.#root), realPathNow(folder)) === undefined) {
      throw new Error(t('{0} leads outside the folder of the session.', name));
    }
    const there = await lstat(file).catch(() => undefined);
    if (there && !there.isFile()) throw new Error(t('{0} is not a regular file any more.', name));
    if (there) await access(file, constants.W_OK);
    if (bytes === null) return rm(file, { force: true });
    await mkdir(folder, { recursive: true });
    const fresh = `${file}.${crypto.randomUUID()}.parley`;
    try {
      await writeFile(fresh, bytes, { flag: 'wx', mode: there ? there.mode & 0o777 : 0o666 });
      await rename(fresh, file);
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
  }

  async #textOf(name: string | null): Promise<string | null | undefined> {
    if (name === null) return null;
    const bytes = await this.#store.get(name);
    return bytes && isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
  }

  /** undefined for what lies outside the folder. */
  #nameOf(file: string): string | undefined {
    const name = path.relative(this.#root, file).replaceAll(path.sep, '/');
    return name === '' || name === '..' || name.startsWith('../') || path.isAbsolute(name) ? undefined : name;
  }

  async #save(): Promise<void> {
    const state = { version: 1, files: [...this.#tracked], checkpoints: this.#checkpoints, undo: this.#undo };
    try {
      await mkdir(path.dirname(this.#file), { recursive: true, mode: 0o700 });
      await writeFile(`${this.#file}.new`, JSON.stringify(state), { mode: 0o600 });
      await rename(`${this.#file}.new`, this.#file);
    } catch (error) {
      this.#log.error('The changes under review could not be saved', error);
    }
  }
}

/** Names of all contents that a change set kept in that file needs. */
export async function usedBy(file: string, store: ContentStore): Promise<readonly string[]> {
  const parsed = stored.safeParse(await readJson(file));
  if (!parsed.success) return [];
  const { files, checkpoints, undo = [] } = parsed.data;
  const lists = await Promise.all(checkpoints.map(async (one) => [one.files, ...((await listOf(store, one.files))?.values() ?? [])]));
  const names = [
    ...lists.flat(),
    ...files.flatMap(([, { before, after }]) => [before, after]),
    ...undo.flatMap(({ present, before = null }) => [present, before]),
  ];
  return names.filter((name) => name !== null);
}

/** undefined when the list is gone: then nothing is known of any file. */
async function listOf(store: ContentStore, name: string): Promise<ReadonlyMap<string, string | null> | undefined> {
  const bytes = await store.get(name);
  const parsed = listed.safeParse(bytes && parseJson(bytes.toString('utf8')));
  return parsed.success ? new Map(parsed.data) : undefined;
}

function sameHunk(a: Hunk, b: Hunk): boolean {
  return a.before.join('\n') === b.before.join('\n') && a.after.join('\n') === b.after.join('\n');
}

async function readJson(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => ''));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
