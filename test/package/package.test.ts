import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';

/** What is in the package: path below `extension/` to bytes. */
const files = new Map(
  Object.entries(unzipSync(readFileSync('out/parley.vsix')))
    .filter(([name]) => name.startsWith('extension/'))
    .map(([name, bytes]) => [name.slice('extension/'.length), bytes] as const),
);
const allowed = [
  /^(package\.json|package\.nls(\.zh-cn)?\.json|readme\.md|changelog\.md|LICENSE\.txt)$/,
  /^l10n\/bundle\.l10n(\.zh-cn)?\.json$/,
  /^media\/[\w-]+\.(png|svg)$/,
  /^media\/readme\/[\w-]+\.png$/,
  /^dist\/(extension|protocols|languageTools|mcpServer|mcpBridge|parley-agent|parley-agent-model|parley-agent-mcp)\.js$/,
  /^dist\/webview\/main\.(js|css)$/,
];
const text = (name: string): string => strFromU8(files.get(name) ?? new Uint8Array());
/** Kilobytes of a file, counted as 1000 bytes. */
const weight = (name: string): number => {
  const bytes = files.get(name);
  assert.ok(bytes, `${name} is not in the package`);
  return bytes.length / 1000;
};

test('the package holds what is allowed and nothing else', () => {
  assert.deepEqual(
    [...files.keys()].filter((name) => !allowed.some((pattern) => pattern.test(name))),
    [],
  );
});

test('the package holds what a user and a marketplace expect', () => {
  for (const name of ['readme.md', 'changelog.md', 'LICENSE.txt', 'package.nls.zh-cn.json', 'l10n/bundle.l10n.zh-cn.json']) {
    assert.ok(files.get(name)?.length, `${name} is missing or empty`);
  }
});

test('every file that the manifest and the readme point at is in the package', () => {
  const manifest = text('package.json');
  const pointed = [
    ...[...manifest.matchAll(/"(?:\.\/)?((?:media|dist)\/[^"]+)"/g)].map((match) => match[1] ?? ''),
    ...[...text('readme.md').matchAll(/\]\((media\/[^)]+)\)/g)].map((match) => match[1] ?? ''),
  ];
  assert.ok(pointed.includes('dist/extension.js'));
  assert.deepEqual(
    pointed.filter((name) => !files.has(name)),
    [],
  );
});

test('the bundles keep to their weights', (t) => {
  const loaded = weight('dist/extension.js');
  const view = weight('dist/webview/main.js') + weight('dist/webview/main.css');
  const sum = [...files.values()].reduce((bytes, file) => bytes + file.length, 0) / 1000;
  t.diagnostic(`at activation ${loaded.toFixed(0)} kB, view ${view.toFixed(0)} kB, unpacked ${sum.toFixed(0)} kB`);
  assert.ok(loaded <= 300, `what is loaded at activation weighs ${loaded} kB`);
  assert.ok(view <= 600, `the view weighs ${view} kB`);
  assert.ok(sum <= 6000, `the whole package weighs ${sum} kB`);
});

test('the bundles need nothing that is not in the package', () => {
  // ajv names these in code it could write to a file, which nobody asks of it.
  const named = /^ajv(?:\/dist\/runtime|-formats\/dist)\//;
  const builtin =
    /^(?:node:)?(?:assert|async_hooks|buffer|child_process|crypto|dns|events|fs|http|http2|https|module|net|os|path|perf_hooks|process|querystring|readline|stream|string_decoder|timers|tls|tty|url|util|v8|vm|worker_threads|zlib|diagnostics_channel|console)(?:\/\w+)?$/;
  for (const name of files.keys()) {
    if (!/^dist\/[\w-]+\.js$/.test(name)) continue;
    const required = [...text(name).matchAll(/\brequire\("([^"]+)"\)/g)].map((match) => match[1] ?? '');
    const missing = required.filter(
      (target) =>
        !builtin.test(target) &&
        !named.test(target) &&
        target !== 'vscode' &&
        !(target.startsWith('.') && files.has(`dist/${target.slice(2)}`)),
    );
    assert.deepEqual([...new Set(missing)], [], name);
  }
});

test('every bundle that is built is in the package; only the headless host stays at home', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: Readonly<Record<string, string>> };
  const host = [...(scripts['build:host'] ?? '').matchAll(/(\w+)=src\//g)].map((match) => `dist/${match[1]}.js`);
  assert.ok(host.length > 4);
  assert.deepEqual(
    host.filter((name) => !files.has(name)),
    ['dist/headless.js'],
  );
});

test('nothing of the machine that built it is in the package', () => {
  for (const [name, bytes] of files) {
    if (!/\.(js|json|css|md|svg)$/.test(name)) continue;
    assert.ok(!strFromU8(bytes).includes(process.cwd()), name);
  }
});
