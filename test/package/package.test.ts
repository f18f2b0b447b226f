import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';

/** What is in the package: path below `extension/` to bytes. */
const files = new Map(
  Object.entries(unzipSync(readFileSync('out/parley.vsix')))
    .filter(([name]) => name.startsWith('extension/'))
    .map(([name, bytes]) => [name.slice('extension/'.length), bytes] as const),
);
const allowed = [
  /^(package\.json|package\.nls(\.zh-cn)?\.json|readme\.md|changelog\.md|SECURITY\.md|LICENSE\.txt)$/,
  /^dist\/(ThirdPartyNotices\.txt|sbom\.cdx\.json)$/,
  /^l10n\/bundle\.l10n(\.zh-cn)?\.json$/,
  /^media\/[\w-]+\.(png|svg)$/,
  /^media\/readme\/[\w-]+\.png$/,
  /^dist\/part-[A-Z0-9]{8}\.js$/,
  /^dist\/(extension|protocols|editorTools|review|languageTools|mcpServer|mcpBridge|colourWorker|parley|parley-agent|parley-agent-model|parley-agent-mcp)\.js$/,
  /^dist\/onig\.wasm$/,
  /^dist\/webview\/((main|inspector)\.(js|css)|(math|mermaid)\.js)$/,
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

/** What esbuild recorded of the bundles that run inside the editor, and of the others that are built from src. */
const { outputs } = JSON.parse(readFileSync('out/meta/host.json', 'utf8')) as {
  readonly outputs: Readonly<
    Record<
      string,
      {
        readonly entryPoint?: string;
        readonly imports: readonly { readonly path: string; readonly kind: string }[];
        readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
      }
    >
  >;
};

/** The bundle made from an entry, and what it requires before it runs; less what is loaded already. */
function loadedBy(entry: string, already: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (already.has(name) || found.has(name) || !outputs[name]) return;
    found.add(name);
    for (const { path, kind } of outputs[name].imports) if (kind === 'import-statement') visit(path);
  };
  const [first] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry) ?? [];
  assert.ok(first, `no bundle begins with ${entry}`);
  visit(first);
  return found;
}
const sumOf = (names: Iterable<string>): number => [...names].reduce((sum, name) => sum + weight(name), 0);
/** Kilobytes that the files of a folder take in these bundles. */
const weightOf = (folder: string, names: Iterable<string>): number =>
  [...names]
    .flatMap((name) => Object.entries(outputs[name]?.inputs ?? {}))
    .reduce((sum, [file, { bytesInOutput }]) => sum + (file.startsWith(folder) ? bytesInOutput / 1000 : 0), 0);

test('the bundles keep to their weights', (t) => {
  const atActivation = loadedBy('src/extension.ts');
  const program = loadedBy('src/editor/program.ts', atActivation);
  const protocols = loadedBy('src/protocols/registry.ts', new Set([...atActivation, ...program]));
  const view = weight('dist/webview/main.js') + weight('dist/webview/main.css');
  const sum = [...files.values()].reduce((bytes, file) => bytes + file.length, 0) / 1000;
  const ofHosts = weightOf('src/protocols/ahp/', protocols);
  const weights = [sumOf(atActivation), sumOf(program), sumOf(protocols), view, sum, ofHosts].map((kilobytes) => kilobytes.toFixed(0));
  t.diagnostic(
    `kB: at activation ${weights[0]}, at the first view or command ${weights[1]}, at the first agent ${weights[2]} (${weights[5]} of them for agent hosts), the view ${weights[3]}, unpacked ${weights[4]}`,
  );
  assert.ok(sumOf(atActivation) <= 10, `what is loaded at activation weighs ${weights[0]} kB`);
  // A quarter of it judges commands: no approval may come before that.
  assert.ok(sumOf(program) <= 650, `what the first view or command loads weighs ${weights[1]} kB`);
  assert.ok(ofHosts > 10, `the client of agent hosts weighs ${weights[5]} kB`);
  assert.ok(sumOf(protocols) - ofHosts <= 600, `five protocols weigh ${(sumOf(protocols) - ofHosts).toFixed(0)} kB`);
  assert.ok(sumOf(protocols) <= 660, `what the first agent loads weighs ${weights[2]} kB`);
  assert.ok(view <= 450, `the view weighs ${weights[3]} kB`);
  // Of these 2,900 draw diagrams, and are loaded when the first one comes.
  assert.ok(sum <= 10_800, `the whole package weighs ${weights[4]} kB`);
});

test('what is loaded on demand is a module of ours', () => {
  // Of a CommonJS module that is imported on demand, the bundler hands out the default export alone.
  const foreign = Object.values(outputs).flatMap(({ entryPoint = 'src/' }) => (entryPoint.startsWith('src/') ? [] : [entryPoint]));
  assert.deepEqual(foreign, []);
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
  const built = Object.keys(outputs).filter((name) => name.endsWith('.js'));
  assert.ok(built.length > 8);
  assert.deepEqual(
    built.filter((name) => !files.has(name)),
    ['dist/headless.js'],
  );
});

test('the notices and the SBOM name every package that the bundles hold, with licence and text', () => {
  const named = (file: string): readonly string[] => {
    const { outputs } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, unknown>> }>>;
    };
    const shipped = Object.entries(outputs).filter(([output]) => output !== 'dist/headless.js');
    return shipped
      .flatMap(([, { inputs }]) => Object.keys(inputs))
      .flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []);
  };
  const folders = [...new Set(['host', 'webview', 'agent'].flatMap((bundle) => named(`out/meta/${bundle}.json`)))];
  assert.ok(folders.length > 20);
  const notices = text('dist/ThirdPartyNotices.txt')
    .split(`\n\n${'-'.repeat(80)}\n\n`)
    .slice(1);
  const sbom = JSON.parse(text('dist/sbom.cdx.json')) as {
    readonly bomFormat: string;
    readonly components: readonly { readonly purl: string; readonly licenses: readonly unknown[]; readonly hashes?: readonly unknown[] }[];
  };
  assert.equal(sbom.bomFormat, 'CycloneDX');
  const packages = new Map(
    folders.map((folder) => {
      const one = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { readonly name: string; readonly version: string };
      return [`${one.name} ${one.version}`, one] as const;
    }),
  );
  const versionIn = (folder: string) =>
    (JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { readonly version: string }).version;
  for (const { name, version } of packages.values()) {
    const notice = notices.find((one) => one.startsWith(`${name} ${version}\n`));
    assert.ok(notice && notice.length > 300 && /Licence: \S/.test(notice), `notice of ${name} ${version}`);
    for (const folder of folders.filter((one) => one.endsWith(`node_modules/${name}`)))
      for (const file of readdirSync(folder).filter((one) => /notice/i.test(one)))
        if (versionIn(folder) === version)
          assert.ok(notice.includes(readFileSync(`${folder}/${file}`, 'utf8').trim()), `${file} of ${name}`);
    const component = sbom.components.find(({ purl }) => purl === `pkg:npm/${name.replace('@', '%40')}@${version}`);
    assert.ok(component?.licenses.length === 1 && component.hashes?.length === 1, `${name} ${version} in the SBOM`);
  }
  // What a package holds inside its own script is known by a list of its own.
  const { packages: inside } = JSON.parse(readFileSync('build/insideMermaid.json', 'utf8')) as {
    readonly packages: readonly { readonly name: string; readonly version: string }[];
  };
  assert.ok(inside.length > 40);
  for (const { name, version } of inside) {
    assert.ok(
      notices.some((one) => one.startsWith(`${name} ${version}\n`) && one.length > 300),
      `notice of ${name} ${version}`,
    );
    assert.ok(
      sbom.components.some(({ purl }) => purl === `pkg:npm/${name.replace('@', '%40')}@${version}`),
      `${name} ${version} in the SBOM`,
    );
  }
  const all = new Set([...packages.keys(), ...inside.map(({ name, version }) => `${name} ${version}`)]);
  assert.equal(notices.length, all.size);
  assert.equal(sbom.components.length, all.size);
});

test('nothing of the machine that built it is in the package', () => {
  for (const [name, bytes] of files) {
    if (!/\.(js|json|css|md|svg)$/.test(name)) continue;
    assert.ok(!strFromU8(bytes).includes(process.cwd()), name);
  }
});
