import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { build } from 'esbuild';

const policy =
  "default-src 'none'; img-src 'self' data:; media-src data:; style-src 'self' 'nonce-page'; font-src 'self'; script-src 'nonce-page'";
// What the editor puts into every webview before its own styles.
const defaults = `html { scrollbar-color: var(--vscode-scrollbarSlider-background) var(--vscode-editor-background); }
body { background-color: transparent; color: var(--vscode-editor-foreground); font-family: var(--vscode-font-family); font-size: var(--vscode-font-size); margin: 0; padding: 0 20px; }
img, video { max-width: 100%; max-height: 100%; }
a, a code { color: var(--vscode-textLink-foreground); }
code { font-family: var(--monaco-monospace-font); color: var(--vscode-textPreformat-foreground); background-color: var(--vscode-textPreformat-background); padding: 1px 3px; border-radius: 4px; }
blockquote { background: var(--vscode-textBlockQuote-background); border-color: var(--vscode-textBlockQuote-border); }
::-webkit-scrollbar { width: 10px; height: 10px; }
::-webkit-scrollbar-corner { background-color: var(--vscode-editor-background); }
::-webkit-scrollbar-thumb { background-color: var(--vscode-scrollbarSlider-background); }`;
const html = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width"><title>Parley</title><style nonce="page">${defaults}</style><link rel="stylesheet" href="/main.css"></head>
<body><script nonce="page" src="/page.js"></script><script nonce="page" src="/main.js"></script></body></html>`;

/** Serves the built view (dist/webview) with canned sessions on 127.0.0.1: ?session=NAME&theme=NAME, see page.ts. */
export async function serve(port = 0): Promise<{ readonly url: string; stop(): void }> {
  const page = await build({
    entryPoints: ['test/webview/page/page.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    logLevel: 'warning',
  });
  const bodyOf = (pathname: string): Promise<string> | string => {
    if (pathname === '/') return html;
    return pathname === '/page.js'
      ? (page.outputFiles[0]?.text ?? '')
      : readFile(path.join('dist/webview', path.basename(pathname)), 'utf8');
  };
  const server = createServer((request, answer) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    const type = pathname.endsWith('.js') ? 'text/javascript' : pathname.endsWith('.css') ? 'text/css' : 'text/html';
    Promise.resolve(bodyOf(pathname)).then(
      (body) => answer.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body),
      () => answer.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, stop: () => void server.close() };
}
