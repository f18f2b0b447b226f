import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { SessionLine } from '../bridge/contract.ts';
import type { SessionHost } from '../live/surface.ts';
import { currentLines, groupedByDay } from '../session/sessionGroups.ts';
import { fileWords, stateWords } from '../session/sessionWords.ts';
import { oneLine, visibleText } from '../session/visible.ts';
import { commandTitle } from './commandTitle.ts';
import { lineOf, sessionLine } from './sessionLine.ts';
import type { SessionList } from './sessionList.ts';

const VIEW = 'parley.sessions';
/** Milliseconds in which changes are gathered. */
const REST = 250;
/** Milliseconds after which a list on the screen is read again: the sessions of agent hosts and of other windows change without a word, and so does the day. */
const RENEWED = 15_000;

/** A session in the list. */
export interface ListedRow {
  readonly kind: 'listed';
  readonly line: SessionLine;
}
interface DayRow {
  readonly kind: 'day';
  readonly label: string;
  readonly rows: readonly ListedRow[];
}
type Row = ListedRow | DayRow;

export function isListedRow(value: unknown): value is ListedRow {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'listed';
}

export interface SessionsTreeDeps {
  readonly sessions: SessionHost;
  readonly list: Pick<SessionList, 'find' | 'onChange'>;
  /** The folder whose sessions are listed. */
  readonly folder: () => Promise<string | undefined>;
  readonly log: Log;
}

/** All sessions of the folder by day, as a view of its own. Nothing is read while it is out of sight. */
export class SessionsTree implements vscode.TreeDataProvider<Row>, Disposable {
  readonly #deps: SessionsTreeDeps;
  readonly #life = new Lifetime();
  readonly #view: vscode.TreeView<Row>;
  readonly #changes = this.#life.own(new vscode.EventEmitter<undefined>());
  readonly onDidChangeTreeData = this.#changes.event;
  /** What was found last; its open sessions may have changed since. */
  #found: readonly SessionLine[] = [];
  #rows: readonly DayRow[] = [];
  /** Renews the list after a rest: with what the disk and the agent hosts have, or the open sessions alone. */
  #renewal: { readonly timer: NodeJS.Timeout; readonly whole: boolean } | undefined;
  #selected: string | undefined;

  constructor(deps: SessionsTreeDeps) {
    this.#deps = deps;
    const { sessions, list } = deps;
    this.#view = this.#life.own(vscode.window.createTreeView(VIEW, { treeDataProvider: this }));
    this.#life.own(this.#view.onDidChangeVisibility(() => this.#renew(true, 0)));
    this.#life.own(vscode.window.onDidChangeWindowState(({ focused }) => focused && this.#renew(true)));
    this.#life.own(sessions.onSessions(() => this.#renew(true)));
    this.#life.own(list.onChange(() => this.#renew(true)));
    this.#life.own(
      sessions.onChange((id, { event, before, now }) => {
        if (event.type === 'text.delta' || lineOf(id, before) === lineOf(id, now)) return;
        // A session in which nothing was said may not have been listed.
        this.#renew(before.turns.length === 0);
      }),
    );
    this.#life.onEnd(() => clearTimeout(this.#renewal?.timer));
    this.#renew(true, 0);
  }

  dispose(): void {
    this.#life.dispose();
  }

  getChildren(row?: Row): Row[] {
    return row ? (row.kind === 'day' ? [...row.rows] : []) : [...this.#rows];
  }

  getParent(row: Row): Row | undefined {
    return this.#rows.find(({ rows }) => rows.some((one) => one === row));
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return row.kind === 'day' ? dayItem(row) : sessionItem(row);
  }

  #renew(whole: boolean, rest = REST): void {
    const planned = this.#renewal;
    clearTimeout(planned?.timer);
    this.#renewal = undefined;
    if (this.#life.ended || !this.#view.visible) return;
    const isWhole = whole || planned?.whole === true;
    const renew = () => {
      this.#renewal = undefined;
      void this.#read(isWhole)
        .catch((error: unknown) => this.#deps.log.error('The sessions could not be listed', error))
        .finally(() => this.#renewal ?? this.#plan());
    };
    this.#renewal = { timer: setTimeout(renew, rest), whole: isWhole };
  }

  #plan(): void {
    if (this.#life.ended || !this.#view.visible) return;
    this.#renewal = { timer: setTimeout(() => this.#renew(true, 0), RENEWED), whole: false };
  }

  async #read(whole: boolean): Promise<void> {
    const { sessions, list, folder } = this.#deps;
    if (whole) this.#found = await list.find('', await folder());
    const open = sessions.all.flatMap((id) => sessions.get(id) ?? []).map(sessionLine);
    const rows = groupedByDay(currentLines(this.#found, open), Date.now(), vscode.env.language).map(
      ({ label, lines }): DayRow => ({ kind: 'day', label, rows: lines.map((line) => ({ kind: 'listed', line })) }),
    );
    if (JSON.stringify(rows) !== JSON.stringify(this.#rows)) {
      this.#rows = rows;
      this.#changes.fire(undefined);
    }
    await this.#selectActive();
  }

  /** Selects the session that the chat shows once it shows another one; the keyboard stays where it is. */
  async #selectActive(): Promise<void> {
    const { active } = this.#deps.sessions;
    const row = this.#rows.flatMap(({ rows }) => rows).find(({ line }) => line.id === active);
    // The editor would bring a view out of sight back.
    if (!row || active === this.#selected || !this.#view.visible) return;
    this.#selected = active;
    await this.#view.reveal(row, { select: true, focus: false });
  }
}

function dayItem({ label }: DayRow): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `day ${label}`;
  return item;
}

function sessionItem(row: ListedRow): vscode.TreeItem {
  const { line } = row;
  const title = visibleText(oneLine(line.title)) || commandTitle('newSession');
  const facts = [stateWords(line), visibleText(line.agent), fileWords(line)].filter(Boolean);
  const time = line.at > 0 ? new Date(line.at).toLocaleString(vscode.env.language, { dateStyle: 'medium', timeStyle: 'short' }) : '';
  const item = new vscode.TreeItem(title);
  item.id = line.id;
  item.description = facts.join(' · ');
  item.tooltip = [title, facts.join(' · '), time].filter(Boolean).join('\n');
  item.accessibilityInformation = { label: [title, ...facts, time].filter(Boolean).join(', ') };
  item.iconPath = iconOf(line);
  item.contextValue = line.hosted ? 'hostedSession' : line.pinned ? 'pinnedSession' : 'session';
  item.command = { title: '', command: 'parley.switchSession', arguments: [row] };
  return item;
}

function iconOf({ asks, state, failed }: SessionLine): vscode.ThemeIcon {
  if (asks > 0) return new vscode.ThemeIcon('bell-dot', new vscode.ThemeColor('list.warningForeground'));
  if (state === 'busy' || state === 'opening') return new vscode.ThemeIcon('loading~spin');
  if (failed) return new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
  return new vscode.ThemeIcon(state === 'ready' ? 'comment-discussion' : 'comment');
}
