import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { Content } from '../session/model.ts';
import { ChatLink, type ChatLinkDeps } from './chatLink.ts';
import { ChatView } from './chatView.ts';

/** Milliseconds after which the page is taken not to get the keys. */
const ON_THE_WAY = 1000;

/** The chat as other surfaces see it: one view, and the link to the page that is in it just now. */
export class Chat implements Disposable {
  readonly #life = new Lifetime();
  readonly #view: ChatView;
  #link: ChatLink | undefined;
  /** What is put in before the view was ever opened. */
  #early: Content[] = [];

  constructor(extensionUri: vscode.Uri, deps: Omit<ChatLinkDeps, 'hello'>) {
    this.#view = this.#life.own(
      new ChatView(
        extensionUri,
        (page) => {
          const link = new ChatLink(page, { ...deps, hello });
          this.#link = link;
          for (const content of this.#early.splice(0)) link.insert(content);
          return link;
        },
        deps.log,
      ),
    );
    this.#life.own(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#link?.greetAgain()));
  }

  setWaiting(count: number, approvals: boolean): void {
    this.#view.setWaiting(count, approvals);
  }

  agentsChanged(): void {
    this.#link?.greetAgain();
  }

  get focused(): boolean {
    return this.#link?.focused ?? false;
  }

  async focus(): Promise<void> {
    await this.#view.reveal();
    this.#link?.focus();
  }

  /** Gives the keys back to the page, unless the user clicks into a text on the way; settles when they have arrived. */
  async goBack(): Promise<void> {
    let clicked = false;
    const clicks = vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
      clicked ||= kind === vscode.TextEditorSelectionChangeKind.Mouse;
    });
    try {
      await this.#view.reveal();
      await this.#link?.whenFocused(ON_THE_WAY);
    } finally {
      clicks.dispose();
    }
    if (clicked) await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    else this.#link?.caret();
  }

  async insert(contents: readonly Content[]): Promise<void> {
    if (contents.length === 0) return;
    for (const content of contents) {
      if (this.#link) this.#link.insert(content);
      else this.#early.push(content);
    }
    await this.focus();
  }

  dispose(): void {
    this.#life.dispose();
  }
}

function hello(): ReturnType<ChatLinkDeps['hello']> {
  return { type: 'hello', strings: vscode.l10n.bundle ?? {}, language: vscode.env.language, trusted: vscode.workspace.isTrusted };
}
