// npm run build:webview: the chat view, and beside it the bundles that it loads at their first use (webview/bundles).
import { mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** What few diagrams need weighs more than all of mermaid besides: these stay out, and such diagrams stay text. */
const LEFT_OUT = ['cytoscape', 'cytoscape-cose-bilkent', 'cytoscape-fcose', 'elkjs/lib/elk.bundled.js', 'katex'];

const { metafile } = await build({
  entryPoints: {
    main: 'webview/main.ts',
    highlight: 'webview/bundles/highlightMain.ts',
    math: 'webview/bundles/mathMain.ts',
    mermaid: 'webview/bundles/mermaidMain.ts',
  },
  alias: Object.fromEntries(LEFT_OUT.map((name) => [name, './webview/bundles/leftOut.ts'])),
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
mkdirSync('out/meta', { recursive: true });
writeFileSync('out/meta/webview.json', JSON.stringify(metafile));
