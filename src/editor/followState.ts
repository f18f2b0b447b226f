import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { REVIEW_SCHEME } from './review/documents.ts';

/** Files whose last touch is remembered. */
const MOST = 200;
/** Milliseconds in which a scroll of what we have just shown is taken for our own. */
const OWN_SCROLL = 1000;

/** When the editor of a file last moved, and when the user last worked in it. What we show there ourselves does not count. */
export class FollowState implements Disposable {
  readonly #life = new Lifetime();
  readonly #now: () => number;
  readonly #moved = new Map<string, number>();
  readonly #worked = new Map<string, number>();
  #own: { readonly uri: string; readonly at: number } | undefined;
  #wasReview = false;
  /** What has come on the screen by somebody else's doing, and is still there. */
  #appeared = new Set<string>();
  #visible = new Set(vscode.window.visibleTextEditors.map(uriOf));
  /** The editor the user went to last. */
  #chosen: string | undefined;
  #jumpedAt: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
    this.#life.own(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        if (kind === vscode.TextEditorSelectionChangeKind.Keyboard || kind === vscode.TextEditorSelectionChangeKind.Mouse) {
          this.#note(this.#worked, textEditor);
        }
      }),
    );
    this.#life.own(
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
        const own = this.#own?.uri === textEditor.document.uri.toString() && this.#now() - this.#own.at <= OWN_SCROLL;
        if (!own) this.#note(this.#moved, textEditor);
      }),
    );
    this.#life.own(vscode.window.onDidChangeActiveTextEditor((editor) => this.#activated(editor)));
    this.#life.own(vscode.window.onDidChangeVisibleTextEditors((editors) => this.#shown(editors)));
  }

  /** Milliseconds as the clock gives them; undefined when it was not touched. */
  readonly at = (uri: string): number | undefined => {
    const moved = this.#moved.get(uri);
    const worked = this.#worked.get(uri);
    return moved === undefined || worked === undefined ? (moved ?? worked) : Math.max(moved, worked);
  };

  readonly workedAt = (uri: string): number | undefined => this.#worked.get(uri);

  /** When the user last went to a file that was not on the screen; undefined when they did not, or it was forgotten. */
  get jumpedAt(): number | undefined {
    return this.#jumpedAt;
  }

  forgetJump(): void {
    this.#jumpedAt = undefined;
  }

  /** We show something in the editor of that file just now. */
  ours(uri: string): void {
    this.#own = { uri, at: this.#now() };
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** An editor that comes up because a diff of ours went away was not chosen by the user. */
  #activated(editor: vscode.TextEditor | undefined): void {
    const wasReview = this.#wasReview;
    this.#wasReview = editor?.document.uri.scheme.startsWith(REVIEW_SCHEME) ?? wasReview;
    this.#chosen = undefined;
    if (!editor) return;
    const uri = uriOf(editor);
    if (wasReview || this.#wasReview || uri === this.#own?.uri) return void this.#appeared.delete(uri);
    this.#chosen = uri;
    this.#note(this.#worked, editor);
    this.#jumped();
  }

  /** The events of what is active and of what is visible come in either order. */
  #shown(editors: readonly vscode.TextEditor[]): void {
    const now = new Set(editors.map(uriOf));
    for (const uri of now) if (!this.#visible.has(uri) && uri !== this.#own?.uri) this.#appeared.add(uri);
    for (const uri of this.#appeared) if (!now.has(uri)) this.#appeared.delete(uri);
    this.#visible = now;
    this.#jumped();
  }

  #jumped(): void {
    if (this.#chosen === undefined || !this.#appeared.delete(this.#chosen)) return;
    this.#jumpedAt = this.#now();
  }

  #note(times: Map<string, number>, { document }: vscode.TextEditor): void {
    const uri = document.uri.toString();
    times.delete(uri);
    times.set(uri, this.#now());
    const [oldest] = times.keys();
    if (times.size > MOST && oldest !== undefined) times.delete(oldest);
  }
}

function uriOf({ document }: vscode.TextEditor): string {
  return document.uri.toString();
}
