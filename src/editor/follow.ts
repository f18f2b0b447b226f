import path from 'node:path';
import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { SessionHost, Surface } from '../live/surface.ts';
import { pathBelow } from '../protocols/paths.ts';
import type { SessionEvent } from '../session/events.ts';
import { type FollowedPlace, placeToFollow, runningTurn } from '../session/select.ts';
import { afterEvent, BESIDE, type EditorEvent, noActivity, placeFor } from './followPlace.ts';
import { REVIEW_SCHEME } from './review/documents.ts';
import { inWorkspace } from './workspaceFiles.ts';

export interface FollowDeps {
  /** Whether the user turned it on. */
  readonly on: () => boolean;
  readonly onSetting: (listener: () => void) => Disposable;
  readonly now: () => number;
  readonly log: Log;
}

/** Milliseconds between two files, so that a fast agent does not make the screen flicker. */
const DWELL = 400;

/** Shows the file and the line where the agent of the active session works, when that is on. The focus and the cursor stay where they are. */
export function follow(deps: FollowDeps): Surface {
  return (host) => new Follower(host, deps);
}

class Follower implements Disposable {
  readonly #host: SessionHost;
  readonly #deps: FollowDeps;
  readonly #life = new Lifetime();
  readonly #mark = this.#life.own(
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor('editor.selectionHighlightBackground'),
      // Themes of high contrast have no such background.
      borderColor: new vscode.ThemeColor('focusBorder'),
      borderStyle: 'solid',
      borderWidth: '0 0 0 3px',
      overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.rangeHighlightForeground'),
      overviewRulerLane: vscode.OverviewRulerLane.Full,
    }),
  );
  #activity = noActivity(vscode.window.visibleTextEditors.map(uriOf));
  #timer: NodeJS.Timeout | undefined;
  #showing = false;
  /** The key of the place that was shown last. */
  #shown = '';
  #column: number | undefined;

  constructor(host: SessionHost, deps: FollowDeps) {
    this.#host = host;
    this.#deps = deps;
    this.#watchEditors();
    this.#life.own(host.onChange((id, { event }) => id === host.active && matters(event) && this.#update()));
    this.#life.own(host.onSessions(() => this.#update()));
    this.#life.own(
      deps.onSetting(() => {
        this.#activity = afterEvent(this.#activity, { type: 'jumpForgotten' });
        this.#update();
      }),
    );
    this.#life.onEnd(() => clearTimeout(this.#timer));
    this.#update();
  }

  dispose(): void {
    this.#life.dispose();
  }

  #watchEditors(): void {
    const { now } = this.#deps;
    const note = (event: EditorEvent) => {
      this.#activity = afterEvent(this.#activity, event);
    };
    const { Keyboard, Mouse } = vscode.TextEditorSelectionChangeKind;
    const watched = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        if (kind === Keyboard || kind === Mouse) note({ type: 'worked', uri: uriOf(textEditor), at: now() });
      }),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => note({ type: 'moved', uri: uriOf(textEditor), at: now() })),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        const inReview = editor?.document.uri.scheme.startsWith(REVIEW_SCHEME);
        note({ type: 'activated', at: now(), ...(editor ? { uri: uriOf(editor), inReview: inReview === true } : {}) });
      }),
      vscode.window.onDidChangeVisibleTextEditors((editors) => note({ type: 'visible', uris: editors.map(uriOf), at: now() })),
    ];
    for (const one of watched) this.#life.own(one);
  }

  #update(): void {
    if (this.#showing || this.#timer || this.#life.ended) return;
    const wanted = this.#wanted();
    if (!wanted) return this.#unmark();
    if (wanted.key === this.#shown) return;
    this.#showing = true;
    this.#show(wanted)
      .catch((error: unknown) => {
        this.#deps.log.trace(`${wanted.location.path} is not followed: ${messageOf(error)}`);
        return undefined;
      })
      .then((waitMs) => {
        this.#showing = false;
        if (waitMs === undefined) this.#shown = wanted.key;
        this.#later(Math.max(DWELL, waitMs ?? 0));
      });
  }

  #later(ms: number): void {
    if (this.#life.ended) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#update();
    }, ms);
  }

  /** Undefined while following is off, or while the agent waits for the user, so that the subject of the decision stays in front. */
  #wanted(): Wanted | undefined {
    if (!this.#deps.on()) return undefined;
    const { active } = this.#host;
    const session = active === undefined ? undefined : this.#host.get(active)?.store.now;
    if (!session || session.asks.length > 0) return undefined;
    const place = placeToFollow(session);
    const since = runningTurn(session)?.startedAt;
    if (!place || since === undefined) return undefined;
    const { location, mayCome } = place;
    // A user who goes elsewhere during a turn stays there until the next turn, or until they turn this on again (acp.md §8.4).
    if ((this.#activity.jumpedAt ?? Number.NEGATIVE_INFINITY) > since) return undefined;
    const file = path.resolve(session.cwd, location.path);
    return { location, file, mayCome, cwd: session.cwd, since, key: `${session.id}\n${since}\n${file}\n${location.line ?? ''}` };
  }

  /** True when nothing has intervened: the same turn runs, the user has not gone elsewhere, and the agent works nowhere else by now. */
  #still({ key }: Wanted): boolean {
    return !this.#life.ended && this.#wanted()?.key === key;
  }

  /**
   * Milliseconds to wait when the user is in the way, when the place is not wanted any more, or for a file that the call may yet create (acp.md §8.4);
   * undefined when it is shown, or never will be.
   */
  async #show(wanted: Wanted): Promise<number | undefined> {
    const { location, file, mayCome, cwd, since } = wanted;
    const uri = vscode.Uri.file(file);
    if (!inWorkspace(file) && !isBelow(cwd, file)) return undefined;
    const found = await vscode.workspace.fs.stat(uri).then(undefined, (error: unknown) => {
      if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return undefined;
      throw error;
    });
    if (!found) return mayCome ? DWELL : undefined;
    if ((found.type & vscode.FileType.File) === 0) return undefined;
    if (!this.#still(wanted)) return 0;
    const document = await vscode.workspace.openTextDocument(uri);
    if (!this.#still(wanted)) return 0;
    const place = placeFor(uri.toString(), {
      visible: vscode.window.visibleTextEditors.flatMap((editor) =>
        editor.viewColumn === undefined ? [] : [{ uri: editor.document.uri.toString(), column: editor.viewColumn }],
      ),
      columns: vscode.window.tabGroups.all.map((group) => group.viewColumn),
      active: vscode.window.tabGroups.activeTabGroup.viewColumn,
      own: this.#column,
      activity: this.#activity,
      since,
      now: this.#deps.now(),
    });
    if ('waitMs' in place) return place.waitMs;
    const line = Math.min(location.line ?? 1, document.lineCount) - 1;
    this.#activity = afterEvent(this.#activity, { type: 'shownByUs', uri: uri.toString(), at: this.#deps.now() });
    const there = vscode.window.visibleTextEditors.find((one) => one.document === document && one.viewColumn === place.column);
    const viewColumn = place.column === BESIDE ? vscode.ViewColumn.Beside : place.column;
    const editor = there ?? (await vscode.window.showTextDocument(document, { viewColumn, preview: true, preserveFocus: true }));
    this.#column = editor.viewColumn;
    this.#unmark();
    if (location.line === undefined || !this.#still(wanted)) return undefined;
    const range = document.lineAt(Math.max(0, line)).range;
    this.#activity = afterEvent(this.#activity, { type: 'shownByUs', uri: uri.toString(), at: this.#deps.now() });
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    editor.setDecorations(this.#mark, [range]);
    return undefined;
  }

  #unmark(): void {
    this.#shown = '';
    for (const editor of vscode.window.visibleTextEditors) editor.setDecorations(this.#mark, []);
  }
}

interface Wanted extends FollowedPlace {
  readonly file: string;
  readonly cwd: string;
  readonly since: number;
  readonly key: string;
}

function uriOf({ document }: vscode.TextEditor): string {
  return document.uri.toString();
}

function isBelow(folder: string, file: string): boolean {
  return Boolean(pathBelow(folder, file));
}

/** True for events that may change where the agent works. Growing text does not. */
function matters(event: SessionEvent): boolean {
  switch (event.type) {
    case 'part.added':
    case 'call.changed':
    case 'parts.removed':
    case 'turn.started':
    case 'turn.ended':
    case 'ask.opened':
    case 'ask.closed':
    case 'link.closed':
      return true;
    default:
      return false;
  }
}
