// Serves the built view with canned sessions: npm run build:webview && node test/webview/page/serve.mjs [port]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const root = path.join(here, '../../..');
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

/** Starts the server on 127.0.0.1; gives its address and what stops it. */
export async function serve(port = 0) {
  const page = await build({
    entryPoints: [path.join(here, 'page.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    logLevel: 'warning',
  });
  const server = createServer(async (request, answer) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    const type = pathname.endsWith('.js') ? 'text/javascript' : pathname.endsWith('.css') ? 'text/css' : 'text/html';
    try {
      const body =
        pathname === '/'
          ? html
          : pathname === '/page.js'
            ? page.outputFiles[0].text
            : await readFile(path.join(root, 'dist/webview', path.basename(pathname)));
      answer.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : port}/`;
  return { url, stop: () => new Promise((resolve) => server.close(resolve)) };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  console.log((await serve(Number(process.argv[2] ?? 0))).url);
