import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';

/** The id of the controller, as the conditions in the manifest name it. */
const CONTROLLER = 'parley.question';
/** Milliseconds in which the editor asks where comments may be written. */
const LONGEST_WAIT = 3000;

/** A box for one question below the line it is about, as comments are written: the only input that an extension may put into a text. */
export class InlineQuestion<T> {
  #open: { readonly controller: vscode.CommentController; readonly about: T } | undefined;

  /**
   * Shows the box in the editor in front, with the keyboard in it: only the editor's own command puts it there, on lines that may be commented.
   * A box that is open closes: there is one question at a time.
   */
  async ask(document: vscode.TextDocument, range: vscode.Range, label: string, about: T): Promise<void> {
    this.#close();
    if (vscode.window.activeTextEditor?.document !== document) await vscode.window.showTextDocument(document);
    const controller = vscode.comments.createCommentController(CONTROLLER, 'Parley');
    const mine = { controller, about };
    this.#open = mine;
    controller.options = { placeHolder: `${vscode.l10n.t('Ask {0}', 'Parley')} · ${label}` };
    let isShown = false;
    const asked = new Promise<void>((resolve) => {
      controller.commentingRangeProvider = {
        provideCommentingRanges: ({ uri }) => {
          if (isShown || uri.toString() !== document.uri.toString()) return [];
          resolve();
          return [range];
        },
      };
    });
    // Where the editor does not ask, it says next why there is no box.
    await Promise.race([asked, pause(LONGEST_WAIT, undefined, { ref: false })]);
    // The editor asks for the range twice, and draws every box anew with each answer. It has them all once it has run commands that came after them.
    for (let round = 0; round < 2; round += 1) await vscode.commands.executeCommand('setContext', 'parley.asksInline', true);
    if (this.#open !== mine) return;
    const { start, end } = range;
    await vscode.commands.executeCommand('workbench.action.addComment', {
      range: {
        startLineNumber: start.line + 1,
        startColumn: start.character + 1,
        endLineNumber: end.line + 1,
        endColumn: end.character + 1,
      },
    });
    // No other question begins at the margin.
    isShown = true;
  }

  /** Closes the box, and returns what it was about. */
  take(): T | undefined {
    const about = this.#open?.about;
    this.#close();
    return about;
  }

  #close(): void {
    this.#open?.controller.dispose();
    this.#open = undefined;
  }
}
