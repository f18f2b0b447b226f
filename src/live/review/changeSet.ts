import path from 'node:path';
import { Emitter } from '../../base/emitter.ts';
import { KeyedQueue, mapAtOnce } from '../../base/keyedQueue.ts';
import { t } from '../../base/l10n.ts';
import { type Log, messageOf, reasonOf } from '../../base/log.ts';
import { hasMixedEnds, inMannerOf, type Manner, mannerOf, plain, withMarkOf } from '../../session/lineEnds.ts';
import { mergedInto } from '../../session/merge.ts';
import type { CallId, TurnFile, TurnId, UnlistedChanges } from '../../session/model.ts';
import { type Correction, correctionTexts, isOfProposal } from '../../session/proposal.ts';
import {
  afterLineOf,
  afterText,
  beforeText,
  compareTexts,
  type Hunk,
  hunksOfSegments,
  isWithoutOneHunk,
  linesUndone,
  type PlacedHunk,
  type Segments,
  settleHunks,
  withUserText,
  writtenSince,
  writtenText,
} from '../../session/segments.ts';
import {
  ALIVE_EVERY,
  type ContentStore,
  decoded,
  formOf,
  goneContent,
  isKept,
  isRestorable,
  isTooLarge,
  linkTarget,
  movedKey,
  utf8Text,
  whyUnkept,
} from './contentStore.ts';
import {
  changedSince,
  checkFolders,
  checkOwnPlace,
  checkPlace,
  type FileContent,
  type Folders,
  fileOf,
  filesInFolder,
  foldersAbove,
  foldersOf,
  moveFile,
  nameOf,
  otherFolder,
  placeOf,
  putFile,
  putMode,
  readable,
  removeEmptyFolder,
  removeEmptyFolders,
  shownName,
  type WrittenTogether,
  writtenTogether,
} from './folders.ts';
import {
  changedAt,
  changedBetween,
  emptyScan,
  type FileState,
  type FileStates,
  findMoves,
  foldersOfFiles,
  isOfRecords,
  type Moving,
  type Scan,
  type ScanBefore,
  type ScanLimits,
  type ScanPace,
  scanFolders,
  scanOf,
  stateIn,
  stateOf,
  usualLimits,
  watchedAmong,
} from './scan.ts';
import {
  type ContentKey,
  type CountedChange,
  emptyState,
  fileList,
  firstReview,
  isLost,
  isNothing,
  isOfMode,
  isOnlyIn,
  isOpen,
  keptBaseline,
  keptFiles,
  type LineCounts,
  lapsedOf,
  laterOf,
  nameNow,
  noteUse,
  openChanges,
  type Replaced,
  type ReviewState,
  readState,
  reopened,
  reviewedAgain,
  reviewedThen,
  type Tracked,
  type TurnBaseline,
  type TurnChange,
  undoneChanges,
  usualMode,
  withAllUndone,
  withBetween,
  withChange,
  withCounts,
  withGone,
  withKnown,
  withKnownLapsed,
  withLapsed,
  withMove,
  withOpen,
  withoutBurst,
  withoutKnown,
  withoutLapse,
  withoutLapsed,
  withoutMove,
  withoutTracked,
  withReview,
  withReviewThen,
  withSince,
  withTracked,
  withUndone,
  withUnkeptUndone,
  writeState,
} from './state.ts';

import { MOST_UNDONE, UndoneTexts, UserSaves } from './undone.ts';

/** A file of the workspace whose changes by the agent are not reviewed yet. */
export interface UnreviewedFile {
  /** As it is shown: relative to its folder, with slashes. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly kind: TurnFile['change'];
  /** The name it was moved from. */
  readonly from?: string;
  /** Lines that are left to be reviewed, once something of it was decided. */
  readonly left?: LineCounts | undefined;
  readonly reviewed: boolean;
  /** True when the file was too large to store before the change. */
  readonly unkept: boolean;
  /** The system's error message, where a text of the file could not be stored. */
  readonly whyUnkept?: string | undefined;
  /** Where it leads, where a side is a symbolic link. */
  readonly links?: TurnFile['links'];
  readonly permissions?: TurnFile['permissions'];
  readonly form?: TurnFile['form'];
  readonly noLines?: TurnFile['noLines'];
}
/** How a change set reads and writes files. Text goes through the editor, so that unsaved text stays. */
export interface FileEffects {
  /** The text as the user has it, unsaved text first; null when there is no file, undefined when the disk holds no UTF-8. */
  readText(path: string): Promise<string | null | undefined>;
  /**
   * `from` is the text that `text` was made of, both with the line ends of the file, or with \n; other lines keep theirs. Rejects where the user has
   * changed the same place since, or the path leads elsewhere than to `real`.
   */
  writeText(path: string, text: string, from: string, real?: string): Promise<void>;
  /** The same in the user's unsaved text alone, which it does not save; absent where no text is unsaved. */
  typeText?(path: string, text: string, from: string): Promise<void>;
  hasUnsaved(path: string): boolean;
  /** Returns the encoding in which the editor reads a file, by the editor's own name. */
  encoding?(path: string): string | undefined;
  /** The other folders of the workspace that a session in this folder may work in. */
  folders(root: string): readonly string[];
}
export interface RestoredFile {
  readonly name: string;
  /** `unknown`: no earlier content is stored, so the file is left alone. */
  readonly how: 'rewrite' | 'create' | 'delete' | 'unknown';
  /** Whether the user's own changes since then stay. */
  readonly users?: 'kept' | 'lost';
  /** Why it cannot be written now: a sentence that names it. */
  readonly refused?: string;
  /** For a file that was moved: the restore moves it back to `name`, which the list has too. `rewritten`: its content changes as well. */
  readonly back?: { readonly name: string; readonly rewritten: boolean };
}
/** The user's unsaved text in a file that the agent has written meanwhile; it lacks the agent's changes. Texts have \n line ends. */
export interface UnsavedBeside {
  /** The file before the agent wrote. */
  readonly base: string;
  readonly disk: string;
  readonly unsaved: string;
  /** The place of the agent's changes in the unsaved text; 0-based. */
  readonly lines: readonly number[];
}
export interface RestorePreview {
  readonly turnId: string;
  readonly files: readonly RestoredFile[];
  /** Ignored files, and folders left out of the scan, that have changed since that prompt. A restore does not touch them. */
  readonly unwatched: readonly string[];
  /** Files that changed while no prompt ran, and stay as they are as well. */
  readonly between: readonly string[];
}
/**
 * The author of a change of a file (absolute path, its content after it, and when it was made, in milliseconds since the epoch): the call that is the only
 * explanation, 'other' for another session or the user, undefined for the agent in an unknown way.
 */
export type Explain = (file: string, after: ContentKey, at?: number) => Explained;
/** `later`: more will be known of it at the next scan. */
export type Explained = { readonly callId: CallId } | 'other' | 'later' | undefined;

/** Dependencies of a change set. */
export interface ReviewDeps {
  readonly store: ContentStore;
  readonly effects: FileEffects;
  readonly log: Log;
  readonly limits: ScanLimits;
  readonly undone: UndoneTexts;
  readonly saves: UserSaves;
  /** True where another session's agent has deleted or moved that file, and that is to be decided about first. */
  readonly isTaken?: (file: string) => boolean;
  /** True where another session's agent has written that file, or may have: absolute path, its content now. */
  readonly isOthers?: (file: string, content: ContentKey) => boolean;
}

/** Milliseconds by which a note that the window is there may be late. */
const ALIVE_SLACK = 5000;
/** Prompts that can be gone back to. */
const MOST_CHECKPOINTS = 100;
/** Of many files, those after which it is first told how far it is. */
const FIRST_PORTION = 25;
/** Files that are looked at without a scan of all. */
const MOST_LOOKED_AT = 200;
/** Comparisons that are kept: of the files on the screen, and of the latest prompts' changes of them. */
const MOST_COMPARED = 8;
/** Files for which one message explains why they were not undone. */
const MOST_REASONS = 10;
/** The most files that are listed one by one of those a burst changed or deleted. */
const MOST_BESIDE_BURST = 100;
/** Longer texts are listed without their lines. */
const LONGEST_COUNTED = 2 * 1024 * 1024;

/** Changes that one session's agent made to the files of its folders, found by comparing them before and after, regardless of the tool. */
export class ChangeSet {
  readonly #file: string;
  readonly #deps: ReviewDeps;
  readonly #queue = new KeyedQueue();
  readonly #changes = new Emitter<void>();
  readonly onChange = this.#changes.listen;
  readonly #writes = new Emitter<string>();
  /** A file was written or removed here, for the user; absolute paths. */
  readonly onWrote = this.#writes.listen;
  #scan: Scan;
  #state: ReviewState = emptyState;
  /** `unsaved`: why the state could not be written. */
  #kept: { readonly loaded: boolean; readonly unsaved?: string } = { loaded: false };
  /** The latest comparisons, oldest first: after a decision several surfaces ask for the hunks of a file, and its prompts are counted again. */
  readonly #compared = new Map<string, Compared>();
  /**
   * `writing`: the file that a decision is being written into. `deciding`: the file whose hunks are being decided about; between its text and what is
   * known of that, nothing can be said of it. `inTurn`: changes of the folder may be the agent's; it may work on in the background. `until`: the
   * window was closed in the middle of the turn, at that time or soon after (milliseconds since the epoch), and it was not looked at since. `starting`:
   * the scan before a prompt is running.
   */
  #underWay: {
    readonly inTurn: boolean;
    readonly until?: number | undefined;
    readonly starting?: { readonly turnId: TurnId; readonly done: Promise<void> } | undefined;
    readonly writing?: string | undefined;
    readonly deciding?: { readonly file: string; readonly done: Promise<void> } | undefined;
  } = { inTurn: false };

  /** `file` is where the state is kept between windows. */
  constructor(root: string, file: string, deps: Omit<ReviewDeps, 'limits' | 'undone' | 'saves'> & Partial<Pick<ReviewDeps, 'limits'>>) {
    this.#file = file;
    this.#deps = { limits: usualLimits, undone: new UndoneTexts(), saves: new UserSaves(), ...deps };
    this.#scan = emptyScan(foldersOf(root, deps.effects.folders(root)));
  }

  get root(): string {
    return this.#folders.root;
  }

  get inTurn(): boolean {
    return this.#underWay.inTurn || this.#underWay.starting !== undefined;
  }

  get files(): readonly UnreviewedFile[] {
    return [...this.#state.tracked]
      .map(([name, tracked]) => ({
        name: shownName(this.#folders, name),
        path: fileOf(this.#folders, name),
        kind: kindOf(tracked),
        reviewed: tracked.reviewed === true,
        unkept: isLost(tracked),
        whyUnkept: whyUnkept(tracked.after) ?? whyUnkept(tracked.before),
        left: tracked.left,
        ...linksOf(tracked),
        ...permissionsOf(tracked),
        ...formIn(tracked),
        ...(tracked.from === undefined ? {} : { from: shownName(this.#folders, tracked.from) }),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Files that the latest prompt has changed at once, too many to be listed. */
  get burst(): number {
    return this.#state.checkpoints.at(-1)?.burst.length ?? 0;
  }

  /** True when the folder holds more than is watched. */
  get partial(): boolean {
    return this.#scan.partial;
  }

  /** Why contents cannot be kept at the moment. */
  get trouble(): string | undefined {
    return this.#scan.trouble ?? this.#kept.unsaved;
  }

  get checkpoints(): readonly TurnId[] {
    return this.#state.checkpoints.map((one) => one.turnId);
  }

  get canUndoRestore(): boolean {
    return this.#state.undo.length > 0;
  }

  /** Returns the files that the prompt changed; undefined for an unwatched prompt. */
  turnFiles(turnId: TurnId): { readonly files: readonly TurnFile[]; readonly unlisted?: UnlistedChanges } | undefined {
    const checkpoint = this.#state.checkpoints.findLast((one) => one.turnId === turnId);
    if (!checkpoint) return undefined;
    const { changes, burst, folders, between = [] } = checkpoint;
    const at = this.#state.checkpoints.lastIndexOf(checkpoint);
    const files = changes.map((change): TurnFile => {
      const later = laterOf(this.#state, at, change);
      const { name, review, added, removed, hunks, callId, from } = change;
      const why = whyUnkept(change.after) ?? whyUnkept(change.before);
      return {
        path: fileOf(this.#folders, name),
        change: kindOf(change),
        review,
        ...(later === undefined ? {} : { later }),
        ...(added === undefined ? {} : { added }),
        ...(removed === undefined ? {} : { removed }),
        ...(hunks === undefined ? {} : { hunks }),
        ...(why === undefined ? {} : { whyUnkept: why }),
        ...(callId === undefined ? {} : { callId }),
        ...(from === undefined ? {} : { from: fileOf(this.#folders, from) }),
        ...otherFolder(this.#folders, name),
        ...linksOf(change),
        ...permissionsOf(change),
        ...formIn(change),
      };
    });
    files.sort((a, b) => (a.path < b.path ? -1 : 1));
    if (burst.length + folders.length + between.length === 0) return { files };
    const shown = (names: readonly string[]) => names.map((name) => shownName(this.#folders, name));
    const beside = between.length === 0 ? {} : { between: shown(between) };
    // What was found one by one before it is listed.
    const listed = new Set(changes.map(({ name }) => name));
    return { files, unlisted: { files: burst.filter((name) => !listed.has(name)).length, folders: shown(folders), ...beside } };
  }

  /** Returns the current path of a file that a prompt left at this one. */
  placeNow(turnId: TurnId, file: string): string {
    return fileOf(this.#folders, nameNow(this.#state, turnId, nameOf(this.#folders, file) ?? ''));
  }

  /**
   * True when this change set watches the content of that file, and would list what the prompt did to it; what a link leads to is watched at its own
   * place, if at all.
   */
  watches(turnId: TurnId, file: string): boolean {
    const name = nameOf(this.#folders, file) ?? '';
    const content = this.#scan.files.get(name)?.content;
    const isInBurst = this.#state.checkpoints.findLast((one) => one.turnId === turnId)?.burst.includes(name) === true;
    return content !== undefined && linkTarget(content) === undefined && !isInBurst;
  }

  /** True while it is to be reviewed that the agent has deleted that file, or moved it. */
  hasTaken(file: string): boolean {
    const name = nameOf(this.#folders, file) ?? '';
    return this.#state.tracked.get(name)?.after === null || [...this.#state.tracked.values()].some(({ from }) => from === name);
  }

  /** Reads the folder in advance, so that the scan at the start of a turn is quick. Leaves the rest to that scan once it is due. */
  prime(): Promise<void> {
    return this.#run(async () => {
      if (this.#scan.files.size === 0) await this.#scanAnew(this.#folders, { isEnough: () => this.#underWay.starting !== undefined });
    });
  }

  /**
   * Restores the state of an earlier window; file changes in between do not count as the agent's. Where a turn was running, the next look finds what it
   * had changed until the window was closed.
   */
  load(): Promise<void> {
    return this.#run(async () => {
      if (this.#kept.loaded) return;
      this.#kept = { ...this.#kept, loaded: true };
      const found = await readState(this.#file);
      if (!found) return;
      this.#state = found;
      const open = found.checkpoints.flatMap(({ changes }) => changes.filter((one) => isOpen(one)));
      await this.#findLost([...found.tracked.values(), ...open].map(({ before }) => before));
      if (await this.#resumeTurn(found)) return this.#changes.fire();
      for (const name of found.tracked.keys()) await this.#absorbUser(name, await this.#present(name));
      await this.#reopenLapsed((name) => this.#present(name));
      this.#changes.fire();
    });
  }

  async #resumeTurn({ turn, checkpoints }: ReviewState): Promise<boolean> {
    const last = checkpoints.at(-1);
    const files = turn && last && (await keptBaseline(this.#deps.store, last.files, turn));
    const aliveAt = await changedAt(this.#file);
    if (!files || aliveAt === undefined) {
      this.#state = { ...this.#state, turn: undefined };
      return false;
    }
    // Of a folder that has come or gone since nothing can be told.
    const folders = { root: this.root, others: this.#folders.others.filter((folder) => turn.others.includes(folder)) };
    for (const name of files.keys()) if (path.isAbsolute(name) && shownName(folders, name) === name) files.delete(name);
    this.#scan = await scanOf(folders, this.#deps.store, files, new Map(turn.ends));
    this.#underWay = { ...this.#underWay, inTurn: true, until: aliveAt + ALIVE_EVERY + ALIVE_SLACK };
    return true;
  }

  /** Notes that the window is still there: what changes once it is gone is not taken for the agent's. Never rejects. */
  async noteAlive(): Promise<void> {
    if (this.#state.turn) await noteUse(this.#file);
  }

  /**
   * Takes the baseline for a prompt and makes a checkpoint of it. Changes since the last turn's end may be the user's, so they are not
   * reviewed. The prompt may be sent once the files are listed; reading them goes on until this settles. `pace` says since when the agent may
   * write.
   */
  startTurn(turnId: TurnId, explain?: Explain, pace: ScanPace = {}): Promise<void> {
    const { starting } = this.#underWay;
    if (starting?.turnId === turnId) return starting.done;
    const done = this.#startTurn(turnId, explain, pace).finally(() => {
      if (this.#underWay.starting?.done === done) this.#underWay = { ...this.#underWay, starting: undefined };
    });
    this.#underWay = { ...this.#underWay, starting: { turnId, done } };
    return done;
  }

  async #startTurn(turnId: TurnId, explain: Explain | undefined, pace: ScanPace): Promise<void> {
    await this.load();
    // An agent in the background may have written since.
    if (this.#underWay.inTurn) await this.look(explain);
    await this.#run(async () => {
      const before = this.#scan;
      const { files, emptyFolders } = await this.#scanAnew(foldersOf(this.root, this.#deps.effects.folders(this.root)), pace);
      this.#underWay = { ...this.#underWay, inTurn: true };
      const { tracked } = this.#state;
      const between = before.isRead ? await this.#unknownAmong(await changedBetween(before, this.#scan)) : [];
      this.#state = withBetween(this.#state, between);
      const now = async (name: string) => files.get(name)?.content ?? (await this.#present(name));
      for (const name of tracked.keys()) await this.#absorbUser(name, await now(name));
      await this.#reopenLapsed(now);
      const checkpoint = { turnId, files: await this.#keptList(files, emptyFolders), changes: [], burst: [], folders: [] };
      const turn = await this.#baseline();
      const isFirst = this.#state.checkpoints.length === 0;
      this.#state = { ...this.#state, turn, checkpoints: [...this.#state.checkpoints, checkpoint].slice(-MOST_CHECKPOINTS) };
      this.#state = withKnownLapsed(isFirst ? withBetween(this.#state, between) : this.#state);
      await this.#save();
      if (this.trouble !== undefined || between.length > 0 || this.#state.tracked !== tracked) this.#changes.fire();
    });
  }

  /** Those of the files, as they were scanned, that neither another session's agent has changed nor an undo in another window. */
  async #unknownAmong(names: readonly string[]): Promise<readonly string[]> {
    const unknown: string[] = [];
    for (const name of names)
      if (!this.#isOthers(name) && !(await this.#isOurs(name, this.#scan.files.get(name)?.content ?? null))) unknown.push(name);
    return unknown;
  }

  /**
   * True where a file holds nothing but what it held around the agent's changes of it: they were undone, or brought back, all or some of them. Another
   * window with the same conversation may have done it.
   */
  async #isOurs(name: string, now: ContentKey): Promise<boolean> {
    const reviewed = [...this.#state.tracked].map(([file, one]) => ({ name: file, ...one }));
    const undone = this.#state.checkpoints.flatMap(({ changes }) => changes.filter(({ review }) => review === 'undone'));
    const all = [...reviewed, ...undone];
    const isSide = all.some(
      (one) => (one.name === name && [one.before, one.after].includes(now)) || (one.from === name && one.before === now),
    );
    // A file that was moved is back at its place.
    if (
      isSide ||
      lapsedOf(this.#state, name, now).length > 0 ||
      (now === null && all.some((one) => one.name === name && one.from !== undefined))
    )
      return true;
    const found = this.#state.tracked.get(name);
    if (!found) return false;
    const [before, after, text] = await Promise.all([found.before, found.after, now].map((one) => this.#shortTextOf(one)));
    return (
      now !== null &&
      before !== undefined &&
      after !== undefined &&
      text !== undefined &&
      isOfProposal(plain(before), plain(after), plain(text))
    );
  }

  #isOthers(name: string): boolean {
    return this.#deps.isOthers?.(fileOf(this.#folders, name), this.#scan.files.get(name)?.content ?? null) === true;
  }

  /**
   * These files have changed on the disk while no turn runs; absolute paths. An agent may have written them in the background, or the user in another
   * program: they are told of, and are not under review.
   */
  changedBetween(files: readonly string[]): Promise<void> {
    return this.#run(async () => {
      if (this.inTurn || this.#state.checkpoints.length === 0) return;
      if (!this.#scan.isRead) return this.#followedChanged(files);
      const names = await watchedAmong(
        this.#scan,
        files.flatMap((file) => nameOf(this.#folders, file) ?? []),
      );
      const changed: string[] = [];
      const before = this.#state;
      for (const name of names) {
        const known = this.#scan.files.get(name);
        const state = await stateIn(this.#folders, name, this.#deps.store, known);
        if (state?.content === known?.content || this.#deps.isOthers?.(fileOf(this.#folders, name), state?.content ?? null)) continue;
        if (!(await this.#isOurs(name, state?.content ?? null))) changed.push(name);
        this.#setScanned(name, state);
        await this.#absorbUser(name, state?.content ?? null);
      }
      if (changed.length > 0) this.#state = withBetween(this.#state, changed);
      if (this.#state !== before) await this.#changed();
    });
  }

  /** The same before the folder was read, as in a new window: what was under review is looked at. */
  async #followedChanged(files: readonly string[]): Promise<void> {
    const names = files.flatMap((file) => nameOf(this.#folders, file) ?? []);
    const before = this.#state;
    const followed = new Set([...before.tracked.keys(), ...before.lapsed.flatMap(({ name, tracked: { from = name } }) => [name, from])]);
    for (const name of followed)
      if (names.some((one) => name === one || name.startsWith(`${one}/`))) await this.#absorbUser(name, await this.#present(name));
    if (this.#state !== before) await this.#changed();
  }

  /** Scans for the agent's changes since the last scan; `last`: the turn ends with this scan. */
  look(explain?: Explain, last = false): Promise<void> {
    return this.#run(() => this.#look(explain, last));
  }

  async #look(explain: Explain | undefined, last = false): Promise<void> {
    if (!this.#underWay.inTurn || this.#state.checkpoints.length === 0) return;
    const before = this.#scan;
    const isResumed = this.#underWay.until !== undefined;
    const { files, leftOut } = await this.#rescan();
    this.#underWay = { ...this.#underWay, inTurn: !last };
    const names = new Set([...before.files.keys(), ...files.keys()]);
    const differing = [...names].filter((name) => isAnother(before.files.get(name), files.get(name)));
    const changed = await this.#untilClosed(differing);
    // What was left out is not kept over the end of a window.
    const folders = isResumed ? [] : (await this.#changedAmong(before.leftOut, leftOut)).filter((name) => !changed.includes(name));
    const isOver = last && this.#state.turn !== undefined;
    if (last) this.#state = { ...this.#state, turn: undefined };
    else
      this.#state = withSince(
        this.#state,
        differing.map((name) => [name, files.get(name)?.content ?? null]),
      );
    const known = this.#state;
    this.#explainLate(explain);
    const isNews = isOver || isResumed || this.#state !== known;
    if (changed.length + folders.length === 0) return isNews ? this.#changed() : undefined;
    const isBurst = changed.length > this.#deps.limits.burst;
    const isListed = new Set(isBurst ? outOfBurst(changed, before.files) : changed);
    // What is under review by then is followed.
    const listed = changed.filter((name) => isListed.has(name) || this.#state.tracked.has(name));
    for (const name of listed) isListed.add(name);
    this.#leaveOut(
      changed.filter((name) => !isListed.has(name)),
      folders,
    );
    const progress = this.#portions();
    for (const name of listed) {
      const [from, to] = [before, this.#scan].map((scan) => scan.files.get(name)?.content ?? null);
      await this.#track(name, from ?? null, to ?? null, explain, before.files.get(name)?.mode);
      progress();
    }
    await this.#findMoves();
    await this.#changed();
  }

  /**
   * Reports progress each time that one more of many items is done, less often as they grow, because each listener reads the whole list.
   */
  #portions(): () => void {
    let [done, portion] = [0, FIRST_PORTION];
    return () => {
      done += 1;
      if (done < portion) return;
      portion *= 2;
      this.#changes.fire();
    };
  }

  /**
   * Looks at files (absolute paths) that changed on disk while a turn runs. False when there are so many that a scan should find them once the
   * disk rests.
   */
  lookAt(files: readonly string[], explain?: Explain): Promise<boolean> {
    return this.#run(async () => {
      // The first look after a reload is a scan.
      if (!this.#underWay.inTurn || this.#underWay.until !== undefined) return true;
      const names = await watchedAmong(
        this.#scan,
        files.flatMap((file) => nameOf(this.#folders, file) ?? []),
      );
      if (names.length > MOST_LOOKED_AT) return false;
      let isNews = false;
      for (const name of names) if (await this.#lookAt(name, explain)) isNews = true;
      if (!isNews) return true;
      await this.#findMoves();
      await this.#changed();
      return true;
    });
  }

  /** True when the file was changed. */
  async #lookAt(name: string, explain: Explain | undefined): Promise<boolean> {
    const known = this.#scan.files.get(name);
    const state = await stateIn(this.#folders, name, this.#deps.store, known);
    const [from, to] = [known?.content ?? null, state?.content ?? null];
    if (!isAnother(known, state)) return false;
    const file = fileOf(this.#folders, name);
    const at = state ? state.at : await changedAt(path.dirname(file));
    const who = explain?.(file, to, at);
    if (who === 'later') return false;
    this.#setScanned(name, state);
    await this.#track(name, from, to, () => who, known?.mode);
    return true;
  }

  /** A call that was not known when its change was found may be by now. */
  #explainLate(explain: Explain | undefined): void {
    const last = this.#state.checkpoints.at(-1);
    if (!last || !explain || last.changes.every(({ callId }) => callId !== undefined)) return;
    const changes = last.changes.map((change) => {
      const at = this.#scan.files.get(change.name)?.at;
      const who = change.callId === undefined && isOpen(change) ? explain(fileOf(this.#folders, change.name), change.after, at) : undefined;
      return typeof who === 'object' ? { ...change, callId: who.callId } : change;
    });
    if (changes.some((one, at) => one !== last.changes[at]))
      this.#state = { ...this.#state, checkpoints: this.#state.checkpoints.with(-1, { ...last, changes }) };
  }

  /** Returns the changed files that can be the agent's: those that changed before the window was closed. */
  async #untilClosed(changed: readonly string[]): Promise<readonly string[]> {
    const { until } = this.#underWay;
    if (until === undefined) return changed;
    this.#underWay = { ...this.#underWay, until: undefined };
    const chosen: string[] = [];
    for (const name of changed) {
      if (((await this.#changedAt(name)) ?? 0) <= until) chosen.push(name);
      else await this.#absorbUser(name, this.#scan.files.get(name)?.content ?? null);
    }
    return chosen;
  }

  /** Returns when the file last changed, as of the latest scan. A deleted file left its folder no later than the folder's last change. */
  async #changedAt(name: string): Promise<number | undefined> {
    const known = this.#scan.files.get(name);
    return known ? known.at : changedAt(path.dirname(fileOf(this.#folders, name)));
  }

  /** Files that are left out and were changed, created or deleted. */
  async #changedAmong(before: Scan['leftOut'], leftOut: Scan['leftOut']): Promise<readonly string[]> {
    const changed = [...leftOut].flatMap(([name, at]) => (before.get(name) === at ? [] : [name]));
    const left = [...before.keys()].filter((name) => !leftOut.has(name));
    const gone = await Promise.all(left.map(async (name) => ((await changedAt(fileOf(this.#folders, name))) === undefined ? [name] : [])));
    return [...changed, ...gone.flat()];
  }

  /**
   * Reads a file that the user is about to save while an agent works: changes on disk up to now are not the user's. Settles when the save may
   * go on; what the save writes counts as the user's.
   */
  async userSaves(file: string, explain?: Explain): Promise<void> {
    const name = nameOf(this.#folders, file);
    if (!this.#underWay.inTurn || name === undefined || isOfRecords(name) || this.#leftOutAs(name) !== undefined) return;
    const saved = this.#deps.saves.begin(file);
    const known = this.#scan.files.get(name);
    const state = await stateOf(file, this.#deps.store, known);
    // Only a look at its folder tells whether a new file is watched.
    const look = known ? undefined : this.look(explain);
    const take = this.#run(async () => {
      // A look in between has taken what there was.
      const isNews = known && known.content !== state?.content && this.#scan.files.get(name)?.content === known.content;
      if (isNews) {
        this.#setScanned(name, state);
        await this.#track(name, known.content, state?.content ?? null, explain, known.mode);
        await this.#changed();
      }
      if (await saved) await this.#userSaved(name, file);
    });
    take.catch((error: unknown) => this.#deps.log.error('What an agent wrote before a save could not be told apart', error));
    await look;
  }

  /** The file itself, or the folder that it is in, where that is left out. */
  #leftOutAs(name: string): string | undefined {
    return [name, ...foldersAbove(name)].find((one) => this.#scan.leftOut.has(one));
  }

  /** Counts what is new in a saved file as the user's. `text`: what they typed, when it is not on disk yet. */
  userSaved(file: string, text?: string): Promise<void> {
    // A decision that is being written has taken what is typed into account.
    if (text !== undefined && file === this.#underWay.writing) return Promise.resolve();
    if (text === undefined) this.#deps.saves.ended(file);
    return this.#run(async () => {
      const name = nameOf(this.#folders, file);
      if (name === undefined || isOfRecords(name) || (this.#state.checkpoints.length === 0 && !this.#scan.isRead)) return;
      const leftOut = this.#leftOutAs(name);
      if (leftOut !== undefined) return this.#leftOutSaved(leftOut, file);
      await this.#userSaved(name, file, text);
    });
  }

  /** Notes that another session's agent wrote the file. Lines undone here that are back again are that agent's. */
  othersWrote(file: string, content: ContentKey): Promise<void> {
    return this.#run(() => this.#followUndone(nameOf(this.#folders, file) ?? '', content));
  }

  async #followUndone(name: string, content: ContentKey): Promise<void> {
    if (this.#deps.undone.has(name)) this.#deps.undone.follow(name, shortText(await this.#textOf(content)));
  }

  async #userSaved(name: string, file: string, text?: string): Promise<void> {
    const known = this.#scan.files.get(name);
    const state =
      text === undefined
        ? await stateOf(file, this.#deps.store, known)
        : { content: await this.#deps.store.put(Buffer.from(text)), stamp: '' };
    this.#setScanned(name, state);
    const isFollowed =
      this.#state.tracked.has(name) || this.#deps.undone.has(name) || lapsedOf(this.#state, name, state?.content ?? null).length > 0;
    if (!isFollowed) return this.#state.turn ? this.#save() : undefined;
    await this.#absorbUser(name, state?.content ?? null);
    await this.#changed();
  }

  /** The user has saved a file that is ignored. */
  async #leftOutSaved(name: string, file: string): Promise<void> {
    const at = await changedAt(file);
    if (at !== undefined) this.#scan = { ...this.#scan, leftOut: new Map(this.#scan.leftOut).set(name, at) };
  }

  /**
   * Writes the mix that the user accepted of a proposal. Together with the agent's write it is one change under review, and the next prompt
   * tells the agent. Rejects when the write does.
   */
  applyEditedProposal(file: string, write: () => Promise<void>): Promise<void> {
    return this.#run(async () => {
      const name = nameOf(this.#folders, file) ?? file;
      const written = await this.#present(name);
      this.#underWay = { ...this.#underWay, writing: file };
      try {
        await write();
      } finally {
        this.#underWay = { ...this.#underWay, writing: undefined };
      }
      this.#writes.fire(file);
      const found = this.#state.tracked.get(name);
      if (found) {
        const callId = this.#state.checkpoints.at(-1)?.changes.find((one) => isOpen(one, name))?.callId;
        const agreed = await this.#refresh(name);
        await this.#track(name, found.after, agreed, callId === undefined ? undefined : () => ({ callId }));
      }
      this.#state = withKnown(this.#state, [[name, written]], 'edited');
      await this.#changed();
    });
  }

  /**
   * Undoes a reported change of a file outside the watched folders; `undo` writes it. The next prompt tells the agent. Rejects when the undo
   * does.
   */
  undoReported(file: string, undo: () => Promise<void>): Promise<void> {
    return this.#run(async () => {
      const name = nameOf(this.#folders, file) ?? file;
      const known = await this.#present(name);
      await undo();
      this.#state = withKnown(this.#state, [[name, known]], 'undone');
      await this.#changed();
    });
  }

  /** The corrections for the agent: the files that are not as it knows them. */
  corrections(): Promise<readonly string[]> {
    return this.#run(async () => {
      const found: Correction[] = [];
      for (const [name, { content, how }] of this.#state.known) {
        const present = this.#scan.files.get(name)?.content ?? (await this.#present(name));
        if (present === content) continue;
        const texts = how === 'restored' ? [] : [await this.#textOf(content), await this.#textOf(present)];
        found.push({ path: shownName(this.#folders, name), how, known: texts[0], present: texts[1] });
      }
      return correctionTexts(found);
    });
  }

  /** Clears the corrections once the agent has them. */
  clearCorrections(): Promise<void> {
    return this.#run(async () => {
      if (this.#state.known.size === 0) return;
      this.#state = { ...this.#state, known: new Map() };
      await this.#save();
    });
  }

  /** The text of the file without what is to be reviewed: null when there was none, undefined when it is unknown or not text. */
  async baseText(file: string): Promise<string | null | undefined> {
    const found = this.#state.tracked.get(nameOf(this.#folders, file) ?? '');
    return found && this.#textOf(found.before);
  }

  /** A file before and after a prompt; a side is null when there was none, undefined when it is unknown or not text. */
  async turnTexts(turnId: TurnId, file: string) {
    const change = this.#changeIn(turnId, nameOf(this.#folders, file));
    return change && { before: await this.#textOf(change.before), after: await this.#textOf(change.after) };
  }

  /** Returns the current hunks of a file, without the user's own edits; undefined when it is not under review, or not text. */
  async segments(file: string): Promise<Segments | undefined> {
    const { deciding } = this.#underWay;
    if (deciding?.file === file) await deciding.done;
    const found = this.#state.tracked.get(nameOf(this.#folders, file) ?? '');
    if (!found || !isThere(found.before) || !isThere(found.after)) return undefined;
    const present = await this.#deps.effects.readText(file);
    if (present === undefined) return undefined;
    const segments = await this.#segmentsIn(file, found, present);
    if (!segments) await this.#noteLost(file, found);
    return segments;
  }

  /** The store may have lost a side of a file: its text now is stored again, while it is on the disk, and the review says of an earlier one that it is gone. */
  async #noteLost(file: string, { before, after }: Tracked): Promise<void> {
    if (!(await this.#isLost(before)) && !(await this.#isLost(after))) return;
    await this.#run(async () => {
      const wasLost = await this.#isLost(after);
      if (wasLost) await stateOf(file, this.#deps.store, undefined);
      const then = this.#state;
      await this.#findLost([before]);
      if (this.#state === then && (!wasLost || (await this.#isLost(after)))) return;
      this.#compared.delete(file);
      await this.#changed();
    });
  }

  async #findLost(contents: Iterable<ContentKey>): Promise<void> {
    const lost = new Set<ContentKey>();
    for (const content of new Set(contents)) if (await this.#isLost(content)) lost.add(content);
    if (lost.size > 0) this.#state = withGone(this.#state, lost);
  }

  /** Returns the hunks that this session's latest prompts wrote into a file, reviewed or not, placed in its current lines. */
  async wroteIn(file: string): Promise<readonly PlacedHunk[]> {
    const name = nameOf(this.#folders, file) ?? '';
    const changes = this.#state.checkpoints.flatMap((one) => one.changes).filter((one) => one.name === name);
    const present = changes.length > 0 ? shortText(await this.#deps.effects.readText(file)) : undefined;
    if (present === undefined) return [];
    const { read } = mannerOf(present);
    const found = changes.slice(-MOST_COMPARED).map(async (change) => {
      const [before, after] = [await this.#shortTextOf(change.before), await this.#shortTextOf(change.after)];
      if (before === undefined || after === undefined) return [];
      return hunksOfSegments(withUserText(compareTexts(read(before), read(after)), read(present)));
    });
    return (await Promise.all(found)).flat();
  }

  /** undefined where the user has no unsaved text, or one with what the agent wrote last. */
  async unsavedBeside(file: string): Promise<UnsavedBeside | undefined> {
    if (!this.#deps.effects.hasUnsaved(file)) return undefined;
    const name = nameOf(this.#folders, file) ?? '';
    const change = this.#state.checkpoints.flatMap(({ changes }) => changes).findLast((one) => isOpen(one, name));
    const [before, after] = change ? [await this.#textOf(change.before), await this.#textOf(change.after)] : [];
    const [text, there] = [await this.#deps.effects.readText(file), await this.#textOf(await this.#present(name))];
    if (typeof before !== 'string' || typeof after !== 'string' || typeof text !== 'string' || typeof there !== 'string') return undefined;
    const [base, unsaved] = [plain(before), plain(text)];
    const changed = compareTexts(base, plain(after));
    const hunks = hunksOfSegments(changed);
    if (hunks.length === 0 || hunksOfSegments(withUserText(changed, unsaved)).length > 0) return undefined;
    const moved = compareTexts(base, unsaved);
    return { base, disk: plain(there), unsaved, lines: hunks.map(({ beforeLine }) => afterLineOf(moved, beforeLine)) };
  }

  /** Marks a file as looked at, until the agent changes it again. */
  mark(file: string, reviewed: boolean): Promise<void> {
    return this.#run(async () => {
      const name = nameOf(this.#folders, file) ?? '';
      const found = this.#state.tracked.get(name);
      if (!found) return;
      this.#state = withTracked(this.#state, name, { ...found, reviewed: reviewed || undefined });
      await this.#changed();
    });
  }

  /**
   * Keeps or undoes hunks of a file, or all of it. Rejects with a message for the user when that is not possible any more. Hunks whose undoing takes
   * away what the user has written into them are only undone when they are named, and `withTyped` is set.
   */
  settle(file: string, how: 'keep' | 'undo', which: 'all' | readonly PlacedHunk[] = 'all', withTyped = false): Promise<void> {
    return this.#run(async () => {
      const name = nameOf(this.#folders, file);
      const found = name === undefined ? undefined : this.#state.tracked.get(name);
      if (name === undefined || !found) throw new Error(nothingToReview(file));
      try {
        if (which !== 'all') await this.#decided(file, this.#settleHunks(name, found, how, which, withTyped));
        else if (how === 'keep') this.#state = withoutTracked(this.#state, name, 'kept', found.after);
        else await this.#undoAll([{ name, takeBack: () => this.#undoFile(name) }]);
      } finally {
        await this.#changed();
      }
    });
  }

  /** Keeps or undoes everything. Continues after a file that cannot be undone, and rejects with all reasons. */
  settleAll(how: 'keep' | 'undo'): Promise<void> {
    return this.#run(async () => {
      const all = [...this.#state.tracked];
      try {
        if (how === 'undo') {
          await this.#undoAll(all.map(([name]) => ({ name, takeBack: () => this.#undoFile(name) })));
          await this.#removeEmpty(all.map(([name]) => name));
        } else for (const [name, { after }] of all) this.#state = withoutTracked(this.#state, name, 'kept', after);
      } finally {
        await this.#changed();
      }
    });
  }

  /**
   * Keeps or undoes what one prompt did to a file, or to all of its files; changes of other prompts and the user's own stay as they are. Rejects like
   * `settle`.
   */
  settleTurn(turnId: TurnId, how: 'keep' | 'undo', file?: string): Promise<void> {
    return this.#run(async () => {
      const only = file === undefined ? undefined : nameOf(this.#folders, file);
      const changes = this.#state.checkpoints.findLast((one) => one.turnId === turnId)?.changes ?? [];
      const wanted = changes.filter((one) => isOpen(one) && (file === undefined || one.name === only));
      if (file !== undefined && wanted.length === 0) throw new Error(nothingToReview(file));
      try {
        if (how === 'undo')
          await this.#undoAll(
            wanted.map(({ name }) => ({ name: nameNow(this.#state, turnId, name), takeBack: () => this.#undoIn(turnId, name) })),
          );
        else for (const change of wanted) await this.#keepIn(turnId, change);
      } finally {
        await this.#changed();
      }
    });
  }

  /** Previews the effect of a restore to before that prompt. Touches only files that the agent has changed since. */
  async preview(turnId: TurnId): Promise<RestorePreview | undefined> {
    const steps = await this.#restoreSteps(turnId);
    const refusals = await this.#refusals(turnId, steps ?? []);
    const moves = this.#movesBack(turnId, steps ?? []);
    const files = steps?.map(({ name, how, users }): RestoredFile => {
      const refused = how === 'unknown' ? undefined : refusals.get(name);
      const shown = { name: shownName(this.#folders, name), how, ...(refused === undefined ? {} : { refused }) };
      const back = moves.get(name);
      const named = back ? { ...shown, back } : shown;
      return users === undefined || how === 'unknown' || refused !== undefined ? named : { ...named, users };
    });
    const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
    const folders = new Set(this.#state.checkpoints.slice(at).flatMap((one) => one.folders));
    const touched = new Set(steps?.map(({ name }) => name));
    const between = this.#state.checkpoints.slice(at).flatMap((one) => one.between?.filter((name) => !touched.has(name)) ?? []);
    const shown = (names: Iterable<string>) => [...new Set(names)].map((name) => shownName(this.#folders, name)).sort();
    const beside = { unwatched: shown(folders), between: shown(between) };
    return files && { turnId, files: files.sort((a, b) => (a.name < b.name ? -1 : 1)), ...beside };
  }

  /** The places that files move back to, by those where prompts since then have moved them. */
  #movesBack(turnId: TurnId, steps: readonly RestoreStep[]): ReadonlyMap<string, RestoredFile['back']> {
    const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
    const origins = new Map<string, string>();
    for (const { from, name } of this.#state.checkpoints.slice(at).flatMap((one) => one.changes)) {
      if (from === undefined) continue;
      origins.set(name, origins.get(from) ?? from);
      origins.delete(from);
    }
    const made = new Map(steps.flatMap((one) => (one.how === 'create' ? [[one.name, one] as const] : [])));
    const back = ({ name, how, present }: RestoreStep) => {
      const step = how === 'delete' ? made.get(origins.get(name) ?? '') : undefined;
      const place = step && { name: shownName(this.#folders, step.name), rewritten: step.target !== present };
      return place ? [[name, place] as const] : [];
    };
    return new Map(steps.flatMap(back));
  }

  /** Files as they are and as going back to before that prompt makes them, as far as both are text; so many at most. */
  async previewTexts(turnId: TurnId, most: number) {
    const steps = (await this.#restoreSteps(turnId)) ?? [];
    const refusals = await this.#refusals(turnId, steps);
    const texts = steps.slice(0, most).map(async ({ name, present, target, how }) => {
      const isLeft = how === 'unknown' || refusals.has(name);
      const [now, then] = [await this.#textOf(present), await this.#textOf(isLeft ? present : target)];
      const path = fileOf(this.#folders, name);
      return now === undefined || then === undefined ? [] : [{ path, present: now, target: then }];
    });
    return (await Promise.all(texts)).flat();
  }

  /** Why files cannot be written now. A file that was moved stays as it is at both places. */
  async #refusals(turnId: TurnId, steps: readonly RestoreStep[]): Promise<ReadonlyMap<string, string>> {
    const refusals = new Map<string, string>();
    const all = writtenTogether(steps);
    const refused = await mapAtOnce(steps, async (step) => {
      const isTaken = await this.#isTakenSince(turnId, step);
      return isTaken ? changedByOthers(shownName(this.#folders, step.name)) : this.#whyRefused(step.name, all);
    });
    for (const [at, { name }] of steps.entries()) {
      const why = refused[at];
      if (why === undefined) continue;
      refusals.set(name, why);
      // What stands in the folder that is in its place stays with it.
      for (const one of steps) if (one.name.startsWith(`${name}/`)) refusals.set(one.name, why);
    }
    const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
    for (const { name, from } of this.#state.checkpoints.slice(at).flatMap((one) => one.changes)) {
      const refused = refusals.get(name) ?? refusals.get(from ?? name);
      if (refused !== undefined) for (const one of [name, from ?? name]) refusals.set(one, refused);
    }
    return refusals;
  }

  /** True where a restore would bring back a file that another session's agent has taken away since. */
  async #isTakenSince(turnId: TurnId, { name, target, present }: RestoreStep): Promise<boolean> {
    if (target === null || present !== null) return false;
    const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
    const changes = this.#state.checkpoints.slice(at).flatMap((one) => one.changes.filter(({ review }) => review !== 'undone'));
    const now = changes.reduce((last, one) => (one.from === last ? one.name : last), name);
    const isLeft = changes.findLast((one) => one.name === now)?.after !== null;
    return isLeft && this.#deps.isTaken?.(fileOf(this.#folders, now)) === true && (await this.#present(now)) === null;
  }

  async #whyRefused(name: string, all: WrittenTogether): Promise<string | undefined> {
    if (this.#deps.effects.hasUnsaved(fileOf(this.#folders, name))) return unsavedIn(shownName(this.#folders, name));
    try {
      await this.#checkPlace(name, all);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /**
   * Rejects when the file could not be written. `all`: files written in the same step; for a link among them that is on the path, only its
   * target counts.
   */
  async #checkPlace(name: string, all: WrittenTogether): Promise<void> {
    const place = placeOf(this.#folders, name);
    if (await this.#isEmptied(name, all)) return checkFolders(place);
    const over = this.#linkOver(name, await this.#present(name));
    const makesRoom = [...foldersOfFiles([name])].some((folder) => all.names.has(folder));
    await (makesRoom ? checkPlace(place.root, place.below, over) : checkOwnPlace(place, over));
  }

  /** In its place is a folder in which nothing is left once all are written. */
  async #isEmptied(name: string, { removed }: WrittenTogether): Promise<boolean> {
    const gone = removed.get(name);
    const inside = gone && (await filesInFolder(fileOf(this.#folders, name)));
    return inside?.every((one) => gone?.has(`${name}/${one}`)) === true;
  }

  /**
   * Puts the files back to before that prompt, but for those `left` alone, by the names of the preview. Can be undone. `conversation`: the message goes
   * back to the composer with them.
   */
  restore(turnId: TurnId, left: ReadonlySet<string> = new Set(), conversation = false): Promise<void> {
    return this.#run(async () => {
      const steps = await this.#restoreSteps(turnId);
      if (!steps) throw new Error(t('The files before this prompt are not known.'));
      const isLeft = ({ name, how }: RestoreStep) => how === 'unknown' || left.has(shownName(this.#folders, name));
      const wanted = steps.flatMap((step) => (isLeft(step) ? [] : [{ ...step, known: step.present }]));
      for (const step of wanted) if (await this.#isTakenSince(turnId, step)) throw new Error(changedByOthers(step.name));
      const then = this.#state;
      const made = await this.#foldersFor(wanted);
      const { done, failure } = await this.#putAll(wanted);
      const names = new Set(done.map(({ name }) => name));
      const burst = this.#inBursts();
      const replaced = done.map(({ name, present }) => ({ ...this.#replacedBy(name, present, burst), folders: made.get(name) }));
      await mapAtOnce(names, (name) => this.#refresh(name));
      const undo = await mapAtOnce(replaced, (one) => this.#withLeft(one));
      if (done.length > 0) this.#state = { ...this.#state, undo };
      this.#state = withKnown(
        withoutLapsed(this.#state, names),
        done.map(({ name, present }) => [name, present]),
        'restored',
      );
      await this.#putBack(turnId, done);
      await this.#restored([...names]);
      const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
      this.#state = withUndone(this.#state, names, at);
      const kept = new Set(steps.flatMap(({ name }) => (names.has(name) ? [] : [name])));
      this.#state = withAllUndone(this.#state, kept, at);
      for (const name of names) {
        const now = this.#scan.files.get(name)?.content ?? null;
        if (now !== null) this.#state = reviewedAgain(this.#state, then, name, at, now);
      }
      this.#state = withoutBurst(this.#state, names);
      const undoReview = { ...reviewedThen(then, this.#state, names), ...(conversation ? { prompt: turnId } : {}) };
      if (done.length > 0) this.#state = { ...this.#state, undoReview };
      await this.#changed();
      if (failure) throw failure;
    });
  }

  /**
   * Takes back the last restore or undo. Resolves with the prompt whose message went back to the composer with that restore, if one did. Files that
   * somebody has changed since stay as they are: it rejects with their names once the others are back, and can be tried again.
   */
  undoRestore(): Promise<TurnId | undefined> {
    return this.#run(async () => {
      const { undo, undoReview } = this.#state;
      const known = await mapAtOnce(undo, async ({ name }) => [name, await this.#present(name)] as const);
      const changed = undo.filter(({ left }, at) => left !== undefined && left !== known[at]?.[1]);
      // Of a file that was moved, both places stay.
      const apart = new Set(changed.flatMap(({ name, from = name }) => [name, from]));
      const gone = await this.#copiesGone(undo);
      const wanted = undo.filter(({ name, from = name }) => !apart.has(name) && !apart.has(from) && !gone.has(name));
      const { done, failure } = await this.#putAll(
        wanted.map((one) => ({ ...one, target: one.present, ...(one.left === undefined ? {} : { known: one.left }) })),
      );
      const tracked = new Map(this.#state.tracked);
      for (const { name, present, before, written, from, mode, modeBefore } of done) {
        this.#deps.undone.forget(name);
        tracked.delete(name);
        if (before === undefined) continue;
        const origin = from === undefined ? {} : { from };
        tracked.set(name, { before, after: present, written, mode: modeBefore, modeAfter: mode, ...origin });
        if (from !== undefined) tracked.delete(from);
      }
      this.#state = { ...this.#state, tracked };
      const reviewed = done.filter(({ before }) => before !== undefined);
      for (const { name } of reviewed) this.#state = reopened(this.#state, name);
      await mapAtOnce(reviewed, async ({ name, present }) => this.#recount(name, (await this.#textOf(present)) ?? ''));
      const names = new Set(done.map(({ name }) => name));
      this.#state = withKnown(
        this.#state,
        known.filter(([name]) => names.has(name)),
        'restored',
      );
      this.#state = { ...withoutLapsed(this.#state, names), undo: undo.filter(({ name }) => !names.has(name)) };
      this.#leaveOut(
        done.flatMap(({ name, burst }) => (burst ? [name] : [])),
        [],
      );
      await this.#restored(done.map(({ name }) => name));
      await mapAtOnce(reviewed, ({ name, present }) => this.#recountLeft(name, present));
      await this.#removeMade(done.flatMap(({ folders = [] }) => folders));
      const left = [
        ...[...gone].map((name) => notRestored(shownName(this.#folders, name))),
        ...[...apart].sort().map((name) => changedSince(shownName(this.#folders, name)).message),
      ];
      if (!failure) this.#state = withReviewThen(this.#state, new Set([...apart, ...gone]));
      await this.#changed();
      if (failure) throw failure;
      if (left.length > 0) throw new Error(oneMessage(left));
      return undoReview?.prompt;
    });
  }

  /** Those of the files whose content is kept nowhere any more, or never was: all but what one of the others is now. */
  async #copiesGone(files: readonly Replaced[]): Promise<ReadonlySet<string>> {
    const moved = await this.#movedAmong(files.map((one) => ({ name: one.name, target: one.present })));
    const here = new Set([...moved.keys()].map(({ name }) => name));
    const gone = await mapAtOnce(files, async ({ name, present }) =>
      present !== null && !here.has(name) && (!isRestorable(present) || (await this.#isLost(present))) ? [name] : [],
    );
    return new Set(gone.flat());
  }

  /** The remaining work on files that a restore has written. */
  async #putBack(turnId: TurnId, done: readonly RestoreStep[]): Promise<void> {
    const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
    const changes = this.#state.checkpoints.slice(at).flatMap((one) => one.changes);
    const gone = done.flatMap(({ name, target }) => (target === null ? [name] : []));
    // Of a file that a later prompt has moved away, the folder is left.
    await this.#removeFolders(
      turnId,
      [...gone, ...changes.flatMap(({ name, from = name }) => [name, from])],
      at === this.#state.checkpoints.length - 1 ? 'all' : 'below',
    );
    for (const { name, present, target } of done.slice(-MOST_UNDONE))
      this.#deps.undone.note(name, shortText(await this.#textOf(present)), shortText(await this.#textOf(target)));
  }

  /** The list of all files as an object of the store; '' when the disk refuses: the prompt cannot be gone back to then. */
  async #keptList(files: Scan['files'], emptyFolders: readonly string[]): Promise<string> {
    try {
      const entry = ([name, { content, mode = usualMode }]: [string, FileState]) =>
        mode === usualMode ? [name, content] : [name, content, mode];
      const list = [...[...files].map(entry), ...emptyFolders.map((name) => [`${name}/`, null])];
      return await this.#deps.store.put(Buffer.from(JSON.stringify(list)));
    } catch (error) {
      this.#scan = { ...this.#scan, trouble: reasonOf(error) };
      return '';
    }
  }

  /** The starting point of the comparison at the end of the turn in a later window; undefined when the disk refuses. */
  async #baseline(): Promise<TurnBaseline | undefined> {
    const { files, ends, folders } = this.#scan;
    const list = JSON.stringify([...files.values()].map(({ stamp }) => stamp));
    const stamps = await this.#deps.store.put(Buffer.from(list)).catch(() => undefined);
    return stamps === undefined ? undefined : { stamps, ends: [...ends], others: folders.others, since: new Map() };
  }

  get #folders(): Folders {
    return this.#scan.folders;
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run('', task);
  }

  /** By what is ignored now. */
  #scanAnew(folders: Folders, pace: ScanPace): Promise<Scan> {
    const { files, ends } = this.#scan;
    return this.#rescan({ files, ends }, folders, pace);
  }

  async #rescan(before: ScanBefore = this.#scan, folders = this.#folders, pace?: ScanPace): Promise<Scan> {
    this.#scan = await scanFolders(folders, this.#deps.store, before, this.#deps.limits, pace);
    if (this.#scan.trouble !== undefined) this.#deps.log.warn(`Contents before a change cannot be kept: ${this.#scan.trouble}`);
    return this.#scan;
  }

  #setScanned(name: string, state: FileState | undefined): void {
    const content = state?.content ?? null;
    if (content !== (this.#scan.files.get(name)?.content ?? null)) this.#state = withSince(this.#state, [[name, content]]);
    if (state)
      this.#scan.files.set(name, {
        content: state.content,
        stamp: state.stamp,
        mode: state.mode,
        ...(state.at === undefined ? {} : { at: state.at }),
      });
    else this.#scan.files.delete(name);
  }

  #leaveOut(burst: readonly string[], folders: readonly string[]): void {
    const last = this.#state.checkpoints.at(-1);
    if (!last || burst.length + folders.length === 0) return;
    const next = { ...last, burst: [...new Set([...last.burst, ...burst])], folders: [...new Set([...last.folders, ...folders])].sort() };
    this.#state = { ...this.#state, checkpoints: this.#state.checkpoints.with(-1, next) };
  }

  /** `mode`: who could read, write and run it before. */
  async #track(name: string, from: ContentKey, to: ContentKey, explain: Explain | undefined, mode?: number): Promise<void> {
    const file = fileOf(this.#folders, name);
    const who = explain?.(file, to, await this.#changedAt(name));
    if (who === 'other' || who === 'later') return this.#absorbUser(name, to);
    this.#state = withoutLapsed(withoutKnown(this.#state, name), [name]);
    await this.#followUndone(name, to);
    for (const [moved, one] of this.#state.tracked)
      if (one.from === name && to !== null) this.#state = withoutMove(this.#state, moved, name);
    // Moved here and then deleted by the same prompt: what is gone is the file at its old place.
    const origin = to === null ? this.#state.tracked.get(name)?.from : undefined;
    const isMovedNow = this.#state.checkpoints.at(-1)?.changes.some((one) => one.name === name && one.from === origin);
    if (origin !== undefined && isMovedNow) this.#state = withoutMove(this.#state, name, origin);
    const found = this.#state.tracked.get(name);
    // The content of a file that is gone may turn up in another place.
    const orGone = async (content: ContentKey) => (to === null || content === to ? content : this.#orGone(content));
    const base = await orGone(found ? found.before : from);
    const moved = found?.from === undefined ? {} : { from: found.from };
    const tracked = { before: base, after: to, ...this.#modes(name, base, found?.mode ?? mode), ...moved };
    if (isNothing(tracked)) this.#state = withoutTracked(this.#state, name, 'overtaken', to);
    else this.#state = withTracked(this.#state, name, { ...tracked, written: await this.#writtenBy(found, to) });
    const earlier = this.#state.checkpoints
      .at(-1)
      ?.changes.find((one) => isOpen(one, name) || (one.name === name && one.review === 'overtaken'));
    const was = earlier ? earlier.was : found && { before: found.before, from: found.from, mode: found.mode };
    const before = await orGone(earlier ? earlier.before : from);
    const change = { before, after: to, ...(earlier?.from === undefined ? {} : { from: earlier.from }) };
    const counts = await this.#counts(file, before, to);
    this.#state = withChange(this.#state, {
      name,
      ...change,
      ...this.#modes(name, change.before, earlier?.mode ?? mode),
      // Back to what it was before all prompts, it is not under review any more.
      review: this.#state.tracked.has(name) ? firstReview(change) : 'overtaken',
      ...counts,
      ...(was ? { was } : {}),
      ...(who ? { callId: who.callId } : {}),
    });
    const now = this.#state.tracked.get(name);
    const { form, noLines } = base === before ? counts : await this.#counts(file, base, to);
    if (now && (form || noLines)) this.#state = withTracked(this.#state, name, { ...now, form, noLines });
  }

  /** The earlier content of a file, unless the store has lost it. */
  async #orGone(content: ContentKey): Promise<ContentKey> {
    return content !== null && (await this.#isLost(content)) ? goneContent(content) : content;
  }

  /** It was stored, and is not there any more. */
  async #isLost(content: ContentKey): Promise<boolean> {
    return content !== null && isKept(content) && !(await this.#deps.store.has(content));
  }

  /** Returns the mode before and the present one when they differ. A link, or a file that did not exist, has no mode. */
  #modes(name: string, before: ContentKey, mode: number | undefined): Pick<Tracked, 'mode' | 'modeAfter'> {
    const modeAfter = this.#scan.files.get(name)?.mode;
    return mode === modeAfter || before === null || linkTarget(before) !== undefined ? {} : { mode, modeAfter };
  }

  /** Of what the latest prompt has deleted and created, one file moved is one change. */
  async #findMoves(): Promise<void> {
    await this.#pairMoves();
    await this.#noteGone();
  }

  /** A deleted file whose text the store has lost cannot come back, unless it was moved. */
  async #noteGone(): Promise<void> {
    for (const change of this.#state.checkpoints.at(-1)?.changes ?? []) {
      const { name, before, after, added } = change;
      if (!isOpen(change) || before === null || after !== null || added !== undefined) continue;
      const found = this.#state.tracked.get(name);
      const gone = { ...change, before: await this.#orGone(before) };
      if (gone.before === before) continue;
      this.#state = withChange(this.#state, { ...gone, review: firstReview(gone) });
      if (found?.before === before) this.#state = withTracked(this.#state, name, { ...found, before: gone.before });
    }
  }

  async #pairMoves(): Promise<void> {
    const changes = this.#state.checkpoints.at(-1)?.changes.filter((one) => isOpen(one) || one.review === 'overtaken') ?? [];
    // No text is read where nothing can have been moved.
    if (!changes.some((one) => one.after === null) || !changes.some((one) => one.before === null)) return;
    const moving = (name: string, content: ContentKey) =>
      content === null ? [] : [this.#textOf(content).then((text): Moving => ({ name, content, text: shortText(text) }))];
    const gone = await Promise.all(changes.flatMap((one) => (one.after === null ? moving(one.name, one.before) : [])));
    const fresh = await Promise.all(changes.flatMap((one) => (one.before === null ? moving(one.name, one.after) : [])));
    for (const [from, to] of findMoves(gone, fresh)) {
      const [left, come] = [from, to].map(({ name }) => changes.find((one) => one.name === name));
      if (left && come)
        this.#state = withMove(this.#state, left, come, await this.#counts(fileOf(this.#folders, come.name), left.before, come.after));
    }
  }

  async #counts(file: string, before: ContentKey, after: ContentKey): Promise<Counts> {
    const encoding = this.#deps.effects.encoding?.(file);
    const [old, fresh] = [await this.#bytes(before), await this.#bytes(after)];
    // As the editor reads it.
    const [from, to] = [old, fresh].map((bytes) => bytes && decoded(bytes, encoding));
    if (!old || !fresh) return [before, after].some(isTooLarge) ? { noLines: 'large' } : {};
    if (from === undefined || to === undefined) return { noLines: [old, fresh].some(isBinary) ? 'binary' : 'encoding' };
    if (from.length + to.length > LONGEST_COUNTED) return { noLines: 'large' };
    const { read } = mannerOf(to);
    const counts = countLines(compareTexts(read(from), read(to)));
    const isOfForm = counts.added + counts.removed === 0 && before !== null && after !== null && before !== after;
    // The review shows no lines of these.
    const isOther = [old, fresh].some((bytes) => utf8Text(bytes) === undefined);
    if (!isOfForm && !isOther) return counts;
    return {
      ...counts,
      form: { before: formOf(before === null ? fresh : old, encoding), after: formOf(after === null ? old : fresh, encoding) },
    };
  }

  /** None where there is no file; undefined for what is not kept. */
  async #bytes(content: ContentKey): Promise<Buffer | undefined> {
    if (content === null) return Buffer.alloc(0);
    return isKept(content) ? this.#deps.store.get(content) : undefined;
  }

  /** Adds somebody else's change of a file under review to both sides of the comparison, so that it is not reviewed. */
  async #absorbUser(name: string, now: ContentKey): Promise<void> {
    if ((await this.#isBack(name, now)) || (await this.#broughtBack(name, now))) return;
    const found = this.#state.tracked.get(name);
    if (!found || found.after === now) return;
    const then = this.#state;
    await this.#mergeUserEdit(name, found, now);
    this.#state = withLapsed(then, this.#state, name);
  }

  /** Reopens the review of a file that holds again what it held before somebody else took something of the agent's out of it. */
  async #isBack(name: string, now: ContentKey): Promise<boolean> {
    for (const lapse of lapsedOf(this.#state, name, now)) {
      const { after, from } = lapse.tracked;
      const isThere = lapse.name === name || (await this.#present(lapse.name)) === after;
      // Of a file that was moved, both places count.
      if (!isThere || (from !== undefined && from !== name && (await this.#present(from)) !== null)) continue;
      this.#state = withoutLapse(this.#state, lapse);
      await this.#followUndone(lapse.name, after);
      return true;
    }
    return false;
  }

  async #reopenLapsed(contentOf: (name: string) => Promise<ContentKey>): Promise<void> {
    for (const name of new Set(this.#state.lapsed.map((one) => one.name))) await this.#isBack(name, await contentOf(name));
  }

  async #mergeUserEdit(name: string, found: Tracked, now: ContentKey): Promise<void> {
    const { before: base, written = found.after } = found;
    const [before, after, text] = await Promise.all([base, written, now].map((one) => this.#textOf(one)));
    if (now === null || typeof text !== 'string') {
      await this.#recountDecided(name, now);
      this.#state = withoutTracked(this.#state, name, 'by content', now);
      return;
    }
    if (before === undefined || after === undefined) {
      this.#state = withTracked(this.#state, name, { ...found, after: now, written, form: undefined });
      return;
    }
    const manner = mannerOf(text);
    const agents = compareTexts(manner.read(before ?? ''), manner.read(after ?? ''));
    // As an arrow of the editor's own diff does it.
    if (isWithoutOneHunk(agents, manner.read(text))) this.#deps.undone.note(name, shortText(after), shortText(text));
    const segments = withUserText(agents, manner.read(text));
    // A user who saves a text with other line ends wants them for all of it.
    const like = hasMixedEnds(after ?? '') || inMannerOf(text, after ?? text) === text ? before : text;
    await this.#rebase(name, found, { segments, manner, like }, text, now);
  }

  /** Reopens the review of undone lines that the user brought back. False when the file has none of them. */
  async #broughtBack(name: string, now: ContentKey): Promise<boolean> {
    const text = this.#deps.undone.has(name) ? shortText(await this.#textOf(now)) : undefined;
    const back = text === undefined ? undefined : this.#deps.undone.without(name, text);
    if (text === undefined || !back) return false;
    this.#deps.undone.follow(name, text);
    const found = this.#state.tracked.get(name);
    const [before, after] = found ? await Promise.all([found.before, found.written ?? found.after].map((one) => this.#textOf(one))) : [];
    const settled = withUserText(compareTexts(plain(before ?? back.base), plain(after ?? back.base)), back.user);
    const agents = mergedInto(writtenText(settled), back.user, plain(text)) ?? plain(text);
    await this.#reopen(name, text);
    const segments = withUserText(compareTexts(beforeText(settled), agents), plain(text));
    await this.#rebase(name, found ?? { before: now, after: now }, { segments, manner: mannerOf(text), like: text }, text, now);
    return true;
  }

  /** The same for unsaved text. When the user discards it, those lines count as undone again. */
  async #broughtBackUnsaved(name: string, file: string): Promise<boolean> {
    const text = this.#deps.effects.hasUnsaved(file) ? shortText(await this.#deps.effects.readText(file)) : undefined;
    if (text === undefined || !this.#deps.undone.without(name, text)) return false;
    const there = await this.#textOf(await this.#present(name));
    return this.#broughtBack(name, await this.#deps.store.put(Buffer.from(inMannerOf(text, there ?? text))));
  }

  /** Handles unsaved lines that the user brought back and then discarded: the file on disk has not changed. */
  async #discarded(name: string, file: string): Promise<boolean> {
    const after = this.#state.tracked.get(name)?.after;
    const there = this.#deps.effects.hasUnsaved(file) || after === undefined ? after : await this.#present(name);
    if (there === undefined || there === after || there !== this.#scan.files.get(name)?.content) return false;
    await this.#absorbUser(name, there);
    return true;
  }

  /** Opens decided changes of which the text has more again. */
  async #reopen(name: string, text: string): Promise<void> {
    const chosen = new Set<TurnChange>();
    for (const change of undoneChanges(this.#state, name)) if (await this.#hasMoreOf(change, text)) chosen.add(change);
    this.#state = withOpen(this.#state, chosen);
  }

  /** The text has more hunks of that change than were left of it. */
  async #hasMoreOf(change: TurnChange, text: string): Promise<boolean> {
    const [before, after] = [await this.#shortTextOf(change.before), await this.#shortTextOf(change.after)];
    if (before === undefined || after === undefined) return false;
    const left = withUserText(compareTexts(plain(before), plain(after)), plain(text));
    return hunksOfSegments(left).length > (change.hunks?.kept ?? 0);
  }

  async #rebase(
    name: string,
    found: Tracked,
    { segments, manner, like: one }: ComparedSegments,
    present: string,
    after: ContentKey,
  ): Promise<void> {
    const base = beforeText(segments);
    await this.#recount(name, present, hunksOfSegments(segments));
    // The move itself still needs review.
    if (hunksOfSegments(segments).length === 0 && found.from === undefined && !isOfMode(found)) {
      this.#state = withoutTracked(this.#state, name, 'by content', after);
      return;
    }
    // The editor's text has no byte order mark.
    const like = one ?? (await this.#textOf(found.before)) ?? present;
    const before = found.before === null && base === '' ? null : await this.#deps.store.put(Buffer.from(manner.write(base, like)));
    const agents = writtenText(segments);
    const written = agents === afterText(segments) ? undefined : await this.#deps.store.put(Buffer.from(manner.write(agents, like)));
    this.#state = withTracked(this.#state, name, { ...found, before, after, written, left: countLines(segments), form: undefined });
  }

  /**
   * Counts again how much of each prompt's change is in the file. A prompt without any of the `open` hunks is decided once the text is saved;
   * its other hunks were kept.
   */
  async #recount(name: string, present: string, open?: readonly PlacedHunk[], isUnsaved = false): Promise<void> {
    const counted = new Map<TurnChange, CountedChange>();
    const manner = mannerOf(present);
    for (const change of openChanges(this.#state, name)) {
      const [before, after] = [await this.#shortTextOf(change.before), await this.#shortTextOf(change.after)];
      if (before === undefined || after === undefined || present.length > LONGEST_COUNTED) continue;
      const compare = async () => compareTexts(manner.read(before), manner.read(after));
      const segments = await this.#comparedOnce(`${name} ${change.before} ${change.after} ${manner.name}`, [], compare);
      if (!segments) continue;
      const left = withUserText(segments, manner.read(present));
      const hunks = hunksOfSegments(left);
      const undecided = open && hunks.filter((one) => open.some((other) => touches(one, other))).length;
      const isKept = !isUnsaved && hunks.length > 0 && undecided === 0;
      const all = hunksOfSegments(segments).length;
      const isUndone =
        !isUnsaved && open && open.length > 0 && hunks.length === 0 && all > 0 && change.from === undefined && change.mode === undefined;
      counted.set(change, {
        ...countLines(left),
        hunks: { kept: hunks.length, all, ...(undecided === undefined ? {} : { open: undecided }) },
        ...(isKept ? { review: 'kept' } : isUndone ? { review: 'undone' } : {}),
      });
    }
    this.#state = withCounts(this.#state, counted);
  }

  /** What had been decided of a file before it was put back is decided again. */
  async #recountLeft(name: string, present: ContentKey): Promise<void> {
    const text = (await this.#textOf(present)) ?? '';
    const found = this.#state.tracked.get(name);
    const segments = found && (await this.#segmentsIn(fileOf(this.#folders, name), found, text));
    if (segments) await this.#recount(name, text, hunksOfSegments(segments));
  }

  /** The hunks that were counted belong to a text that is gone. */
  async #recountDecided(name: string, present: ContentKey): Promise<void> {
    if (openChanges(this.#state, name).some(({ hunks }) => hunks)) await this.#recount(name, (await this.#textOf(present)) ?? '');
  }

  /**
   * Returns the part of `now` that the agent wrote in a file under review; undefined when all of it is the agent's. The user's part of a file
   * that is not text cannot be told apart and is assumed to be still there.
   */
  async #writtenBy(found: Tracked | undefined, now: ContentKey): Promise<ContentKey | undefined> {
    if (found?.written === undefined || now === null) return undefined;
    const [written, after, text] = await Promise.all([found.written, found.after, now].map((one) => this.#textOf(one)));
    if (typeof written !== 'string' || typeof after !== 'string' || typeof text !== 'string') return found.written;
    const manner = mannerOf(text);
    const agents = writtenSince(manner.read(written), manner.read(after), manner.read(text));
    return agents === manner.read(text) ? undefined : this.#deps.store.put(Buffer.from(manner.write(agents, text)));
  }

  async #settleHunks(name: string, found: Tracked, how: 'keep' | 'undo', which: readonly PlacedHunk[], withTyped: boolean): Promise<void> {
    const file = fileOf(this.#folders, name);
    const present = await this.#deps.effects.readText(file);
    const segments = typeof present === 'string' ? await this.#segmentsIn(file, found, present) : undefined;
    if (typeof present !== 'string' || !segments) throw new Error(notRestored(name));
    const chosen = new Set<Hunk>();
    for (const { hunk, afterLine } of hunksOfSegments(segments)) {
      if (which.some((one) => one.afterLine === afterLine && sameHunk(one.hunk, hunk))) chosen.add(hunk);
    }
    if (chosen.size < which.length) throw changedSince(name);
    if (how === 'undo' && !withTyped && [...chosen].some((one) => !linesUndone(one))) throw new Error(changedByOthers(name));
    this.#state = withoutLapsed(this.#state, [name]);
    const next = settleHunks(segments, (hunk) => chosen.has(hunk), how);
    const shown = await this.#withEnds(found, present, this.#deps.effects.hasUnsaved(file));
    const manner = mannerOf(shown);
    const left = manner.write(afterText(next), shown);
    const known = await this.#present(name);
    // Counts as undone once the user saves, and is under review again if they discard the text.
    const isUnsaved = how === 'undo' && this.#isTypedInto(file);
    if (how === 'undo') {
      if (!isUnsaved && (await this.#isAllUndone(found, known, next, left)))
        return this.#undoAll([{ name, takeBack: () => this.#undoFile(name) }]);
      await this.#write(name, left, present);
      this.#deps.undone.note(name, shortText(present), shortText(left));
      this.#state = withKnown(this.#state, [[name, known]], 'undone');
      if (isUnsaved) return this.#countUnsaved(name);
    }
    const isTyped = how === 'keep' && this.#deps.effects.hasUnsaved(file);
    const state = isTyped ? await this.#deps.store.put(Buffer.from(shown)) : await this.#refresh(name);
    await this.#rebase(name, found, { segments: next, manner }, left, state ?? found.after);
    if (how === 'undo' && !this.#state.tracked.has(name)) await this.#setMode(name, found.mode);
    // Another way of reading the text gives other lines.
    if (mannerOf(left) === manner) this.#settledAs(file, name, next, left);
  }

  /** True when only the file as a whole is left to undo: it did not exist before, or the agent changed all its line ends. */
  async #isAllUndone(found: Tracked, present: ContentKey, segments: Segments, left: string): Promise<boolean> {
    if (hunksOfSegments(segments).length > 0) return false;
    if (found.before === null) return left === '';
    const [before, there] = [await this.#textOf(found.before), await this.#textOf(present)];
    if (typeof before !== 'string' || typeof there !== 'string' || plain(before) !== plain(left)) return false;
    return withMarkOf(left, there) !== before && present === found.after && found.written === undefined;
  }

  /** A text on the screen has line ends of one kind: each line that is also in the file gets its own again. */
  async #withEnds(found: Tracked, present: string, isUnsaved: boolean): Promise<string> {
    return isUnsaved ? inMannerOf(present, (await this.#textOf(found.after)) ?? present) : present;
  }

  /** Adds unsaved text to both sides, because the user typed it since the last scan. undefined when a side is not text. */
  #segmentsIn(file: string, found: Tracked, present: string | null): Promise<Segments | undefined> {
    const isUnsaved = this.#deps.effects.hasUnsaved(file);
    const of = [found.before, found.after, found.written, isUnsaved, this.inTurn, present];
    return this.#comparedOnce(file, of, () => this.#compare(found, present, isUnsaved));
  }

  /** `what` names the comparison, and `of` the texts it was made from. */
  #comparedOnce(what: string, of: readonly unknown[], compare: () => Promise<Segments | undefined>): Promise<Segments | undefined> {
    const same = this.#compared.get(what);
    if (same?.of.every((part, at) => part === of[at])) return same.segments;
    const segments = compare();
    // A content that could not be read may be readable the next time.
    const forget = () => {
      if (this.#compared.get(what)?.segments === segments) this.#compared.delete(what);
    };
    segments.then((known) => known ?? forget(), forget);
    this.#remember(what, of, segments);
    return segments;
  }

  /** Remembers the hunks that a decision left, so that the unchanged file need not be compared again. */
  #settledAs(file: string, name: string, segments: Segments, present: string): void {
    const found = this.#state.tracked.get(name);
    const isUnsaved = this.#deps.effects.hasUnsaved(file);
    if (!found || found.written !== undefined || isUnsaved) return;
    this.#remember(file, [found.before, found.after, found.written, isUnsaved, this.inTurn, present], Promise.resolve(segments));
  }

  #remember(what: string, of: readonly unknown[], segments: Promise<Segments | undefined>): void {
    this.#compared.delete(what);
    this.#compared.set(what, { of, segments });
    for (const oldest of this.#compared.keys()) if (this.#compared.size > MOST_COMPARED) this.#compared.delete(oldest);
  }

  async #compare(found: Tracked, present: string | null, isUnsaved: boolean): Promise<Segments | undefined> {
    const [before, last] = [await this.#textOf(found.before), await this.#textOf(found.after)];
    if (before === undefined || last === undefined) return undefined;
    const known = last ?? '';
    const shown = await this.#withEnds(found, present ?? '', isUnsaved);
    const { read } = mannerOf(shown);
    // During a turn, what changed on disk since the last look counts as the agent's; otherwise as somebody else's.
    const after = read(isUnsaved || !this.inTurn ? known : shown);
    const written = found.written === undefined ? undefined : await this.#textOf(found.written);
    const agents = typeof written === 'string' ? writtenSince(read(written), read(known), after) : after;
    return withUserText(compareTexts(read(before ?? ''), agents), read(shown));
  }

  async #decided(file: string, work: Promise<void>): Promise<void> {
    const done = work.catch(() => {});
    this.#underWay = { ...this.#underWay, deciding: { file, done } };
    try {
      await work;
    } finally {
      this.#underWay = { ...this.#underWay, deciding: undefined };
    }
  }

  /**
   * Undoes files, continues on failure, and rejects with all reasons. Can be undone like a restore. Files and folders that go make room for those that
   * come back; a move concerns two places, so moves go one after the other.
   */
  async #undoAll(files: readonly Undoing[]): Promise<void> {
    const [removals, moves, others]: [Undoing[], Undoing[], Undoing[]] = [[], [], []];
    for (const one of files) {
      const found = this.#state.tracked.get(one.name);
      (found?.from !== undefined ? moves : found?.before === null ? removals : others).push(one);
    }
    const ends: UndoEnd[] = [];
    const burst = this.#inBursts();
    const progress = this.#portions();
    const run = async (one: Undoing) => {
      const end = await this.#undoOne(one, burst);
      progress();
      return end;
    };
    ends.push(...(await mapAtOnce(removals, run)));
    await this.#removeFoldersOf(removals.flatMap(({ name }) => (this.#scan.files.has(name) ? [] : [name])));
    for (const one of moves) ends.push(await run(one));
    ends.push(...(await mapAtOnce(others, run)));
    const reasons = ends.flatMap(({ reason }) => reason ?? []);
    const undo = ends.flatMap(({ replaced }) => replaced);
    const known = ends.flatMap((one) => one.known);
    const undone = new Set(undo.map(({ name }) => name));
    this.#state = withKnown(
      withoutLapsed(this.#state, undone),
      known.filter(([name]) => undone.has(name)),
      'undone',
    );
    if (undo.length > 0) this.#state = { ...this.#state, undo, undoReview: undefined };
    if (reasons.length > 0) throw new Error(oneMessage(reasons));
  }

  async #undoOne({ name, takeBack }: Undoing, burst: ReadonlySet<string>): Promise<UndoEnd> {
    let replaced: readonly Replaced[] = [];
    const known: (readonly [string, ContentKey])[] = [];
    try {
      replaced = await this.#replaced(name, burst);
      for (const one of replaced) known.push([one.name, await this.#present(one.name)]);
      await takeBack();
      return { known, replaced: await Promise.all(replaced.map((one) => this.#withLeft(one))) };
    } catch (error) {
      // Part of the file may have been taken back.
      const last = replaced.at(-1);
      const isInPart = last && last.present !== (await this.#present(name));
      return { known, replaced: isInPart ? replaced : [], reason: messageOf(error) };
    }
  }

  /** Counts the hunks left to review in unsaved text, again whenever the user changes it. */
  async #countUnsaved(name: string): Promise<void> {
    const file = fileOf(this.#folders, name);
    const found = this.#state.tracked.get(name);
    const present = found && (await this.#deps.effects.readText(file));
    const segments = found && typeof present === 'string' ? await this.#segmentsIn(file, found, present) : undefined;
    if (!found || typeof present !== 'string' || !segments) return;
    await this.#recount(name, present, hunksOfSegments(segments), true);
    this.#state = withTracked(this.#state, name, { ...found, left: countLines(segments) });
  }

  /** The text of a file on the screen has changed: where something of it was undone, what is left is counted again. */
  async textChanged(file: string): Promise<void> {
    const name = nameOf(this.#folders, file) ?? '';
    if (!this.#deps.undone.has(name)) return;
    await this.#run(async () => {
      if (await this.#broughtBackUnsaved(name, file)) return this.#changed();
      if (await this.#discarded(name, file)) return this.#changed();
      const known = this.#state.tracked.get(name)?.left;
      await this.#countUnsaved(name);
      const left = this.#state.tracked.get(name)?.left;
      if (left?.added !== known?.added || left?.removed !== known?.removed) await this.#changed();
    });
  }

  /** Undoes what is left of the agent's changes in a file; what the user wrote into it stays. */
  async #undoFile(name: string): Promise<void> {
    const found = this.#state.tracked.get(name);
    if (!found) return;
    const file = fileOf(this.#folders, name);
    const isUnsaved = found.from === undefined && this.#isTypedInto(file);
    if (isUnsaved && (await this.unsavedBeside(file))) throw new Error(unsavedAndWritten(name));
    const mixed = await this.#undoAround(name, found, isUnsaved);
    if (mixed) throw new Error(changedByOthers(name));
    if (isUnsaved) return;
    const present = await this.#takeBack(name, found);
    this.#state = withUnkeptUndone(this.#state, name);
    await this.#recountDecided(name, present);
    this.#state = withoutTracked(this.#state, name, 'undone', present);
  }

  /** An undo leaves what the user has typed unsaved, as it was. */
  #isTypedInto(file: string): boolean {
    return this.#deps.effects.typeText !== undefined && this.#deps.effects.hasUnsaved(file);
  }

  /** Where the user has written into the agent's lines, so that undoing these would take away the text: undoes the other hunks; false elsewhere. */
  async #undoAround(name: string, found: Tracked, isUnsaved: boolean): Promise<boolean> {
    const file = fileOf(this.#folders, name);
    if (found.written === undefined && !this.#deps.effects.hasUnsaved(file)) return false;
    const present = await this.#deps.effects.readText(file);
    const segments = typeof present === 'string' ? await this.#segmentsIn(file, found, present) : undefined;
    if (isUnsaved && !segments) throw new Error(unsavedIn(name));
    const hunks = hunksOfSegments(segments ?? []);
    const rest = hunks.filter(({ hunk }) => linesUndone(hunk));
    if (rest.length === hunks.length && !isUnsaved) return false;
    if (rest.length > 0) await this.#settleHunks(name, found, 'undo', rest, false);
    return rest.length < hunks.length;
  }

  async #undoIn(turnId: TurnId, name: string): Promise<void> {
    const change = this.#changeIn(turnId, name);
    const now = nameNow(this.#state, turnId, name);
    const found = this.#state.tracked.get(now);
    if (!change || !found) return;
    if (isOnlyIn(this.#state, turnId, now)) return this.#undoFile(now);
    if (change.from !== undefined && now !== name) throw new Error(changedByOthers(name));
    if (this.#isTypedInto(fileOf(this.#folders, now))) return this.#undoTyped(now, change);
    const was = await this.#present(now);
    const present = await this.#takeBack(now, change);
    // Nothing of it is left.
    if (present === was && change.from === undefined && change.mode === undefined) throw new Error(changedByOthers(name));
    this.#state = withReview(this.#state, name, () => 'undone', turnId);
    const place = change.from ?? now;
    const origin = found.from === undefined || found.from === place ? {} : { from: found.from };
    const written = await this.#writtenBy(found, present);
    const tracked = new Map(this.#state.tracked);
    tracked.delete(now);
    this.#state = {
      ...this.#state,
      tracked: tracked.set(place, { before: found.before, after: present, written, mode: found.mode, ...origin }),
    };
    const left = this.#state.tracked.get(place);
    if (left && isNothing(left)) this.#state = withoutTracked(this.#state, place, 'by content', present);
  }

  /** Takes a change out of a text that is not saved, three-way. It is found undone once the user saves that. */
  async #undoTyped(name: string, change: TurnChange): Promise<void> {
    if (change.from !== undefined || change.mode !== undefined) throw new Error(unsavedIn(name));
    const text = await this.#deps.effects.readText(fileOf(this.#folders, name));
    const left = await this.#without(name, change, text);
    if (typeof text !== 'string' || left === text) throw new Error(changedByOthers(name));
    await this.#write(name, left, text);
    this.#deps.undone.note(name, shortText(text), shortText(left));
    await this.#countUnsaved(name);
  }

  async #keepIn(turnId: TurnId, change: TurnChange): Promise<void> {
    const now = nameNow(this.#state, turnId, change.name);
    const found = this.#state.tracked.get(now);
    if (!found) return;
    if (!isOnlyIn(this.#state, turnId, now)) return this.#keepTurn(turnId, change, now, found);
    this.#state = withoutTracked(this.#state, now, 'kept', found.after);
  }

  /** The file as it is now, with unsaved text; of one that was moved, also that there is none where it was. */
  async #replaced(name: string, burst: ReadonlySet<string>): Promise<readonly Replaced[]> {
    const file = fileOf(this.#folders, name);
    const typed = this.#deps.effects.hasUnsaved(file) ? await this.#deps.effects.readText(file) : undefined;
    const present = typeof typed === 'string' ? await this.#deps.store.put(Buffer.from(typed)) : await this.#present(name);
    const one = this.#replacedBy(name, present, burst);
    const origin = one.from === undefined ? [] : [{ name: one.from, present: null }];
    const made = await this.#foldersFor([...origin, one]);
    return [...origin, one].map((each) => ({ ...each, folders: made.get(each.name) }));
  }

  /** With what is there now. */
  async #withLeft(one: Replaced): Promise<Replaced> {
    return this.#deps.effects.hasUnsaved(fileOf(this.#folders, one.name)) ? one : { ...one, left: await this.#present(one.name) };
  }

  /** Files that changed at once, too many to be listed. */
  #inBursts(): ReadonlySet<string> {
    return new Set(this.#state.checkpoints.flatMap(({ burst }) => burst));
  }

  #replacedBy(name: string, present: ContentKey, burst: ReadonlySet<string>): Replaced {
    const found = this.#state.tracked.get(name);
    // A file that is there keeps what the user made of it.
    const isAgents = !found || found.before === null || found.mode !== undefined;
    const modes = isAgents ? { mode: this.#scan.files.get(name)?.mode ?? found?.modeAfter, modeBefore: found?.mode } : {};
    return {
      name,
      present,
      before: found?.before,
      written: found?.written,
      ...modes,
      ...(found?.from === undefined ? {} : { from: found.from }),
      ...(burst.has(name) ? { burst: true } : {}),
    };
  }

  async #keepTurn(turnId: TurnId, change: TurnChange, now: string, found: Tracked): Promise<void> {
    let before = change.after;
    if (found.before !== change.before) {
      const [base, from, to] = await Promise.all([found.before, change.before, change.after].map((one) => this.#textOf(one)));
      const manner = mannerOf(to ?? '');
      const merged = typeof base === 'string' && typeof from === 'string' && typeof to === 'string';
      const text = merged ? mergedInto(manner.read(base), manner.read(from), manner.read(to)) : undefined;
      if (text === undefined || !merged) throw new Error(changedByOthers(change.name));
      before = await this.#deps.store.put(Buffer.from(manner.write(text, base)));
    }
    this.#state = withReview(withoutLapsed(this.#state, [now]), change.name, () => 'kept', turnId);
    const from = found.from !== undefined && found.from === change.from ? change.name : found.from;
    const { from: _, ...rest } = found;
    this.#state = withTracked(this.#state, now, {
      ...rest,
      before,
      form: undefined,
      ...(from === undefined || from === now ? {} : { from }),
    });
  }

  /** Takes a change out of the current file, and moves the file back if the change moved it. Returns the resulting content. */
  async #takeBack(name: string, change: Pick<Tracked, 'before' | 'after' | 'written' | 'from' | 'mode'>): Promise<ContentKey> {
    if (change.from !== undefined) return this.#moveBack(name, change.from, change);
    if (isOfMode(change)) {
      await this.#setMode(name, change.mode);
      return this.#refresh(name);
    }
    const file = fileOf(this.#folders, name);
    const present = await this.#present(name);
    this.#checkTaken(name, change, present);
    const bytes = await this.#bytesOf(change.before, name);
    const isAsLeft = present === null || (present === change.after && change.written === undefined);
    this.#checkLinks(name, [change.before, change.after, present], isAsLeft);
    // What could not be brought back again is not taken away either, as a restore does it.
    if (bytes === null && present !== null && !isRestorable(present)) throw new Error(notRestored(name));
    if (isAsLeft && !this.#deps.effects.hasUnsaved(file)) {
      const was = await this.#textOf(present);
      await this.#put(name, bytes, present, change.mode);
      this.#deps.undone.note(name, shortText(was), shortText(await this.#textOf(change.before)));
      return this.#refresh(name);
    }
    const text = await this.#deps.effects.readText(file);
    const left = await this.#without(name, change, text);
    if (change.before === null && plain(left) === '' && !this.#deps.effects.hasUnsaved(file)) await this.#put(name, null);
    else {
      await this.#write(name, left, text ?? '');
      await this.#setMode(name, change.mode);
      this.#deps.undone.note(name, shortText(text), shortText(left));
    }
    return this.#refresh(name);
  }

  /** A link is undone as a whole: no text is read or written through it. */
  #checkLinks(name: string, contents: readonly ContentKey[], isAsLeft: boolean): void {
    if (contents.every((one) => linkTarget(one) === undefined)) return;
    if (this.#deps.effects.hasUnsaved(fileOf(this.#folders, name))) throw new Error(unsavedIn(name));
    if (!isAsLeft) throw changedSince(name);
  }

  /**
   * Returns the text without the change, line ends kept. When somebody has written into the same lines since, rejects or drops what they wrote.
   */
  async #without(
    name: string,
    change: Pick<Tracked, 'before' | 'after' | 'written'>,
    text: string | null | undefined,
    mixed: 'refuse' | 'drop' = 'refuse',
  ): Promise<string> {
    const [before, after] = [await this.#textOf(change.before), await this.#textOf(change.written ?? change.after)];
    if (typeof text !== 'string' || before === undefined || after === undefined) throw new Error(notRestored(name));
    const manner = mannerOf(text);
    const segments = withUserText(compareTexts(manner.read(before ?? ''), manner.read(after ?? '')), manner.read(text));
    if (mixed === 'refuse' && hunksOfSegments(segments).some(({ hunk }) => !linesUndone(hunk))) throw new Error(changedByOthers(name));
    return manner.write(afterText(settleHunks(segments, () => true, 'undo')), text);
  }

  /** Rejects an undo that would bring back a file deleted or moved by another session's agent. */
  #checkTaken(name: string, { after }: Pick<Tracked, 'after'>, present: ContentKey): void {
    const isTaken = present === null && after !== null && this.#deps.isTaken?.(fileOf(this.#folders, name));
    if (isTaken) throw new Error(changedByOthers(name));
  }

  async #moveBack(name: string, from: string, change: Pick<Tracked, 'before' | 'after' | 'written' | 'mode'>): Promise<ContentKey> {
    const [file, place] = [fileOf(this.#folders, name), fileOf(this.#folders, from)];
    if (this.#deps.effects.hasUnsaved(file)) throw new Error(unsavedIn(name));
    const present = await this.#present(name);
    this.#checkTaken(name, change, present);
    const isSame = present !== null && change.before !== null && movedKey(present) === movedKey(change.before);
    if (!isSame && (await this.#present(from)) !== null) throw changedSince(from);
    if (isSame) {
      await moveFile(placeOf(this.#folders, name), placeOf(this.#folders, from), linkTarget(present));
      for (const one of [file, place]) this.#writes.fire(one);
    } else {
      const isAsLeft = present === null || (present === change.after && change.written === undefined);
      this.#checkLinks(name, [change.before, change.after, present], isAsLeft);
      const left = isAsLeft ? await this.#bytesOf(change.before, from) : await this.#without(name, change, await this.#textOf(present));
      await this.#put(from, typeof left === 'string' ? Buffer.from(left) : left, undefined, change.mode);
      await this.#put(name, null, present);
    }
    await this.#refresh(name);
    return this.#refresh(from);
  }

  /** `known`: what the file holds as far as the decision knows. */
  async #put(name: string, content: FileContent, known?: ContentKey, mode?: number): Promise<void> {
    const place = placeOf(this.#folders, name);
    const there = await this.#present(name);
    if (known !== undefined && known !== there) {
      await checkOwnPlace(place);
      throw changedSince(name);
    }
    await putFile(place, content, mode, this.#linkOver(name, there)).catch((error: unknown) => {
      throw naming(place.below, error);
    });
    this.#writes.fire(fileOf(this.#folders, name));
  }

  /** Returns the target of the link that may be overwritten: one that these changes made, not one of the user's. */
  #linkOver(name: string, there: ContentKey): string | undefined {
    const target = linkTarget(there);
    const isOf = (change: TurnChange) =>
      (change.name === name && change.after === there) || ((change.from ?? change.name) === name && change.before === there);
    const isKnown = () => this.#state.checkpoints.some(({ changes, burst }) => changes.some(isOf) || burst.includes(name));
    return target !== undefined && isKnown() ? target : undefined;
  }

  /** Puts back the rights on a file from before the agent changed them. */
  async #setMode(name: string, mode: number | undefined): Promise<void> {
    if (mode !== undefined) await putMode(placeOf(this.#folders, name), mode);
  }

  /** One text after the other: a save by the editor is known by the file that is being written. */
  #write(name: string, text: string, from: string): Promise<void> {
    return this.#queue.run('write', () => this.#writeNow(name, text, from));
  }

  async #writeNow(name: string, text: string, from: string): Promise<void> {
    const [file, { root, below }] = [fileOf(this.#folders, name), placeOf(this.#folders, name)];
    const real = await checkPlace(root, below);
    if (await this.unsavedBeside(file)) throw new Error(unsavedAndWritten(name));
    this.#underWay = { ...this.#underWay, writing: file };
    try {
      const { effects } = this.#deps;
      await (effects.typeText && effects.hasUnsaved(file) ? effects.typeText(file, text, from) : effects.writeText(file, text, from, real));
    } catch (error) {
      throw readable(name, error);
    } finally {
      this.#underWay = { ...this.#underWay, writing: undefined };
    }
    this.#writes.fire(file);
  }

  #changeIn(turnId: TurnId, name: string | undefined): TurnChange | undefined {
    return this.#state.checkpoints.findLast((one) => one.turnId === turnId)?.changes.find((change) => change.name === name);
  }

  /** Reads the file again; its content comes back. */
  async #refresh(name: string): Promise<ContentKey> {
    const state = await stateOf(fileOf(this.#folders, name), this.#deps.store, this.#scan.files.get(name));
    this.#setScanned(name, state);
    return state?.content ?? null;
  }

  async #present(name: string): Promise<ContentKey> {
    return (await stateOf(fileOf(this.#folders, name), this.#deps.store, this.#scan.files.get(name)))?.content ?? null;
  }

  /** Returns the effect of a restore to before that prompt on each file; undefined when no state of that time is stored. */
  async #restoreSteps(turnId: TurnId): Promise<readonly RestoreStep[] | undefined> {
    const at = this.#state.checkpoints.findLastIndex((one) => one.turnId === turnId);
    const checkpoint = this.#state.checkpoints[at];
    const kept = checkpoint && (await keptFiles(this.#deps.store, checkpoint.files));
    if (!kept) return undefined;
    const { contents: list, modes } = kept;
    const changes = this.#state.checkpoints.slice(at).flatMap((one) => one.changes);
    const burst = new Set(this.#state.checkpoints.slice(at).flatMap((one) => one.burst));
    const moved = new Set(changes.flatMap(({ name, from }) => (from === undefined ? [] : [name, from])));
    const byName = new Map<string, TurnChange[]>();
    for (const change of changes) byName.set(change.name, [...(byName.get(change.name) ?? []), change]);
    const names = new Set([...changes.flatMap(({ name, from = name }) => [name, from]), ...burst]);
    const found = await mapAtOnce(names, async (name): Promise<Omit<RestoreStep, 'how'> | undefined> => {
      const [kept, present] = [list.get(name) ?? null, await this.#present(name)];
      const target = kept === present ? kept : await this.#orGone(kept);
      const ofAgent = byName.get(name)?.find((one) => one.mode !== undefined)?.mode;
      const isModeOther = present !== null && this.#modes(name, target, ofAgent).mode !== undefined;
      if (target === present && !isModeOther) return undefined;
      // A file that is there keeps what the user made of it.
      const step = { name, target, present, mode: present === null || burst.has(name) ? modes.get(name) : ofAgent };
      const users = moved.has(name) ? step : await this.#withUsers(step, byName.get(name) ?? []);
      return isModeOther || users.target !== present ? users : undefined;
    });
    const steps = found.filter((one) => one !== undefined);
    return steps.map((step) => ({ ...step, how: howOf(step, steps) }));
  }

  /** Keeps the user's changes since then. `changes` are the agent's, oldest first. */
  async #withUsers(step: Omit<RestoreStep, 'how'>, changes: readonly TurnChange[]): Promise<Omit<RestoreStep, 'how'>> {
    const { name, target, present } = step;
    const isAgents = changes.every(({ before }, at) => before === (at === 0 ? target : changes[at - 1]?.after));
    if (changes.length === 0 || (isAgents && present === changes.at(-1)?.after) || present === null) return step;
    let text = await this.#textOf(present);
    let isLost = false;
    for (const change of changes.toReversed()) {
      const left = await this.#without(name, change, text).catch(() => undefined);
      isLost ||= left === undefined;
      text = left ?? (await this.#without(name, change, text, 'drop').catch(() => undefined));
    }
    const base = await this.#textOf(target);
    if (typeof text !== 'string' || base === undefined) return { ...step, users: 'lost' };
    if (plain(text) === plain(base ?? '')) return isLost ? { ...step, users: 'lost' } : step;
    return { ...step, target: await this.#deps.store.put(Buffer.from(text)), users: isLost ? 'lost' : 'kept' };
  }

  /**
   * Writes files after all contents were read and all places checked; content that is not in the store is moved instead. Many files take long,
   * so a file that is no longer as `known` is left alone. Returns what was written and the reason when not all was.
   */
  async #putAll<T extends Wanted>(targets: readonly T[]) {
    interface Work {
      readonly done: readonly T[];
      /** In its place is a folder in which nothing is left. */
      readonly emptied: boolean;
      readonly run: () => Promise<void>;
    }
    const moved = await this.#movedAmong(targets);
    const all = writtenTogether(targets);
    const sources = new Set(moved.values());
    const works = await mapAtOnce(targets, async (one): Promise<Work | undefined> => {
      const { name, target } = one;
      if (this.#deps.effects.hasUnsaved(fileOf(this.#folders, name))) throw new Error(unsavedIn(name));
      const place = placeOf(this.#folders, name);
      await this.#checkPlace(name, all);
      const emptied = await this.#isEmptied(name, all);
      const source = moved.get(one);
      if (source) return { done: [one, source], emptied, run: () => moveFile(placeOf(this.#folders, source.name), place) };
      if (sources.has(one)) return undefined;
      const bytes = await this.#bytesOf(target, name);
      return { done: [one], emptied, run: () => this.#put(name, bytes, one.known, one.mode) };
    });
    const done = new Set<T>();
    const reasons: string[] = [];
    const run = async (work: Work) => {
      try {
        await work.run();
        for (const one of work.done) done.add(one);
        return [];
      } catch (error) {
        return [messageOf(error)];
      }
    };
    const isRemoval = ({ done: [one] }: Work) => one?.target === null;
    const wanted = works.filter((work) => work !== undefined);
    // A link or file may have to make room for a folder.
    reasons.push(...(await mapAtOnce(wanted.filter(isRemoval), run)).flat());
    for (const {
      done: [one],
      emptied,
    } of wanted)
      if (one && emptied) await removeEmptyFolders(placeOf(this.#folders, one.name));
    reasons.push(
      ...(
        await mapAtOnce(
          wanted.filter((work) => !isRemoval(work)),
          run,
        )
      ).flat(),
    );
    return { done: targets.filter((one) => done.has(one)), failure: reasons.length === 0 ? undefined : new Error(oneMessage(reasons)) };
  }

  /** Files that are not kept, each with the one of the others that it is now. */
  async #movedAmong<T extends { readonly name: string; readonly target: ContentKey }>(targets: readonly T[]): Promise<ReadonlyMap<T, T>> {
    const moved = new Map<T, T>();
    const lost = targets.filter(({ target }) => target !== null && !isRestorable(target));
    if (lost.length === 0) return moved;
    for (const source of targets.filter(({ target }) => target === null)) {
      const present = await this.#present(source.name);
      const one = lost.find(({ target }) => present !== null && target !== null && movedKey(present) === movedKey(target));
      if (one) moved.set(one, source);
    }
    return moved;
  }

  /** Folders that are made when these files, of which some are not there, come back. */
  async #foldersFor(
    files: readonly { readonly name: string; readonly present: ContentKey }[],
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const above = new Map(files.flatMap(({ name, present }) => (present === null ? [[name, foldersAbove(name)] as const] : [])));
    const missing = await mapAtOnce(new Set([...above.values()].flat()), async (folder) =>
      (await changedAt(fileOf(this.#folders, folder))) === undefined ? [folder] : [],
    );
    const isMissing = new Set(missing.flat());
    const made = [...above].map(([name, folders]) => [name, folders.filter((one) => isMissing.has(one))] as const);
    return new Map(made.filter(([, folders]) => folders.length > 0));
  }

  /** Those of the folders in which there is nothing any more; the innermost first. */
  async #removeMade(folders: readonly string[]): Promise<void> {
    for (const folder of [...new Set(folders)].toSorted((a, b) => b.length - a.length))
      await removeEmptyFolder(placeOf(this.#folders, folder)).catch(() => {});
  }

  /** Removes folders that were made since the first change of these files, and in which there never was a file. */
  async #removeEmpty(names: readonly string[]): Promise<void> {
    const first = this.#state.checkpoints.find(({ changes }) => changes.some((one) => names.includes(one.name)));
    const empty = this.#scan.emptyFolders.map((folder) => `${folder}/`);
    if (first) await this.#removeFolders(first.turnId, empty);
  }

  /** These files are gone as they were before the first prompt that has touched each. */
  async #removeFoldersOf(names: Iterable<string>): Promise<void> {
    const left = new Set(names);
    for (const { turnId, changes } of this.#state.checkpoints) {
      const gone = changes.flatMap(({ name }) => (left.delete(name) ? [name] : []));
      await this.#removeFolders(turnId, gone);
    }
  }

  /**
   * Folders that hold nothing any more once these files are gone, and were not there before that prompt. `empty`: those, too, in which there never was
   * a file; below the others only, where the user may have made such a folder between two prompts.
   */
  async #removeFolders(turnId: TurnId, gone: readonly string[], empty?: 'all' | 'below'): Promise<void> {
    const checkpoint = gone.length > 0 ? this.#state.checkpoints.findLast((one) => one.turnId === turnId) : undefined;
    const list = checkpoint && (await fileList(this.#deps.store, checkpoint.files));
    if (!list) return;
    const known = new Set([...list.keys()].flatMap(foldersAbove));
    const made = new Set(gone.flatMap(foldersAbove).filter((one) => !known.has(one)));
    const isMeant = (folder: string) => empty === 'all' || (empty === 'below' && foldersAbove(folder).some((one) => made.has(one)));
    const unused = this.#scan.emptyFolders.filter(isMeant).flatMap((folder) => foldersAbove(`${folder}/`));
    await this.#removeMade([...made, ...unused.filter((one) => !known.has(one))]);
  }

  async #bytesOf(content: ContentKey, name: string): Promise<FileContent> {
    const target = linkTarget(content);
    if (target !== undefined) return { target };
    const bytes = content === null ? null : isKept(content) ? await this.#deps.store.get(content) : undefined;
    if (bytes !== undefined) return bytes;
    await this.#findLost([content]);
    throw new Error(notRestored(name));
  }

  async #restored(names: readonly string[]): Promise<void> {
    await mapAtOnce(names, (name) => this.#refresh(name));
    // A move concerns two files.
    const places = new Set([...this.#state.tracked].flatMap(([name, { from }]) => (from === undefined ? [] : [name, from])));
    await mapAtOnce(
      names.filter((name) => !places.has(name)),
      (name) => this.#restoredOne(name),
    );
    for (const name of names) if (places.has(name)) await this.#restoredOne(name);
  }

  async #restoredOne(name: string): Promise<void> {
    const now = this.#scan.files.get(name)?.content ?? null;
    // It was moved from here, and is gone from there.
    const moved = now === null ? undefined : [...this.#state.tracked].find(([, one]) => one.from === name && one.after === null);
    if (moved) await this.#restoredMove(moved[0], name, moved[1].before);
    const found = this.#state.tracked.get(name);
    await this.#recountDecided(name, now);
    if (found?.from !== undefined && now === null && found.after !== null) await this.#restoredMove(name, found.from, found.before);
    else if (found && isNothing({ ...found, after: now, mode: this.#modes(name, found.before, found.mode).mode }))
      this.#state = withoutTracked(this.#state, name, 'undone', now);
    else if (found) {
      const written = await this.#writtenBy(found, now);
      this.#state = withTracked(this.#state, name, { ...found, after: now, written, left: undefined, form: undefined });
    }
  }

  /** The file is where it was before, perhaps with changes of earlier prompts. */
  async #restoredMove(name: string, from: string, before: ContentKey): Promise<void> {
    const now = await this.#refresh(from);
    if (now === before) {
      this.#state = withoutTracked(this.#state, name, 'undone', now);
      return;
    }
    const tracked = new Map(this.#state.tracked);
    tracked.delete(name);
    this.#state = { ...this.#state, tracked: tracked.set(from, { before, after: now }) };
  }

  async #textOf(content: ContentKey): Promise<string | null | undefined> {
    if (content === null) return null;
    const bytes = isKept(content) ? await this.#deps.store.get(content) : undefined;
    return bytes && utf8Text(bytes);
  }

  /** '' where there is no file; undefined for what is no text, or too long to be compared. */
  async #shortTextOf(content: ContentKey): Promise<string | undefined> {
    const text = await this.#textOf(content);
    return text === null ? '' : shortText(text);
  }

  async #changed(): Promise<void> {
    await this.#save();
    this.#changes.fire();
  }

  async #save(): Promise<void> {
    try {
      await writeState(this.#file, this.#state);
      this.#kept = { loaded: this.#kept.loaded };
    } catch (error) {
      this.#kept = { ...this.#kept, unsaved: reasonOf(error) };
      this.#deps.log.error('The changes under review could not be saved', error);
    }
  }
}

export function countLines(segments: Segments): LineCounts {
  const hunks = hunksOfSegments(segments);
  const lines = (side: readonly string[], isWhole: boolean) => (isWhole && side.at(-1) === '' ? side.length - 1 : side.length);
  const isWhole = segments.length === 1;
  return {
    added: hunks.reduce((sum, { hunk }) => sum + lines(hunk.after, isWhole), 0),
    removed: hunks.reduce((sum, { hunk }) => sum + lines(hunk.before, isWhole), 0),
  };
}

/** Its bytes are kept, whether they are a text or not, or there is no file. */
function isThere(content: ContentKey): boolean {
  return content === null || isKept(content);
}

/** undefined for what is too long to be compared. */
function shortText(text: string | null | undefined): string | undefined {
  return typeof text === 'string' && text.length <= LONGEST_COUNTED ? text : undefined;
}

/**
 * Segments, and the manner (encoding, line ends) in which their texts were read. `like`: the text whose manner the old side has instead of its
 * own.
 */
interface ComparedSegments {
  readonly segments: Segments;
  readonly manner: Manner;
  readonly like?: string | null;
}

type Counts = Pick<TurnChange, 'added' | 'removed' | 'form' | 'noLines'>;

interface Compared {
  readonly of: readonly unknown[];
  readonly segments: Promise<Segments | undefined>;
}

/** A file that is undone. */
interface Undoing {
  readonly name: string;
  readonly takeBack: () => Promise<void>;
}

/** What the undo of a file replaced, what the agent knew of it, and why not all of it was undone. */
interface UndoEnd {
  readonly replaced: readonly Replaced[];
  readonly known: readonly (readonly [name: string, ContentKey])[];
  readonly reason?: string;
}

/** A file as it is to be. */
interface Wanted {
  readonly name: string;
  readonly target: ContentKey;
  readonly known?: ContentKey;
  readonly mode?: number | undefined;
}

interface RestoreStep {
  readonly name: string;
  readonly target: ContentKey;
  readonly present: ContentKey;
  readonly how: RestoredFile['how'];
  readonly users?: 'kept' | 'lost';
  readonly mode?: number | undefined;
}

/** Files without stored content are neither written nor deleted, but can be moved back. */
function howOf({ target, present }: Omit<RestoreStep, 'how'>, all: readonly Omit<RestoreStep, 'how'>[]): RestoreStep['how'] {
  const canBeMade = (content: ContentKey) => content === null || isRestorable(content);
  if (canBeMade(target) && (target !== null || canBeMade(present)))
    return target === null ? 'delete' : present === null ? 'create' : 'rewrite';
  const key = movedKey(target ?? present ?? '');
  const isMoved =
    target === null || present === null ? all.some((one) => key === movedKey((target === null ? one.target : one.present) ?? '')) : false;
  return !isMoved ? 'unknown' : target === null ? 'delete' : 'create';
}

/** Of files that changed at once, those that were there before and can be restored, where these are few: a program that writes many files makes new ones. */
function outOfBurst(changed: readonly string[], before: FileStates): readonly string[] {
  const chosen = changed.filter((name) => isRestorable(before.get(name)?.content ?? ''));
  return chosen.length > MOST_BESIDE_BURST ? [] : chosen;
}

/** True where a file differs in its content, or in who may read, write and run it. */
function isAnother(one: FileState | undefined, other: FileState | undefined): boolean {
  if (one?.content !== other?.content) return true;
  return one?.mode !== undefined && other?.mode !== undefined && one.mode !== other.mode;
}

function formIn({ form, noLines }: Pick<Tracked, 'form' | 'noLines'>): Pick<TurnFile, 'form' | 'noLines'> {
  return { ...(form === undefined ? {} : { form }), ...(noLines === undefined ? {} : { noLines }) };
}

/** What the editor shows as no text, whatever its encoding. */
function isBinary(bytes: Buffer): boolean {
  return bytes.includes(0);
}

function permissionsOf({
  before,
  after,
  mode,
  modeAfter,
}: Pick<Tracked, 'before' | 'after' | 'mode' | 'modeAfter'>): Pick<TurnFile, 'permissions'> {
  if (before === null || after === null || mode === undefined || modeAfter === undefined) return {};
  return { permissions: { before: lettersOf(mode), after: lettersOf(modeAfter) } };
}

/** As `ls` writes them. */
function lettersOf(mode: number): string {
  return Array.from('rwxrwxrwx', (letter, at) => (mode & (0o400 >> at) ? letter : '-')).join('');
}

function kindOf({ before, after }: Pick<Tracked, 'before' | 'after'>): TurnFile['change'] {
  return before === null ? 'created' : after === null ? 'deleted' : 'changed';
}

/** Where a file is a symbolic link before or after a change. */
function linksOf({ before, after }: Pick<Tracked, 'before' | 'after'>): Pick<TurnFile, 'links'> {
  const [was, is] = [linkTarget(before), linkTarget(after)];
  if (was === undefined && is === undefined) return {};
  return { links: { ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) } };
}

/** True for hunks in the same or neighbouring lines: between equal lines the border can be drawn in two ways. */
function touches(one: PlacedHunk, other: PlacedHunk): boolean {
  const end = ({ hunk, afterLine }: PlacedHunk) => afterLine + hunk.after.length;
  return one.afterLine <= end(other) && other.afterLine <= end(one);
}

function sameHunk(a: Hunk, b: Hunk): boolean {
  return a.before.join('\n') === b.before.join('\n') && a.after.join('\n') === b.after.join('\n');
}

function nothingToReview(file: string): string {
  return `${path.basename(file)}: ${t('No changes.')}`;
}

/** The system's message about a full disk names no file. */
function naming(name: string, error: unknown): unknown {
  const text = messageOf(error);
  return text.includes(name) ? error : new Error(`${name}: ${text}`, { cause: error });
}

/** Reasons name their files; a message has room for a few of them. */
function oneMessage(reasons: readonly string[]): string {
  const more = reasons.length > MOST_REASONS ? [`… +${reasons.length - MOST_REASONS}`] : [];
  return [...reasons.slice(0, MOST_REASONS), ...more].join('\n');
}

function changedByOthers(name: string): string {
  return t('In {0}, you or other prompts have changed the same lines. Undo these one by one, in the file.', name);
}

function unsavedIn(name: string): string {
  return t('{0} has unsaved changes. Save or revert it first.', name);
}

function unsavedAndWritten(name: string): string {
  return t('{0} was changed on disk while you have unsaved text in it. Merge the two in the editor first.', name);
}

/** Binary, too large, or its content is gone from the store. */
function notRestored(name: string): string {
  return t('{0} stays as it is: Parley keeps no copy of it that could be brought back.', name);
}
