import { createHash } from 'node:crypto';
import path from 'node:path';
import { KeyedQueue } from '../base/keyedQueue.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import { type ChangeSet, countLines, type FileEffects } from '../live/review/changeSet.ts';
import type { ChangeSets } from '../live/review/changeSets.ts';
import { reduceChangeset } from '../protocols/ahp/reduce.ts';
import type { ChangesetAction, ChangesetFile, ChangesetOperation, ChangesetState, FileEdit } from '../protocols/ahp/state.ts';
import { plain } from '../session/lineEnds.ts';
import type { SessionId, TurnFile, TurnId } from '../session/model.ts';
import { compareTexts } from '../session/segments.ts';
import { type ChangedTextPlace, changedTextUri, fileUri, pathOfUri } from './addresses.ts';
import type { Channels, Origin } from './channels.ts';

/** Most files of one changeset, because counting lines reads their texts. */
const MOST_FILES = 500;

/** The changes of a changeset: the unreviewed ones of a session, or all of one turn. */
interface Scope {
  readonly id: SessionId;
  readonly cwd: string;
  readonly turnId: TurnId | undefined;
}
interface Held extends Scope {
  readonly state: ChangesetState;
}

/** The files that agents have changed, from the review's baseline, with Keep and Undo. */
export class Changesets implements Disposable {
  readonly #sets: ChangeSets;
  readonly #effects: FileEffects;
  readonly #channels: Channels;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #queue = new KeyedQueue();
  /** Entries that a client has subscribed to, by channel. */
  readonly #held = new Map<string, Held>();
  /** Change sets of sessions without a running agent. */
  readonly #left = new Map<SessionId, ChangeSet>();

  constructor(sets: ChangeSets, effects: FileEffects, channels: Channels, log: Log) {
    this.#sets = sets;
    this.#effects = effects;
    this.#channels = channels;
    this.#log = log;
    this.#life.own(sets.onChange((id) => this.#changed(id)));
  }

  /** Returns the state for a client that subscribes. */
  shown(channel: string, scope: Scope): Promise<ChangesetState> {
    return this.#queue.run(channel, async () => {
      const state = await this.#stateOf(scope);
      this.#held.set(channel, { ...scope, state });
      return state;
    });
  }

  /** Keeps or undoes the target of an operation. Rejects with a message for the user. */
  async invoke(scope: Scope, operation: 'keep' | 'undo', target: string | undefined): Promise<void> {
    const file = target === undefined ? undefined : pathOfUri(target);
    if (target !== undefined && file === undefined) throw new Error('That is no file of this computer.');
    const set = await this.#setOf(scope);
    if (scope.turnId !== undefined) await set.settleTurn(scope.turnId, operation, file);
    else if (file === undefined) await set.settleAll(operation);
    else await set.settle(file, operation);
    this.#changed(scope.id);
  }

  /** Marks files as reviewed or unreviewed. */
  async mark(channel: string, scope: Scope, action: { readonly files: readonly string[]; readonly reviewed: boolean }, origin: Origin) {
    const set = await this.#setOf(scope);
    const { reviewed } = action;
    const files = action.files.slice(0, MOST_FILES);
    // The review reports each mark; its reports are read after all marks are sent, and then nothing differs.
    await this.#queue.run(channel, async () => {
      for (const one of files) await set.mark(pathOfUri(one) ?? '', reviewed);
      const held = this.#held.get(channel);
      if (!held) return;
      const action: ChangesetAction = { type: 'changeset/filesReviewChanged', files, reviewed };
      this.#held.set(channel, { ...held, state: reduceChangeset(held.state, action) });
      this.#channels.publish(channel, action, origin);
    });
  }

  /** Returns one side of a changed file; undefined for everything else. */
  async text({ turnId, file, side }: ChangedTextPlace, id: SessionId, cwd: string): Promise<string | undefined> {
    const set = await this.#setOf({ id, cwd, turnId });
    if (turnId !== undefined) return (await set.turnTexts(turnId, file))?.[side] ?? undefined;
    if (!set.files.some((one) => one.path === file)) return undefined;
    return (side === 'before' ? await set.baseText(file) : await this.#effects.readText(file)) ?? undefined;
  }

  /** Drops the state of a removed session. */
  forget(id: SessionId): void {
    this.#left.delete(id);
    for (const [channel, held] of this.#held) {
      if (held.id !== id) continue;
      this.#held.delete(channel);
      this.#channels.publish(channel, { type: 'changeset/cleared' } satisfies ChangesetAction);
    }
  }

  dispose(): void {
    this.#life.dispose();
  }

  async #setOf({ id, cwd }: Scope): Promise<ChangeSet> {
    const set = this.#sets.of(id) ?? this.#left.get(id) ?? (await this.#sets.left(id, cwd));
    if (!this.#sets.of(id)) this.#left.set(id, set);
    return set;
  }

  #changed(id: SessionId): void {
    for (const [channel, held] of this.#held) {
      if (held.id !== id) continue;
      const published = this.#queue.run(channel, () => this.#publish(channel));
      published.catch((error: unknown) => this.#log.error('A changeset could not be told', error));
    }
  }

  async #publish(channel: string): Promise<void> {
    const held = this.#held.get(channel);
    if (!held) return;
    const state = await this.#stateOf(held);
    if (JSON.stringify(state) === JSON.stringify(held.state)) return;
    this.#held.set(channel, { ...held, state });
    const action: ChangesetAction = { type: 'changeset/contentChanged', files: state.files, operations: state.operations };
    this.#channels.publish(channel, action);
  }

  async #stateOf(scope: Scope): Promise<ChangesetState> {
    const set = await this.#setOf(scope);
    const files = scope.turnId === undefined ? await this.#toReview(set, scope) : await this.#ofTurn(set, scope, scope.turnId);
    const isOpen = scope.turnId === undefined ? files.length > 0 : isTurnOpen(set, scope.turnId);
    return { status: 'ready', files, operations: operations(isOpen) };
  }

  async #toReview(set: ChangeSet, scope: Scope): Promise<readonly ChangesetFile[]> {
    const files: ChangesetFile[] = [];
    for (const { path: file, kind, reviewed, from } of set.files.slice(0, MOST_FILES)) {
      const [before, after] = [await set.baseText(file), await this.#effects.readText(file)];
      const moved = from === undefined ? undefined : path.resolve(set.root, from);
      files.push({ ...changesetFile(scope, { path: file, kind, from: moved }, before, after), reviewed: reviewed === true });
    }
    return files;
  }

  async #ofTurn(set: ChangeSet, scope: Scope, turnId: TurnId): Promise<readonly ChangesetFile[]> {
    const files: ChangesetFile[] = [];
    for (const { path: file, change, review, from } of set.turnFiles(turnId)?.files.slice(0, MOST_FILES) ?? []) {
      if (review === 'undone' || review === 'overtaken') continue;
      const texts = await set.turnTexts(turnId, file);
      files.push(changesetFile(scope, { path: file, kind: change, from }, texts?.before, texts?.after));
    }
    return files;
  }
}

function isTurnOpen(set: ChangeSet, turnId: TurnId): boolean {
  return set.turnFiles(turnId)?.files.some(({ review }) => review === 'open') ?? false;
}

function operations(isOpen: boolean): readonly ChangesetOperation[] {
  const common = { scopes: ['changeset', 'resource'], status: isOpen ? 'idle' : 'disabled' } as const;
  return [
    { id: 'keep', label: 'Keep', icon: 'check', ...common },
    {
      id: 'undo',
      label: 'Undo',
      icon: 'discard',
      confirmation: 'Undo what the agent has changed? What you have written since stays.',
      ...common,
    },
  ];
}

type Text = string | null | undefined;

interface Change {
  readonly path: string;
  readonly kind: TurnFile['change'];
  /** The path it was moved from. */
  readonly from: string | undefined;
}

function changesetFile({ id, turnId }: Scope, { path: file, kind, from }: Change, before: Text, after: Text): ChangesetFile {
  const side = (which: 'before' | 'after', text: Text, shown: string) => {
    const place = { sessionId: id, turnId, side: which, version: versionOf(text), file };
    return { uri: fileUri(shown), content: { uri: changedTextUri(place, shown) } };
  };
  const isText = before !== undefined && after !== undefined;
  const edit: FileEdit = {
    ...(kind === 'created' ? {} : { before: side('before', before, from ?? file) }),
    ...(kind === 'deleted' ? {} : { after: side('after', after, file) }),
    diff: isText ? countLines(compareTexts(plain(before ?? ''), plain(after ?? ''))) : { added: 0, removed: 0 },
  };
  return { id: fileUri(file), edit };
}

/** Returns a version for the address, because clients cache a text by its address. */
function versionOf(text: Text): string {
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex')
    .slice(0, 12);
}
