import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { ChangeSet, RestoredFile, RestorePreview, UnreviewedFile } from '../../live/review/changeSet.ts';
import type { ChangeSets, OfSession, SessionHunk } from '../../live/review/changeSets.ts';
import type { SessionHost } from '../../live/surface.ts';
import { isSameFile } from '../../protocols/paths.ts';
import type { Session, SessionId, TurnId } from '../../session/model.ts';
import { commandTitle, viewName } from '../commandTitle.ts';
import type { QuickInputs } from '../quickInputs.ts';
import {
  ChangesTree,
  earlierPath,
  type FileRow,
  isRow,
  labelOf,
  promptLabel,
  type Row,
  type SessionRow,
  type TurnRow,
} from './changesTree.ts';
import { DELETED_AFTER, DELETED_BEFORE, noChangeHere, openTextDiff, REVIEW_SCHEME } from './documents.ts';
import { covers, type FileHunks, ReviewedHunk, takesTyped, uriInFront } from './fileHunks.ts';
import {
  besideWords,
  effectWords,
  isLeft,
  leftWords,
  listed,
  previewTitle,
  reasonWords,
  restoredWords,
  restoreQuestion,
} from './restoreWords.ts';
import { diffsOf } from './severalDiffs.ts';

const VIEW = 'parley.changes';
/** Files whose diffs a preview opens. */
const MOST_PREVIEWED = 100;
/** Milliseconds for which the disk rests before its changes are told of, and after which they are in any case. The editor tells of bursts in parts. */
const DISK_RESTS = 300;
const LONGEST_UNREST = 1500;
/** Milliseconds of rest after which the user's own saves are known, whether the editor has told of them before or after the disk. */
const SAVES_KNOWN = 2000;
/** Files that are looked at where no turn runs; the look before the next prompt finds more. */
const MOST_BETWEEN = 1000;

export interface Prompt {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}
export interface Restored extends Prompt {
  /** True when the conversation goes back too. */
  readonly conversation: boolean;
}

/** The changes under review, as a list, and the user's actions on them. Methods reject with a message for the user. */
export class ChangesReview implements Disposable {
  readonly #host: SessionHost;
  readonly #sets: ChangeSets;
  readonly #inputs: QuickInputs;
  readonly #life = new Lifetime();
  readonly #tree = this.#life.own(new ChangesTree());
  readonly #view: vscode.TreeView<Row>;
  readonly #hunks: FileHunks;
  /** Settles when the last key that decides or leads to another change has done so. */
  #gone: Promise<void> = Promise.resolve();

  constructor(host: SessionHost, sets: ChangeSets, hunks: FileHunks, inputs: QuickInputs, log: Log) {
    this.#host = host;
    this.#sets = sets;
    this.#hunks = hunks;
    this.#inputs = inputs;
    const options = { treeDataProvider: this.#tree, showCollapseAll: false, manageCheckboxStateManually: true };
    this.#view = this.#life.own(vscode.window.createTreeView(VIEW, options));
    const failed = (error: unknown) => log.error('A file could not be marked as reviewed', error);
    this.#life.own(this.#view.onDidChangeCheckboxState(({ items }) => void this.#mark(items).catch(failed)));
    this.#life.own(sets.onChange(() => this.#update()));
    this.#life.own(watchDisk(sets));
    this.#life.own(host.onSessions(() => this.#update()));
    this.#update();
  }

  /** Restores this window's sessions once the list is on the screen, as the chat does. */
  restoreWhenShown(restore: () => Promise<void>): void {
    const shown = () => this.#view.visible && void restore();
    this.#life.own(this.#view.onDidChangeVisibility(shown));
    shown();
  }

  dispose(): void {
    this.#life.dispose();
  }

  /**
   * Keeps or undoes the hunk that a lens shows, or the one at the cursor. The editor's quick diff passes its changes and the shown one's index. One
   * after the other, as the next one is meant for what this one leaves.
   */
  settleHunk(how: 'keep' | 'undo', uri?: unknown, place?: unknown, index?: unknown): Promise<void> {
    return this.#inTurn(() => this.#settleHunk(how, uri, place, index));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#gone = this.#gone.then(work, work);
    return this.#gone;
  }

  async #settleHunk(how: 'keep' | 'undo', uri?: unknown, place?: unknown, index?: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const wanted = uri instanceof vscode.Uri ? uri : uriInFront();
    const whole = await this.#hunks.wholeIn(wanted);
    if (whole !== undefined) return this.settleFile(how, vscode.Uri.file(whole));
    const reviewed = await this.#hunks.findNow(wanted);
    const ofLens = place instanceof ReviewedHunk;
    const inQuickDiff = quickDiffChange(place, index);
    const at = inQuickDiff?.line ?? editor?.selection.active.line;
    const isShown = (one: SessionHunk) => at !== undefined && covers(one, at) && (!inQuickDiff || inQuickDiff.isIn(one));
    const hunk = ofLens ? place.now(reviewed) : reviewed?.hunks.find(isShown);
    // A second press on a lens that is still drawn is done already.
    if (!reviewed || !hunk) return ofLens ? undefined : noChangeHere();
    const withTyped = how === 'undo' && takesTyped(hunk);
    if (withTyped && !(await this.#confirmTyped((await this.#hunks.writers(reviewed.file, [hunk])).flat()))) return;
    await this.#sets.lookAll();
    await hunk.of.set.settle(reviewed.file, how, [hunk], withTyped);
    if (place === undefined) await this.#hunks.goOn(hunk.afterLine);
  }

  /** Keeps or undoes all changes of a file: of the row that was chosen, or the file in front. */
  async settleFile(how: 'keep' | 'undo', row?: unknown): Promise<void> {
    if (isRow(row)) {
      if (await this.#tree.press(row, how, () => this.#settleRow(how, row))) return;
      const text = vscode.l10n.t('{0} has changed in the meantime. Look at the change again.', viewName(VIEW));
      return void vscode.window.showInformationMessage(text);
    }
    // The title of several diffs in one editor names none of their files.
    const shown = [row instanceof vscode.Uri ? row : undefined, uriInFront()];
    const files = shown.flatMap((uri) => (uri ? [this.#hunks.deletedIn(uri) ?? uri.fsPath] : []));
    const file = files.find((one) => this.#sets.reviewing(one) !== undefined);
    if (file === undefined) return;
    await this.#sets.lookAll();
    await eachOf(this.#sets.changing(file), ({ set }) => set.settle(file, how));
  }

  /** Keeps or undoes all that the list shows. */
  async settleAll(how: 'keep' | 'undo'): Promise<void> {
    await this.#settleSessions(how, this.#sets.all);
  }

  /** False where the user has not confirmed it. */
  async #settleSessions(how: 'keep' | 'undo', sessions: readonly OfSession[]): Promise<boolean> {
    if (how === 'undo') {
      const undo = vscode.l10n.t('Undo all');
      const text = vscode.l10n.t('Undo all changes in these files? Your own edits stay, except those in proposals.');
      const detail = listed([...new Set(sessions.flatMap(({ set }) => set.files.map(({ name }) => name)))]);
      if ((await vscode.window.showWarningMessage(text, { modal: true, detail }, undo)) !== undo) return false;
    }
    await this.#sets.lookAll();
    await eachOf(sessions, ({ set }) => set.settleAll(how));
    return true;
  }

  /**
   * Goes to the next or previous change to review: after the last of a file to the next file, and from the last file to the first. One key after the
   * other: each leads on from where the one before led.
   */
  go(way: 1 | -1): Promise<void> {
    return this.#inTurn(() => this.#go(way));
  }

  async #go(way: 1 | -1): Promise<void> {
    const { current, inDiff } = inFront();
    if (await this.#hunks.go(way)) return;
    const { files } = this.#sets;
    const at = files.findIndex((file) => isSameFile(file.path, current));
    const next = files.at(at < 0 && way === -1 ? -1 : (at + way) % files.length);
    if (!next) return;
    if (next.kind === 'deleted' || (inDiff && !isSameFile(next.path, current))) await this.open({ kind: 'file', file: next });
    else {
      if (!isSameFile(next.path, current)) await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(next.path));
      // A notebook has its hunks in its diff only.
      if (!isText(vscode.window.tabGroups.activeTabGroup.activeTab)) await this.open({ kind: 'file', file: next });
    }
    await this.#hunks.goToEnd(way);
  }

  /** Opens a file of the list beside its text before the changes. */
  async open(row: unknown): Promise<void> {
    if (!isRow(row) || row.kind !== 'file') return;
    const sides = await this.#sides(row.file, row.sessionId);
    const file = vscode.Uri.file(row.file.path);
    if (!sides) return void (await vscode.commands.executeCommand('vscode.open', file));
    const title = `${labelOf(row.file)} (${vscode.l10n.t('to review')})`;
    const first = await this.firstPlace(row.file.path);
    const selection = first ? { selection: new vscode.Range(first.line, first.column, first.line, first.column) } : {};
    await openTextDiff(...sides, title, { preview: true, ...selection });
  }

  /** The 0-based place of a file's first change under review; undefined where there is none. */
  firstPlace(file: string): ReturnType<FileHunks['firstPlace']> {
    return this.#hunks.firstPlace(file);
  }

  /** Opens all changes under review in one editor. */
  async openAll(): Promise<void> {
    const { files } = this.#sets;
    const opened = await Promise.all(files.map(async (file) => [file, await this.#sides(file)] as const));
    const resources = opened.flatMap(([file, sides]) => (sides ? [[vscode.Uri.file(file.path), ...sides]] : []));
    if (resources.length > 0) await vscode.commands.executeCommand('vscode.changes', vscode.l10n.t('Changes'), resources);
  }

  /**
   * Restores the files to before a prompt, after showing the effect. `conversation`: whether the user wants it to go back too. Undefined when nothing was
   * done.
   */
  async restoreFiles({ sessionId, turnId }: Prompt): Promise<Restored | undefined> {
    const session = this.#host.get(sessionId)?.store.now;
    return session && this.#restoreTo(session, turnId);
  }

  async undoRestore(id = this.#host.active): Promise<void> {
    if (id !== undefined) await this.#sets.undoRestore(id);
  }

  /** Ticks or unticks the focused file of the list. The editor tells only what is selected, so the focused row changes its place there and back. */
  async toggleReviewed(): Promise<void> {
    const selected = this.#view.selection;
    const toggle = () => vscode.commands.executeCommand('list.toggleSelection');
    await toggle();
    const toggled = this.#view.selection;
    await toggle();
    const focused = [...toggled, ...selected].find((row) => toggled.includes(row) !== selected.includes(row));
    if (focused?.kind === 'file') await this.#sets.of(focused.sessionId)?.mark(focused.file.path, focused.file.reviewed !== true);
  }

  /** `writers`: who has edited the change. */
  async #confirmTyped(writers: readonly string[]): Promise<boolean> {
    const undo = vscode.l10n.t('Undo');
    const text = vscode.l10n.t('This change was edited since. Undo it together with these edits?');
    return (await vscode.window.showWarningMessage(text, { modal: true, detail: writers.join('\n') }, undo)) === undo;
  }

  /** The prompt of the active session that the user chooses, of those that can be gone back to. */
  async choosePrompt(): Promise<Prompt | undefined> {
    const { active: id } = this.#host;
    const set = this.#sets.of(id);
    const session = id === undefined ? undefined : this.#host.get(id)?.store.now;
    if (!set || !session) return undefined;
    const turns = session.turns.filter((turn) => set.checkpoints.includes(turn.id)).toReversed();
    const choices = turns.map((turn) => ({
      label: promptLabel(session, turn.id),
      description: new Date(turn.startedAt).toLocaleString(vscode.env.language),
      value: { sessionId: session.id, turnId: turn.id },
    }));
    const title = commandTitle('restoreFiles');
    return this.#inputs.pick(choices, { title, placeholder: title });
  }

  async #restoreTo(session: Session, turnId: TurnId): Promise<Restored | undefined> {
    const set = this.#sets.of(session.id);
    // Includes the agent's latest changes.
    await this.#sets.lookAll();
    const preview = await set?.preview(turnId);
    if (!preview) throw new Error(vscode.l10n.t('The files before this prompt are not known.'));
    if (preview.files.length === 0) {
      const words = [vscode.l10n.t('No changes.'), set?.partial ? partlyWatched() : '', ...besideWords(preview)];
      void vscode.window.showInformationMessage(words.filter(Boolean).join(' '));
      return undefined;
    }
    const answer = await this.#askRestore(session, preview);
    if (answer === undefined) return undefined;
    const left = preview.files.filter(isLeft);
    const names = new Set(left.map(({ name }) => name));
    const problem = await this.#sets.restore(session.id, turnId, names, answer === 'both').then(() => undefined, messageOf);
    if (problem === undefined && left.length === 0) void this.#offerUndo(session.id, preview.files);
    else void this.#tellLeft(left, problem, problem === undefined ? left : (await set?.preview(turnId))?.files);
    return problem === undefined ? { sessionId: session.id, turnId, conversation: answer === 'both' } : undefined;
  }

  /** Asks with the effect on each file, and shows the diffs when the user wants to see them first. */
  async #askRestore(session: Session, preview: RestorePreview): Promise<'files' | 'both' | undefined> {
    const { turnId, files: all } = preview;
    const files = vscode.l10n.t('Restore Files');
    const both = vscode.l10n.t('Restore Files and Conversation');
    const diffs = commandTitle('openChange');
    const question = restoreQuestion(all);
    // Enter presses the first: the one that leaves more as it is.
    const buttons = canGoBack(session, turnId) ? [files, both] : [files];
    const detail = effectWords(preview);
    if (all.every(isLeft)) {
      void vscode.window.showWarningMessage(leftWords(all), { modal: true, detail });
      return undefined;
    }
    let answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, ...buttons, diffs);
    if (answer === diffs) {
      await this.#showPreview(session.id, preview);
      answer = await vscode.window.showWarningMessage(question, ...buttons);
    }
    return answer === both ? 'both' : answer === files ? 'files' : undefined;
  }

  async #showPreview(id: SessionId, { turnId, files }: RestorePreview): Promise<void> {
    const texts = (await this.#sets.of(id)?.previewTexts(turnId, MOST_PREVIEWED)) ?? [];
    const resources = texts.map(({ path: file, present, target }) => [
      vscode.Uri.file(file),
      this.#hunks.showText('present', file, present ?? ''),
      this.#hunks.showText('restored', file, target ?? ''),
    ]);
    await vscode.commands.executeCommand('vscode.changes', previewTitle(resources.length, files), resources);
  }

  /**
   * In a dialog, as the question was: some files are not as it may have been understood. `problem`: why more of them were not written. `all`: those
   * that were not.
   */
  async #tellLeft(left: readonly RestoredFile[], problem: string | undefined, all: readonly RestoredFile[] = []): Promise<void> {
    const detail = [...(problem === undefined ? [] : [problem]), reasonWords(left)].filter(Boolean).join('\n');
    const text = all.length > 0 ? leftWords(all) : commandTitle('restoreFiles');
    // No Undo here: it would be what Enter does.
    await vscode.window.showWarningMessage(text, { modal: true, detail });
  }

  async #offerUndo(id: SessionId, files: readonly RestoredFile[]): Promise<void> {
    const undo = vscode.l10n.t('Undo');
    if ((await vscode.window.showInformationMessage(restoredWords(files), undo)) !== undo) return;
    await this.undoRestore(id).catch((error: unknown) => vscode.window.showErrorMessage(messageOf(error)));
  }

  async #settleRow(how: 'keep' | 'undo', row: FileRow | TurnRow | SessionRow): Promise<boolean> {
    const set = this.#sets.of(row.sessionId);
    if (!set) return false;
    if (row.kind === 'session') return this.#settleSessions(how, [{ id: row.sessionId, set }]);
    await this.#sets.lookAll();
    if (row.kind === 'turn') await set.settleTurn(row.turnId, how);
    else if (row.turnId === undefined) await set.settle(row.file.path, how);
    else await set.settleTurn(row.turnId, how, row.change?.path ?? row.file.path);
    return true;
  }

  /** The file before the changes and now, of a link where it leads; undefined when it is not text. */
  async #sides(unreviewed: UnreviewedFile, sessionId?: SessionId): Promise<readonly [vscode.Uri, vscode.Uri] | undefined> {
    const { path: file, kind, links } = unreviewed;
    const all = this.#sets.changing(file);
    const of = all.find(({ id }) => id === sessionId) ?? all[0];
    const base = links?.before ?? (await of?.set.baseText(file));
    if (base === undefined) return undefined;
    const earlier = earlierPath(unreviewed);
    const isLink = links?.before !== undefined;
    const key = kind === 'deleted' ? DELETED_BEFORE : 'before';
    const left = isLink
      ? this.#hunks.showText('link', earlier, base ?? '')
      : this.#hunks.showBase(key, file, base ?? '', all.length > 1 && kind !== 'deleted' ? of?.id : undefined, earlier);
    if (kind === 'deleted') return [left, this.#hunks.showDeleted(DELETED_AFTER, file)];
    // The editor would open what a link leads to.
    return [left, links?.after === undefined ? vscode.Uri.file(file) : this.#hunks.showText('link/after', file, links.after)];
  }

  async #mark(items: readonly (readonly [Row, vscode.TreeItemCheckboxState])[]): Promise<void> {
    for (const [row, state] of items) {
      if (row.kind === 'file') await this.#sets.of(row.sessionId)?.mark(row.file.path, state === vscode.TreeItemCheckboxState.Checked);
    }
  }

  #update(): void {
    const set = this.#sets.of(this.#host.active);
    const count = this.#sets.files.length;
    const message = this.#warning(set);
    const shown = this.#sets.all.map(({ id, set }) => ({ id, set, name: this.#sets.nameOf(id), session: this.#host.get(id)?.store.now }));
    this.#tree.show(shown, this.#host.active, message !== '');
    const kept = vscode.l10n.t('{0} MB kept', Math.ceil(this.#sets.diskUse / 1024 / 1024));
    this.#view.badge = count === 0 ? undefined : { value: count, tooltip: `${count} ${vscode.l10n.t('to review')} (${kept})` };
    this.#view.message = message;
    void vscode.commands.executeCommand('setContext', 'parley.toReview', count > 0);
    void vscode.commands.executeCommand('setContext', 'parley.canRestore', (set?.checkpoints.length ?? 0) > 0);
    void vscode.commands.executeCommand('setContext', 'parley.canUndoRestore', set?.canUndoRestore ?? false);
    this.#hunks.update();
  }

  #warning(set: ChangeSet | undefined): string {
    if (set?.trouble !== undefined) return vscode.l10n.t('Not kept for review: {0}', set.trouble);
    const burst = set?.burst ? vscode.l10n.t('{0} files changed at once and are not listed.', set.burst) : '';
    return [burst, set?.partial ? partlyWatched() : ''].filter(Boolean).join(' ');
  }
}

/** Tells of changes on the disk, several together. The editor watches the folders of its workspace anyway. */
function watchDisk(sets: ChangeSets): Disposable {
  const life = new Lifetime();
  const changed = new Set<string>();
  const between = new Set<string>();
  let telling: NodeJS.Timeout | undefined;
  let tellingBetween: NodeJS.Timeout | undefined;
  let latest = 0;
  const tellBetween = () => {
    sets.changedBetween([...between]);
    between.clear();
  };
  const tell = () => {
    sets.changedOnDisk([...changed]);
    for (const file of changed) if (between.size < MOST_BETWEEN) between.add(file);
    changed.clear();
    clearTimeout(tellingBetween);
    tellingBetween = setTimeout(tellBetween, SAVES_KNOWN);
  };
  const noted = ({ scheme, fsPath }: vscode.Uri) => {
    if (scheme !== 'file') return;
    if (changed.size === 0) latest = performance.now() + LONGEST_UNREST;
    changed.add(fsPath);
    clearTimeout(telling);
    telling = setTimeout(tell, Math.max(0, Math.min(DISK_RESTS, latest - performance.now())));
  };
  const watcher = life.own(vscode.workspace.createFileSystemWatcher('**/*'));
  for (const event of [watcher.onDidCreate, watcher.onDidChange, watcher.onDidDelete]) life.own(event(noted));
  life.onEnd(() => [telling, tellingBetween].forEach(clearTimeout));
  return life;
}

function partlyWatched(): string {
  return vscode.l10n.t('This folder is large: not all of its files are watched.');
}

/** One session after the other. One that fails is tried again after the others: what another one wrote into the same lines may be gone by then. */
async function eachOf(all: readonly OfSession[], work: (one: OfSession) => Promise<void>): Promise<void> {
  const failed: OfSession[] = [];
  for (const one of all) await work(one).catch(() => failed.push(one));
  for (const one of failed) await work(one);
}

/** The file of the active tab, and whether the tab is a diff against its earlier text, or several in one editor. */
function inFront(): { readonly current: string; readonly inDiff: boolean } {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (diffsOf(input)) return { current: vscode.window.activeTextEditor?.document.uri.fsPath ?? '', inDiff: true };
  if (input instanceof vscode.TabInputTextDiff) return { current: input.modified.fsPath, inDiff: isFileOrOurs(input.modified) };
  const isFile = input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom || input instanceof vscode.TabInputNotebook;
  return { current: isFile ? input.uri.fsPath : '', inDiff: false };
}

function isFileOrOurs({ scheme }: vscode.Uri): boolean {
  return scheme === 'file' || scheme.startsWith(REVIEW_SCHEME);
}

function isText(tab: vscode.Tab | undefined): boolean {
  return !(tab?.input instanceof vscode.TabInputNotebook || tab?.input instanceof vscode.TabInputCustom);
}

/** True when the agent can take back the conversation from that prompt on. */
function canGoBack({ link, turns }: Session, turnId: TurnId): boolean {
  const turn = turns.find((one) => one.id === turnId);
  return link.state === 'ready' && link.offers.edit === true && turns.at(-1)?.status !== 'running' && (turn?.prompt.length ?? 0) > 0;
}

interface QuickDiffChange {
  /** For removed lines, the line below them. */
  readonly line: number;
  /** By its lines before: these stay where they are when another change is undone. */
  isIn(hunk: SessionHunk): boolean;
}

/** The change that the editor's quick diff shows. */
function quickDiffChange(changes: unknown, index: unknown): QuickDiffChange | undefined {
  const change = Array.isArray(changes) && typeof index === 'number' ? (changes[index] as unknown) : undefined;
  if (typeof change !== 'object' || change === null) return undefined;
  const { modifiedStartLineNumber: start, modifiedEndLineNumber: end } = change as Readonly<Record<string, unknown>>;
  const { originalStartLineNumber: from, originalEndLineNumber: to } = change as Readonly<Record<string, unknown>>;
  if (typeof start !== 'number') return undefined;
  const isIn = ({ hunk, beforeLine }: SessionHunk) =>
    typeof from !== 'number' || typeof to !== 'number' || (from - 1 <= beforeLine + hunk.before.length && Math.max(from, to) >= beforeLine);
  return { line: end === 0 ? start : start - 1, isIn };
}
