import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';

export const CHAT_VIEW = 'parley.chat';

/** The webview as long as it exists; a new one comes after every time it was closed. */
export interface ChatPage {
  readonly visible: boolean;
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): Disposable;
  onVisible(listener: () => void): Disposable;
  onGone(listener: () => void): Disposable;
}

/** The chat in the side bar: the html shell and what the page may load. What is shown in it comes as messages. */
export class ChatView implements vscode.WebviewViewProvider, Disposable {
  readonly #life = new Lifetime();
  readonly #root: vscode.Uri;
  readonly #attach: (page: ChatPage) => Disposable;
  readonly #log: Log;
  #view: vscode.WebviewView | undefined;
  #waiting = { count: 0, approvals: true };

  constructor(extensionUri: vscode.Uri, attach: (page: ChatPage) => Disposable, log: Log) {
    this.#root = vscode.Uri.joinPath(extensionUri, 'dist', 'webview');
    this.#attach = attach;
    this.#log = log;
    this.#life.own(vscode.window.registerWebviewViewProvider(CHAT_VIEW, this));
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [this.#root] };
    const link = this.#attach({
      get visible() {
        return view.visible;
      },
      post: (message) => {
        const failed = (error: unknown) => this.#log.warn(`The chat view could not be told something: ${messageOf(error)}`);
        view.webview.postMessage(message).then(undefined, failed);
      },
      onMessage: (listener) => view.webview.onDidReceiveMessage(listener),
      onVisible: (listener) => view.onDidChangeVisibility(listener),
      onGone: (listener) => view.onDidDispose(listener),
    });
    this.#life.own(link);
    view.onDidDispose(() => {
      if (this.#view === view) this.#view = undefined;
      this.#life.release(link);
      link.dispose();
    });
    view.webview.html = this.#shell(view.webview);
    this.#showWaiting();
  }

  /** The number on the view's icon: how many asks wait, and whether all of them are approvals. */
  setWaiting(count: number, approvals: boolean): void {
    this.#waiting = { count, approvals };
    this.#showWaiting();
  }

  async reveal(): Promise<void> {
    await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
  }

  dispose(): void {
    this.#life.dispose();
  }

  #showWaiting(): void {
    if (!this.#view) return;
    const { count, approvals } = this.#waiting;
    const one = approvals ? vscode.l10n.t('1 approval waits') : vscode.l10n.t('1 question waits');
    const more = approvals ? vscode.l10n.t('{0} approvals wait', count) : vscode.l10n.t('{0} requests wait', count);
    const tooltip = count === 1 ? one : more;
    this.#view.badge = count > 0 ? { value: count, tooltip } : { value: 0, tooltip: '' };
  }

  #shell(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString('base64');
    const address = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.#root, name)).toString();
    const policy = [
      `default-src 'none'`,
      `script-src 'nonce-${nonce}'`,
      `style-src ${webview.cspSource} 'nonce-${nonce}'`,
      `img-src ${webview.cspSource} data:`,
      'media-src data:',
      `font-src ${webview.cspSource}`,
    ].join('; ');
    return `<!DOCTYPE html>
<html lang="${escaped(vscode.env.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley</title>
<link rel="stylesheet" href="${escaped(address('main.css'))}">
</head>
<body>
<script nonce="${nonce}" src="${escaped(address('main.js'))}"></script>
</body>
</html>`;
  }
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;');
}
