import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Disposable } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { ToView } from '../bridge/contract.ts';
import type { ChatLinkDeps, ChatPage } from './chatLink.ts';
import { viewStrings } from './commandTitle.ts';

/** A container of the chat's page: the view in the side bar, or an editor tab. */
export type PageHost = vscode.WebviewView | vscode.WebviewPanel;

export function helloMessage(): ReturnType<ChatLinkDeps['hello']> {
  return { type: 'hello', strings: viewStrings(), language: vscode.env.language, trusted: vscode.workspace.isTrusted };
}

/** The page in a host. `loadPage` loads it, once there is a listener. */
export function pageOf(host: PageHost, log: Log): ChatPage {
  const onVisible = (listener: () => void): Disposable =>
    'onDidChangeVisibility' in host ? host.onDidChangeVisibility(listener) : host.onDidChangeViewState(listener);
  return {
    get visible() {
      return host.visible;
    },
    post: (message: ToView) => {
      const failed = (error: unknown) => log.warn(`A message to the chat view was lost: ${messageOf(error)}`);
      host.webview.postMessage(message).then(undefined, failed);
    },
    onMessage: (listener) => host.webview.onDidReceiveMessage(listener),
    onVisible,
  };
}

/** `name`: the script and the styles of the page. A tab gets Parley's icon. */
export function loadPage(host: PageHost, extensionUri: vscode.Uri, name = 'main'): void {
  const { webview } = host;
  const icon = (theme: string) => vscode.Uri.joinPath(extensionUri, 'media', `tab-${theme}.svg`);
  if ('iconPath' in host) host.iconPath = { light: icon('light'), dark: icon('dark') };
  const root = vscode.Uri.joinPath(extensionUri, 'dist', 'webview');
  webview.options = { enableScripts: true, localResourceRoots: [root] };
  const nonce = randomBytes(16).toString('base64');
  const address = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(root, file)).toString();
  const policy = [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource} 'nonce-${nonce}'`,
    `img-src ${webview.cspSource} data:`,
    'media-src data:',
    `font-src ${webview.cspSource}`,
  ].join('; ');
  webview.html = `<!DOCTYPE html>
<html lang="${escaped(vscode.env.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley</title>
<link rel="stylesheet" href="${escaped(address(`${name}.css`))}">
</head>
<body>
<script nonce="${nonce}" src="${escaped(address(`${name}.js`))}"></script>
</body>
</html>`;
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;');
}
