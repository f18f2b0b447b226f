import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type Source, sourcesUnder } from './sources.ts';

/**
 * Who may import whom (ARCHITECTURE.md §3). `node` stands for any `node:` module, `npm` for any package under `dependencies`; other words are
 * rooms or single packages. A room is the longest entry its files begin with. Every room may import its own files and `zod/mini`.
 */
const table: Readonly<Record<string, readonly string[]>> = {
  'src/base/': [],
  'src/session/': ['src/base/', 'diff'],
  'src/transport/': ['src/base/', 'node', 'npm'],
  'src/conversation/': ['src/base/', 'src/session/'],
  'src/protocols/': ['src/base/', 'src/session/', 'src/conversation/', 'src/transport/', 'node', 'npm'],
  'src/live/': ['src/base/', 'src/session/', 'src/transport/', 'src/protocols/', 'node', 'npm'],
  'src/bridge/': ['src/session/'],
  'src/editor/': ['src/base/', 'src/session/', 'src/transport/', 'src/protocols/', 'src/live/', 'src/bridge/', 'node', 'npm', 'vscode'],
  'src/extension.ts': ['src/base/', 'src/editor/', 'vscode'],
  'src/headless/': ['src/base/', 'src/session/', 'src/live/', 'src/protocols/', 'node', 'npm'],
  'src/headless.ts': ['src/base/', 'src/session/', 'src/live/', 'src/protocols/', 'src/headless/', 'node'],
  'src/serve/': ['src/base/', 'src/session/', 'src/transport/', 'src/live/', 'src/protocols/ports.ts', 'src/protocols/ahp/', 'node', 'npm'],
  'src/serve.ts': ['src/base/', 'src/live/', 'src/protocols/', 'src/serve/', 'node'],
  'src/agent/': [
    'src/base/',
    'src/transport/',
    'src/protocols/*/schema.ts',
    'src/protocols/*/codec.ts',
    'src/protocols/*/*Codec.ts',
    'node',
    'npm',
  ],
  'webview/': ['src/base/l10n.ts', 'src/base/paths.ts', 'src/bridge/', 'src/session/', 'npm'],
};
/** Packages that only one file or room may touch. */
const reserved: Readonly<Record<string, string>> = {
  '@vscode/webview-ui-toolkit': 'webview/main.ts',
  lit: 'webview/',
  'vscode-languageclient': 'src/editor/',
  ai: 'src/agent/',
};

const sources = sourcesUnder('src', 'webview');
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
const statement = /(?:^|[;\n}])\s*(?:import|export)\s[^'";]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;

/** Every import of a file, type-only ones too; relative ones as paths of the repository. */
function importsOf(source: Source): readonly string[] {
  return [...source.code.matchAll(statement)].map((match) => {
    const target = match[1] ?? match[2] ?? '';
    return target.startsWith('.') ? path.posix.join(path.posix.dirname(source.path), target) : target;
  });
}

const packageOf = (target: string): string => target.split('/', target.startsWith('@') ? 2 : 1).join('/');
const roomOf = (file: string): string | undefined =>
  Object.keys(table)
    .filter((room) => file.startsWith(room))
    .sort((a, b) => b.length - a.length)[0];
/** The folder of one protocol, for files inside it. */
const protocolOf = (file: string): string | undefined => /^src\/protocols\/[^/]+\//.exec(file)?.[0];

/** Why this import is against the table; undefined when it is not. */
function offence(file: string, target: string): string | undefined {
  const room = roomOf(file);
  if (room === undefined) return `${file} is in no room of the table`;
  const allowed = table[room] ?? [];
  const refused = `${file} must not import ${target}`;
  if (/^(src|webview)\//.test(target)) {
    if (!/\.(ts|css|json)$/.test(target)) return `${file} imports ${target} without its ending`;
    const protocol = protocolOf(target);
    // The agent host is the server of that protocol.
    if (room === 'src/serve/' && protocol === 'src/protocols/ahp/') return undefined;
    if (room === 'src/agent/' && protocol !== undefined)
      return /^(?:schema|codec|\w+Codec)\.ts$/.test(target.slice(protocol.length)) ? undefined : refused;
    if (protocol !== undefined && protocol !== protocolOf(file)) return file === 'src/protocols/registry.ts' ? undefined : refused;
    return target.startsWith(room) || allowed.some((other) => target.startsWith(other)) ? undefined : refused;
  }
  const name = packageOf(target);
  if (target === 'zod/mini') return undefined;
  // What writes JSON Schemas is kept out of the parts that need none (build/host.mjs).
  if (target === 'zod/v4/core' && file === 'src/editor/tools/toolOf.ts') return undefined;
  if (name === 'zod') return `${file} imports ${target}: only zod/mini is bundled`;
  if (name in reserved) return file.startsWith(reserved[name] ?? '') ? undefined : refused;
  if (target.startsWith('node:')) return allowed.includes('node') ? undefined : refused;
  if (name === 'vscode') return allowed.includes('vscode') ? undefined : refused;
  if (!(name in manifest.dependencies)) return `${file} imports ${target}, which is not under dependencies`;
  return allowed.includes('npm') || allowed.includes(name) ? undefined : refused;
}

test('every import is one that the table allows', () => {
  const offences = sources.flatMap((source) => importsOf(source).map((target) => offence(source.path, target)));
  assert.deepEqual(
    offences.filter((found) => found !== undefined),
    [],
  );
});

test('the table catches what it is there for', () => {
  const planted: readonly (readonly [string, string])[] = [
    ['src/session/x.ts', 'vscode'],
    ['src/session/x.ts', 'node:fs'],
    ['src/conversation/x.ts', 'node:timers'],
    ['src/conversation/x.ts', 'src/protocols/driver.ts'],
    ['src/bridge/x.ts', 'src/live/sessions.ts'],
    ['src/transport/x.ts', 'src/session/model.ts'],
    ['src/protocols/acp/x.ts', 'src/protocols/kimi-wire/schema.ts'],
    ['src/live/x.ts', 'src/protocols/kimi-wire/index.ts'],
    ['src/live/x.ts', 'vscode'],
    ['src/agent/x.ts', 'src/protocols/kimi-wire/machine.ts'],
    ['src/agent/x.ts', 'src/session/model.ts'],
    ['src/serve/x.ts', 'src/protocols/acp/codec.ts'],
    ['webview/x.ts', 'node:fs'],
    ['webview/x.ts', '@vscode/webview-ui-toolkit'],
    ['webview/x.ts', 'src/live/surface.ts'],
    ['src/editor/x.ts', 'left-pad'],
    ['src/other/x.ts', 'node:fs'],
  ];
  for (const [file, target] of planted) assert.notEqual(offence(file, target), undefined, `${file} -> ${target}`);
});

/** Has a table of how parley-agent is started over each protocol (CONTRIBUTING.md). */
const STARTS_OUR_AGENT = 'src/headless.ts';
/** Where shared code asks which protocol it has to do with; whatever differs belongs into the folder of the protocol. */
const asked = ({ path: file, code }: Source): readonly string[] => {
  if (protocolOf(file) !== undefined || file.startsWith('src/agent/')) return [];
  const id = `['"](?:kimi-wire|acp|a2a|qwen|ai-sdk|ahp)['"]`;
  const compared = String.raw`\bprotocol\s*[!=]==?\s*['"][\w-]+['"]|[!=]==?\s*${id}|${id}\s*[!=]==?|\bcase\s+${id}`;
  // A list or a pattern that is asked for it, and a part of its name.
  const listed = String.raw`\.(?:includes|has|indexOf|test)\((?:\w+\??\.)*protocol\)|\bprotocol\??\.(?:startsWith|endsWith|includes|match|search|indexOf)\(`;
  const ways = file === STARTS_OUR_AGENT ? compared : `${compared}|${listed}`;
  const found = [...code.matchAll(new RegExp(ways, 'g'))].map(([one]) => one);
  // A table of names of protocols: shared code may be handed one (the registry), never write it.
  const names = new RegExp(String.raw`(?<=[{,]\s*)(?:${id}|kimi-wire|acp|a2a|qwen|ahp)\s*:`, 'g');
  const indexed = /\[(?:\w+\??\.)*protocol\]/.exec(code)?.[0];
  if (file !== STARTS_OUR_AGENT && indexed !== undefined && names.test(code)) found.push(indexed);
  return found.map((one) => `${file}: ${one}`);
};

test('shared code does not ask for the protocol', () => {
  assert.deepEqual(sources.flatMap(asked), []);
  const code = "if (profile.protocol === 'x') go();\nswitch (id) { case 'acp': go(); }\nif ('qwen' !== id) go();\n";
  assert.deepEqual(asked({ path: 'src/live/x.ts', text: code, code }).length, 3);
  const hidden = [
    "if (['acp', 'qwen'].includes(agent.protocol)) go();",
    'if (OLD.has(protocol)) go();',
    'if (/^a/.test(profile.protocol)) go();',
    "if (profile.protocol.startsWith('kimi')) go();",
    "const slow = ({ 'ai-sdk': true } as Record<string, true>)[profile.protocol];",
    'const TIMES = { acp: 1, qwen: 2 };\nconst time = TIMES[agent.protocol];',
  ];
  for (const planted of hidden) assert.equal(asked({ path: 'src/live/x.ts', text: planted, code: planted }).length, 1, planted);
  const handed = "const protocol = protocols[profile.protocol];\nconst known = { protocol: 'acp' };\n";
  assert.deepEqual(asked({ path: 'src/live/x.ts', text: handed, code: handed }), []);
  assert.deepEqual(asked({ path: 'src/protocols/acp/x.ts', text: code, code }), []);
});

/** The first cycle of imports, as the files on it; undefined where there is none. */
function cycleIn(graph: ReadonlyMap<string, readonly string[]>): string | undefined {
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): string | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file].join(' -> ');
    if (done.has(file)) return undefined;
    for (const target of graph.get(file) ?? []) {
      const found = graph.has(target) ? visit(target, [...trail, file]) : undefined;
      if (found !== undefined) return found;
    }
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const found = visit(file, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

test('no import cycle, type-only imports included', () => {
  const graphOf = (files: readonly Source[]) => new Map(files.map((source) => [source.path, importsOf(source)]));
  assert.equal(cycleIn(graphOf(sources)), undefined);
  const planted = (path: string, code: string): Source => ({ path, text: code, code });
  const files = [
    planted('src/a.ts', "import { b } from './b.ts';\n"),
    planted('src/b.ts', "import { c } from './c.ts';\nimport { d } from './d.ts';\n"),
    planted('src/c.ts', ''),
    planted('src/d.ts', "import type { A } from './b.ts';\n"),
  ];
  assert.equal(cycleIn(graphOf(files)), 'src/b.ts -> src/d.ts -> src/b.ts');
});

test('the imports that are read are the imports that are there', () => {
  for (const source of sources) {
    const mentioned = source.code.match(/\bfrom ['"]/g)?.length ?? 0;
    const read = importsOf(source).length;
    assert.ok(read >= mentioned, `${source.path}: ${mentioned} imports, ${read} of them understood`);
  }
});
