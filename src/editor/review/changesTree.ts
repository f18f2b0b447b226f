import path from 'node:path';
import * as vscode from 'vscode';
import type { Disposable } from '../../base/lifetime.ts';
import type { ChangeSet, UnreviewedFile } from '../../live/review/changeSet.ts';
import { isSameFile } from '../../protocols/paths.ts';
import { linkWords, mannerWords, noHunksWords } from '../../session/fileWords.ts';
import type { Session, SessionId, TurnFile, TurnId } from '../../session/model.ts';
import { rowName, titleOf } from '../../session/select.ts';
import { shortened } from '../../session/visible.ts';
import { HeldRows, type RowDecision } from './heldRows.ts';
import { LONGEST_NAME } from './hunkLenses.ts';

export interface FileRow {
  readonly kind: 'file';
  readonly sessionId: SessionId;
  readonly file: UnreviewedFile;
  /** The effect of a prompt on the file, with lines, where known. */
  readonly change?: TurnFile;
  /** The prompt that the row is listed under. */
  readonly turnId?: TurnId;
  /** The sessions that have changed the file, by name, where there are several. */
  readonly sessions?: readonly string[];
}
export interface TurnRow {
  readonly kind: 'turn';
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly label: string;
  readonly rows: readonly FileRow[];
}
/** A session besides the active one. */
export interface SessionRow {
  readonly kind: 'session';
  readonly sessionId: SessionId;
  readonly name: string;
  readonly files: number;
  readonly rows: readonly (TurnRow | FileRow)[];
}
/** Tells that there is nothing to review. A list without rows would lose the keyboard when the first ones come. */
interface EmptyRow {
  readonly kind: 'empty';
}
type DecidedRow = FileRow | TurnRow | SessionRow;
export type Row = DecidedRow | EmptyRow;

/** A session with its changes. */
interface ShownSession {
  readonly id: SessionId;
  readonly name: string;
  readonly set: ChangeSet;
  readonly session: Session | undefined;
}

/**
 * Changed files that wait for review: by prompt, latest first, where more than one has changed files; those of other sessions than the active one below,
 * by session.
 */
export class ChangesTree implements vscode.TreeDataProvider<Row>, Disposable {
  #rows: readonly Row[] = [];
  /** Rows that come once the list need not stay as it is. */
  #next: readonly Row[] | undefined;
  readonly #held = new HeldRows();
  readonly #changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changes.event;

  constructor() {
    this.#held.onChange(() => this.#update());
  }

  /** `hasMessage`: a message above the list explains why it is empty. */
  show(sessions: readonly ShownSession[], active: SessionId | undefined, hasMessage: boolean): void {
    const rows = sessions.flatMap((one): readonly Row[] => {
      const own = rowsOf(one, sessions);
      if (one.id === active || own.length === 0) return own;
      return [{ kind: 'session', sessionId: one.id, name: one.name, files: one.set.files.length, rows: own }];
    });
    this.#next = rows.length > 0 || hasMessage ? rows : [{ kind: 'empty' }];
    this.#update();
  }

  /** A button of that row was pressed. False where it was pressed too early, and did nothing. `decide` resolves with false where nothing was decided. */
  press(row: DecidedRow, how: RowDecision, decide: () => Promise<boolean>): Promise<boolean> {
    return this.#held.press(idsOf(row), how, decide);
  }

  dispose(): void {
    this.#held.dispose();
  }

  #update(): void {
    if (this.#next && !this.#held.isHeld) {
      this.#rows = this.#next;
      this.#next = undefined;
      this.#held.place(shownIn(this.#rows));
    }
    this.#changes.fire(undefined);
  }

  getChildren(row?: Row): Row[] {
    return row ? ('rows' in row ? [...row.rows] : []) : [...this.#rows];
  }

  getTreeItem(row: Row): vscode.TreeItem {
    if (row.kind === 'empty') return new vscode.TreeItem(vscode.l10n.t('No changes.'));
    const item = row.kind === 'session' ? sessionItem(row) : row.kind === 'turn' ? turnItem(row) : fileItem(row);
    const ids = idsOf(row);
    const how = this.#held.decisionOf(ids);
    if (how) setDecided(item, how);
    item.id = ids[0] ?? '';
    return item;
  }
}

/** The row's own id, and those of the rows that it may be in. */
function idsOf(row: DecidedRow): readonly string[] {
  const { sessionId } = row;
  const turn = `${sessionId} ${row.kind === 'session' ? '' : (row.turnId ?? '')}`;
  return [...(row.kind === 'file' ? [`${turn} ${row.file.path}`] : []), ...(row.kind === 'session' ? [] : [turn]), sessionId];
}

function shownIn(rows: readonly Row[]): readonly string[] {
  return rows.flatMap((row) => (row.kind === 'empty' ? [] : [...idsOf(row).slice(0, 1), ...('rows' in row ? shownIn(row.rows) : [])]));
}

/** Until it goes, nothing is left to decide in a row, or to open from it. */
function setDecided(item: vscode.TreeItem, how: RowDecision): void {
  const word = how === 'keep' ? vscode.l10n.t('Kept') : vscode.l10n.t('Undone');
  item.description = word;
  item.contextValue = 'decided';
  delete item.command;
  if (item.accessibilityInformation) item.accessibilityInformation = { label: `${item.accessibilityInformation.label}, ${word}` };
}

export function isRow(value: unknown): value is DecidedRow {
  const kinds: readonly unknown[] = ['file', 'turn', 'session'];
  return typeof value === 'object' && value !== null && 'kind' in value && kinds.includes(value.kind);
}

export function promptLabel(session: Session, turnId: TurnId): string {
  const turn = session.turns.find((one) => one.id === turnId);
  return (turn && titleOf({ ...session, title: '', turns: [turn] })) || '…';
}

function rowsOf({ id: sessionId, set, session }: ShownSession, all: readonly ShownSession[]): readonly (TurnRow | FileRow)[] {
  // The others first: a narrow list cuts the end.
  const sorted = [...all.filter(({ id }) => id !== sessionId), ...all.filter(({ id }) => id === sessionId)];
  const rowOf = (file: UnreviewedFile): FileRow => {
    const sessions = sorted.filter((one) => one.set.files.some((other) => isSameFile(other.path, file.path)));
    return { kind: 'file', sessionId, file, ...(sessions.length > 1 ? { sessions: sessions.map(({ name }) => name) } : {}) };
  };
  const files = new Map(set.files.map((file) => [file.path, file]));
  const turns = set.checkpoints.toReversed().flatMap((turnId): readonly TurnRow[] => {
    const rows = (set.turnFiles(turnId)?.files ?? []).flatMap((one): readonly FileRow[] => {
      const file = one.review === 'open' || one.review === 'unkept' ? files.get(set.placeNow(turnId, one.path)) : undefined;
      return file ? [{ ...rowOf({ ...file, kind: one.change }), change: one, turnId }] : [];
    });
    return rows.length === 0 ? [] : [{ kind: 'turn', sessionId, turnId, label: session ? promptLabel(session, turnId) : turnId, rows }];
  });
  // A prompt removed by going back in the conversation has no text any more.
  const isThere = ({ turnId }: TurnRow) => session?.turns.some((turn) => turn.id === turnId) === true;
  if (turns.length > 1)
    return turns
      .map((turn) => withOwnCounts(turn, turns))
      .flatMap((row): readonly (TurnRow | FileRow)[] => (isThere(row) ? [row] : row.rows));
  const known = turns[0]?.rows ?? [];
  return set.files.map((file) => ({ ...rowOf(file), ...changeIn(known, file) }));
}

/** Drops the counts of a file's remaining changes where several prompts changed it. */
function withOwnCounts(turn: TurnRow, all: readonly TurnRow[]): TurnRow {
  const others = new Set(all.filter((one) => one !== turn).flatMap(({ rows }) => rows.map(({ file }) => file.path)));
  const rows = turn.rows.map((row) => (others.has(row.file.path) ? { ...row, file: { ...row.file, left: undefined } } : row));
  return { ...turn, rows };
}

function changeIn(rows: readonly FileRow[], { path: file }: UnreviewedFile): Pick<FileRow, 'change'> {
  const change = rows.find((row) => row.file.path === file)?.change;
  return change ? { change } : {};
}

function sessionItem({ name, files }: SessionRow): vscode.TreeItem {
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.Expanded);
  item.description = `${files}`;
  item.contextValue = 'changedSession';
  item.iconPath = new vscode.ThemeIcon('comment-discussion');
  return item;
}

function turnItem({ label, rows }: TurnRow): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
  item.description = `${rows.length}`;
  item.contextValue = 'changedTurn';
  item.iconPath = new vscode.ThemeIcon('comment');
  return item;
}

export function labelOf({ name, from }: UnreviewedFile): string {
  return rowName(name, from);
}

/** Where the file was before the agent has moved it. */
export function earlierPath({ path: file, name, from }: UnreviewedFile): string {
  return from === undefined ? file : path.resolve(file, path.relative(name, from));
}

function fileItem(row: FileRow): vscode.TreeItem {
  const { file, change, sessions = [] } = row;
  const kinds = {
    created: vscode.l10n.t('new'),
    deleted: vscode.l10n.t('deleted'),
    changed: file.from === undefined ? '' : vscode.l10n.t('moved'),
  };
  const item = new vscode.TreeItem(vscode.Uri.file(file.path));
  if (file.from !== undefined) item.label = labelOf(file);
  const counts = file.left ?? change;
  const folder = path.posix.dirname(file.name);
  const inLabel = folder === '.' || (file.from !== undefined && path.posix.dirname(file.from) !== folder);
  const lines = [counts?.added ? `+${counts.added}` : '', counts?.removed ? `−${counts.removed}` : ''].filter(Boolean).join(' ');
  const isUncounted = change !== undefined && change.added === undefined && !file.left;
  const refused = file.whyUnkept === undefined ? undefined : vscode.l10n.t('Not kept for review: {0}', file.whyUnkept);
  const links = file.links && linkWords(file.links);
  const uncounted = links ?? (file.unkept && !file.noLines ? '' : noHunksWords(change?.noLines ?? file.noLines));
  const why = refused ?? (isUncounted ? uncounted : '');
  const facts = [
    inLabel ? '' : folder,
    lines,
    mannerWords(file),
    kinds[file.kind],
    file.unkept ? vscode.l10n.t('cannot be undone') : '',
    why,
    sessions.length === 0 ? '' : vscode.l10n.t('By {0}', sessions.map((name) => shortened(name, LONGEST_NAME)).join(', ')),
  ].filter(Boolean);
  item.description = facts.join(' · ');
  item.contextValue = file.unkept ? 'unkeptFile' : 'changedFile';
  item.accessibilityInformation = { label: [file.from === undefined ? file.name : `${file.from} → ${file.name}`, ...facts].join(', ') };
  item.checkboxState = {
    state: file.reviewed ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked,
    tooltip: vscode.l10n.t('Done'),
  };
  item.command = { title: '', command: 'parley.openChange', arguments: [row] };
  return item;
}
