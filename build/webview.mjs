// npm run build:webview: the chat view, and beside it the bundles that it loads at their first use (webview/bundles).
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const { metafile } = await build({
  entryPoints: {
    main: 'webview/main.ts',
    inspector: 'webview/inspector.ts',
    math: 'webview/bundles/mathMain.ts',
  },
  bundle: true,
  platform: 'browser',
  format: 'iife',
  target: 'es2022',
  minify: true,
  sourcemap: true,
  metafile: true,
  outdir: 'dist/webview',
  logLevel: 'warning',
});
// Mermaid comes as one script that must stay as it is.
const mermaid = 'node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js';
copyFileSync(mermaid, 'dist/webview/mermaid.js');
const outputs = { ...metafile.outputs, 'dist/webview/mermaid.js': { inputs: { [mermaid]: {} } } };
mkdirSync('out/meta', { recursive: true });
writeFileSync('out/meta/webview.json', JSON.stringify({ ...metafile, outputs }));
