import path from 'node:path';
import * as vscode from 'vscode';
import type { ChangeSet, UnreviewedFile } from '../../live/review/changeSet.ts';
import { linkWords, permissionWords } from '../../session/fileWords.ts';
import type { Session, TurnFile, TurnId } from '../../session/model.ts';
import { rowName, titleOf } from '../../session/select.ts';

export interface FileRow {
  readonly kind: 'file';
  readonly file: UnreviewedFile;
  /** The effect of a prompt on the file, with lines, where known. */
  readonly change?: TurnFile;
  /** The prompt that the row is listed under. */
  readonly turnId?: TurnId;
}
export interface TurnRow {
  readonly kind: 'turn';
  readonly turnId: TurnId;
  readonly label: string;
  readonly rows: readonly FileRow[];
}
/** Tells that there is nothing to review. A list without rows would lose the keyboard when the first ones come. */
interface EmptyRow {
  readonly kind: 'empty';
}
export type Row = FileRow | TurnRow | EmptyRow;

/** Changed files that wait for review: by prompt, latest first, where more than one has changed files. */
export class ChangesTree implements vscode.TreeDataProvider<Row> {
  #rows: readonly Row[] = [];
  readonly #changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changes.event;

  /** `hasMessage`: a message above the list explains why it is empty. */
  show(set: ChangeSet | undefined, session: Session | undefined, hasMessage: boolean): void {
    const rows = set ? rowsOf(set, session) : [];
    this.#rows = rows.length > 0 || hasMessage ? rows : [{ kind: 'empty' }];
    this.#changes.fire(undefined);
  }

  getChildren(row?: Row): Row[] {
    return row ? (row.kind === 'turn' ? [...row.rows] : []) : [...this.#rows];
  }

  getTreeItem(row: Row): vscode.TreeItem {
    if (row.kind === 'empty') return new vscode.TreeItem(vscode.l10n.t('No changes.'));
    return row.kind === 'turn' ? turnItem(row) : fileItem(row);
  }
}

export function isRow(value: unknown): value is FileRow | TurnRow {
  return typeof value === 'object' && value !== null && 'kind' in value && (value.kind === 'file' || value.kind === 'turn');
}

export function promptLabel(session: Session, turnId: TurnId): string {
  const turn = session.turns.find((one) => one.id === turnId);
  return (turn && titleOf({ ...session, title: '', turns: [turn] })) || '…';
}

function rowsOf(set: ChangeSet, session: Session | undefined): readonly Row[] {
  const files = new Map(set.files.map((file) => [file.path, file]));
  const turns = set.checkpoints.toReversed().flatMap((turnId): readonly TurnRow[] => {
    const rows = (set.turnFiles(turnId)?.files ?? []).flatMap((one): readonly FileRow[] => {
      const file = one.review === 'open' || one.review === 'unkept' ? files.get(set.placeNow(turnId, one.path)) : undefined;
      return file ? [{ kind: 'file', file: { ...file, kind: one.change }, change: one, turnId }] : [];
    });
    return rows.length === 0 ? [] : [{ kind: 'turn', turnId, label: session ? promptLabel(session, turnId) : turnId, rows }];
  });
  // A prompt removed by going back in the conversation has no text any more.
  const isThere = ({ turnId }: TurnRow) => session?.turns.some((turn) => turn.id === turnId) === true;
  if (turns.length > 1)
    return turns.map((turn) => withOwnCounts(turn, turns)).flatMap((row): readonly Row[] => (isThere(row) ? [row] : row.rows));
  const known = turns[0]?.rows ?? [];
  return set.files.map((file) => ({ kind: 'file', file, ...changeIn(known, file) }));
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

function turnItem({ turnId, label, rows }: TurnRow): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
  item.id = turnId;
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

function fileItem({ file, change, turnId }: FileRow): vscode.TreeItem {
  const kinds = {
    created: vscode.l10n.t('new'),
    deleted: vscode.l10n.t('deleted'),
    changed: file.from === undefined ? '' : vscode.l10n.t('moved'),
  };
  const item = new vscode.TreeItem(vscode.Uri.file(file.path));
  if (file.from !== undefined) item.label = labelOf(file);
  item.id = `${turnId ?? ''} ${file.path}`;
  const counts = file.left ?? change;
  const folder = path.posix.dirname(file.name);
  const inLabel = folder === '.' || (file.from !== undefined && path.posix.dirname(file.from) !== folder);
  const lines = [counts?.added ? `+${counts.added}` : '', counts?.removed ? `−${counts.removed}` : ''].filter(Boolean).join(' ');
  const isUncounted = change !== undefined && change.added === undefined && !file.left;
  const refused = file.whyUnkept === undefined ? undefined : vscode.l10n.t('Not kept for review: {0}', file.whyUnkept);
  const links = file.links && linkWords(file.links);
  const why = isUncounted ? (refused ?? links ?? (file.unkept ? '' : vscode.l10n.t('binary, large or not UTF-8'))) : '';
  const permissions = file.permissions && permissionWords(file.permissions);
  const facts = [
    inLabel ? '' : folder,
    lines,
    permissions,
    kinds[file.kind],
    file.unkept ? vscode.l10n.t('cannot be undone') : '',
    why,
  ].filter(Boolean);
  item.description = facts.join(' · ');
  item.contextValue = file.unkept ? 'unkeptFile' : 'changedFile';
  item.accessibilityInformation = { label: [file.from === undefined ? file.name : `${file.from} → ${file.name}`, ...facts].join(', ') };
  item.checkboxState = {
    state: file.reviewed ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked,
    tooltip: vscode.l10n.t('Done'),
  };
  item.command = { title: '', command: 'parley.openChange', arguments: [{ kind: 'file', file, turnId }] };
  return item;
}
