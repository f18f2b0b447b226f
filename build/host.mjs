// npm run build:host. What runs inside the editor is built as one program in parts that share their code: an entry, or what `import()` names, is read
// from the disk at its first use, and a module is there once, whichever part uses it. What runs as a process of its own is one file each.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const ESM = 'out/host';
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  minify: true,
  sourcemap: true,
  metafile: true,
  charset: 'utf8',
  logLevel: 'warning',
};

rmSync(ESM, { recursive: true, force: true });
/**
 * zod's entry names what writes JSON Schemas (20 kB), so each part that uses zod would load it. Taken out of the entry here, it goes with the editor's
 * tools, which ask for it by `zod/v4/core`.
 */
const jsonSchemaApart = {
  name: 'json-schema-apart',
  setup(build) {
    build.onResolve({ filter: /json-schema(?:-processors)?\.js$/ }, ({ importer, path: named }) =>
      /[\\/](?:mini[\\/]external|core[\\/]index)\.js$/.test(importer) ? { path: named, namespace: 'apart' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'apart' }, () => ({ contents: 'export const toJSONSchema = undefined;' }));
  },
};

const parts = await build({
  ...common,
  alias: { 'zod/v4/core': path.resolve('node_modules/zod/v4/core/json-schema-processors.js') },
  plugins: [jsonSchemaApart],
  entryPoints: {
    extension: 'src/extension.ts',
    protocols: 'src/protocols/registry.ts',
    editorTools: 'src/editor/tools/index.ts',
    review: 'src/live/review/changeSet.ts',
    languageTools: 'src/editor/tools/languageTools.ts',
  },
  external: ['vscode'],
  // Only ES modules can be split; the editor's oldest supported version takes none.
  format: 'esm',
  splitting: true,
  chunkNames: 'part-[hash]',
  outdir: ESM,
});
const scripts = readdirSync(ESM).filter((name) => name.endsWith('.js'));
mkdirSync('dist', { recursive: true });
for (const name of readdirSync('dist')) if (/^part-/.test(name)) rmSync(path.join('dist', name));
await build({
  entryPoints: scripts.map((name) => path.join(ESM, name)),
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  supported: { 'dynamic-import': false },
  charset: 'utf8',
  minify: true,
  sourcemap: true,
  outdir: 'dist',
  logLevel: 'warning',
});
// A dead list of names at the end of each part is for ES modules of Node that load it; there are none.
for (const name of scripts) {
  const file = path.join('dist', name);
  writeFileSync(file, readFileSync(file, 'utf8').replace(/0&&\(module\.exports=\{[^{}]*\}\);(?=\n\/\/# sourceMappingURL=\S+\n$)/, ''));
}
// The engine for regular expressions with which code is coloured (src/editor/codeColours.ts).
copyFileSync('node_modules/vscode-oniguruma/release/onig.wasm', 'dist/onig.wasm');
const processes = await build({
  ...common,
  entryPoints: {
    headless: 'src/headless.ts',
    parley: 'src/serve.ts',
    mcpServer: 'src/protocols/mcpServer.ts',
    mcpBridge: 'src/protocols/mcpBridge.ts',
    colourWorker: 'src/editor/colourWorker.ts',
  },
  define: { 'process.env.WS_NO_BUFFER_UTIL': '1', 'process.env.WS_NO_UTF_8_VALIDATE': '1' },
  format: 'cjs',
  outdir: 'dist',
});
const split = JSON.parse(JSON.stringify(parts.metafile.outputs).replaceAll(`"${ESM}/`, '"dist/'));
mkdirSync('out/meta', { recursive: true });
writeFileSync('out/meta/host.json', JSON.stringify({ outputs: { ...split, ...processes.metafile.outputs } }));
