import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { AskRef, Content, SessionId, TurnId } from '../session/model.ts';
import { ChatLink, type ChatLinkDeps } from './chatLink.ts';
import { helloMessage, loadPage, pageOf } from './chatPage.ts';

const CHAT_VIEW = 'parley.chat';
/** Milliseconds after which the page counts as not getting the keyboard focus. */
const FOCUS_LIMIT = 1000;
/**
 * Milliseconds after which a page that says nothing counts as unable to take the focus by itself. Far more than an answer takes on a busy machine or
 * from a far one: the user may have taken the keyboard elsewhere by then, and lose it.
 */
const TAKE_LIMIT = 2000;
/** Milliseconds that the palette, opened from the page, may take until the user has found a command. */
const IN_PALETTE = 30_000;

/** The chat in the side bar: its webview, and the link to its page while there is one. The page's content comes as messages. */
export class ChatView implements Disposable {
  readonly #extensionUri: vscode.Uri;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #arrived = this.#life.own(new Emitter<void>());
  /** The page has the keyboard focus from now on. */
  readonly onFocused = this.#arrived.listen;
  #deps: ChatLinkDeps | undefined;
  #open: { readonly view: vscode.WebviewView; readonly link: ChatLink } | undefined;
  #waiting = 0;
  /** Kept for the view before its first opening: content for the composer, and whether it gets the focus. */
  #early: { readonly contents: readonly Content[]; readonly focus: boolean } = { contents: [], focus: false };
  #givenAt = Number.NEGATIVE_INFINITY;

  constructor(extensionUri: vscode.Uri, log: Log) {
    this.#extensionUri = extensionUri;
    this.#log = log;
    this.#life.own(vscode.workspace.onDidGrantWorkspaceTrust(() => this.agentsChanged()));
    this.#life.own(
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        const { Keyboard, Mouse } = vscode.TextEditorSelectionChangeKind;
        if (kind === Keyboard || kind === Mouse) this.#open?.link.forgetFocus();
      }),
    );
  }

  /** Sets what answers the page; call it before the view is shown. */
  serve(deps: Omit<ChatLinkDeps, 'hello' | 'log'>): void {
    this.#deps = { ...deps, hello: helloMessage, log: this.#log };
  }

  show(view: vscode.WebviewView): void {
    const deps = this.#deps;
    if (!deps) return;
    const link = this.#life.own(new ChatLink(pageOf(view, this.#log), deps));
    const open = { view, link };
    this.#open = open;
    link.onFocused(() => this.#arrived.fire());
    for (const content of this.#early.contents) link.insert(content);
    if (this.#early.focus) link.focus();
    this.#early = { contents: [], focus: false };
    view.onDidDispose(() => {
      if (this.#open === open) this.#open = undefined;
      this.#life.release(link);
      link.dispose();
    });
    loadPage(view, this.#extensionUri);
    this.#showWaiting();
  }

  /** The number on the view's icon: open asks. */
  setWaiting(count: number): void {
    this.#waiting = count;
    this.#showWaiting();
  }

  showPick(ask: AskRef | undefined): void {
    this.#open?.link.showPick(ask);
  }

  agentsChanged(): void {
    this.#open?.link.greetAgain();
  }

  get focused(): boolean {
    return this.#open?.link.focused ?? false;
  }

  /** True when a command that the user has just run may have been found from the page: the palette takes the keyboard from it. */
  get focusedBefore(): boolean {
    return this.#open?.link.focusedWithin(IN_PALETTE) ?? false;
  }

  /** True when the page has the focus or was given it after `since`, a time of `performance.now()`: it tells of that later. */
  hasFocusSince(since: number): boolean {
    return this.focused || this.#givenAt > since;
  }

  async focus(): Promise<void> {
    this.#givenAt = performance.now();
    if (await this.#takes()) return;
    await reveal();
    if (this.#open) this.#open.link.focus();
    else this.#early = { ...this.#early, focus: true };
  }

  /**
   * True once the page in sight has taken the focus by itself. Where the editor gives it to a page that has it already, it takes it away for a moment,
   * and what is typed then is lost: the user may have gone to the page, or have been there, while a command was under way.
   */
  async #takes(back = false): Promise<boolean> {
    return this.#open?.view.visible === true && this.#open.link.takeFocus(TAKE_LIMIT, back);
  }

  /** Returns the focus to the page, unless the user clicks into a text on the way; settles when it has arrived. */
  async goBack(): Promise<void> {
    this.#givenAt = performance.now();
    let clicked = false;
    const clicks = vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
      clicked ||= kind === vscode.TextEditorSelectionChangeKind.Mouse;
    });
    try {
      if (!(await this.#takes(true))) {
        await reveal();
        await this.#open?.link.whenFocused(FOCUS_LIMIT);
      }
    } finally {
      clicks.dispose();
    }
    if (clicked) await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    else this.#open?.link.caret();
  }

  async insert(contents: readonly Content[]): Promise<void> {
    if (contents.length === 0) return;
    if (this.#open) for (const content of contents) this.#open.link.insert(content);
    else this.#early = { ...this.#early, contents: [...this.#early.contents, ...contents] };
    await this.focus();
  }

  /** Lets the page attach the selection of the terminal. False when there is no page. */
  async keepPicture(): Promise<boolean> {
    await this.focus();
    this.#open?.link.keepPicture();
    return this.#open !== undefined;
  }

  /** Puts the message of a turn into the composer, to be sent in its place. */
  async edit(sessionId: SessionId, turnId: TurnId): Promise<void> {
    await this.focus();
    this.#open?.link.edit(sessionId, turnId);
  }

  endEdit(sessionId: SessionId, turnId: TurnId): void {
    this.#open?.link.endEdit(sessionId, turnId);
  }

  dispose(): void {
    this.#life.dispose();
  }

  #showWaiting(): void {
    if (!this.#open) return;
    const count = this.#waiting;
    this.#open.view.badge = { value: count, tooltip: count > 0 ? vscode.l10n.t('{0} waiting', count) : '' };
  }
}

async function reveal(): Promise<void> {
  await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
}
