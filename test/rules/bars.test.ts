import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { classesOf, functionsOf, quantile } from './measures.ts';
import { type Source, sourcesUnder } from './sources.ts';

/*
 * Bars that keep the code followable (ARCHITECTURE.md). `HELD` lists the folders for which a bar holds already: it may only grow. Each bar is shown
 * to catch what it is there for by a planted violation.
 */
const sources = sourcesUnder('src', 'webview');
const under = (folders: readonly string[]) => sources.filter(({ path: file }) => folders.some((folder) => file.startsWith(folder)));
const planted = (code: string, file = 'src/x.ts'): Source => ({ path: file, text: code, code });

const PROTOCOLS = ['a2a', 'acp', 'ai-sdk', 'kimi-wire', 'qwen'].map((name) => `src/protocols/${name}/`);
const CORE = ['src/base/', 'src/bridge/', 'src/conversation/', 'src/headless/', 'src/session/'];
const AGENT = [
  'src/agent/models/',
  'src/agent/servers/a2a/',
  'src/agent/servers/acp/',
  'src/agent/servers/kimi-wire/',
  'src/agent/servers/qwen/',
  'src/agent/tools/',
  'src/agent/workspace/',
];
const HELD = {
  closures: [
    ...CORE,
    ...AGENT,
    'src/editor/approvals/',
    'src/editor/review/',
    'src/live/review/',
    'src/protocols/a2a/',
    'src/protocols/acp/',
    'src/protocols/ai-sdk/',
    'src/protocols/kimi-wire/',
    'src/protocols/qwen/',
    'src/transport/',
  ],
  collaborators: [
    ...CORE,
    ...AGENT,
    'src/editor/',
    'src/live/review/',
    'src/protocols/a2a/',
    'src/protocols/acp/',
    'src/protocols/ai-sdk/',
    'src/protocols/kimi-wire/',
    'src/protocols/qwen/',
    'src/transport/',
  ],
  mutable: [
    'src/base/',
    'src/conversation/',
    'src/headless/',
    'src/session/',
    ...AGENT,
    'src/editor/approvals/',
    'src/editor/review/',
    'src/live/review/',
    'src/protocols/a2a/',
    'src/protocols/acp/',
    'src/protocols/ai-sdk/',
    'src/protocols/kimi-wire/',
    'src/protocols/qwen/',
    'src/transport/',
  ],
  functions: [
    'src/base/',
    'src/bridge/',
    'src/conversation/',
    'src/editor/approvals/',
    'src/headless/',
    'src/live/',
    'src/editor/review/',
    ...AGENT,
    ...PROTOCOLS,
    'src/protocols/',
    'webview/',
  ],
};

const closures = (files: readonly Source[]) =>
  files.flatMap((source) =>
    classesOf(source).flatMap(({ name, closures: count }) => (count > 0 ? [`${source.path} ${name}: ${count}`] : [])),
  );
const crowded = (files: readonly Source[]) =>
  files.flatMap((source) =>
    classesOf(source).flatMap(({ name, collaborators: count }) => (count > 6 ? [`${source.path} ${name}: ${count}`] : [])),
  );
const changing = (files: readonly Source[]) =>
  files.flatMap((source) => classesOf(source).flatMap(({ name, mutable }) => (mutable > 6 ? [`${source.path} ${name}: ${mutable}`] : [])));
const long = (files: readonly Source[]) =>
  files.flatMap((source) => functionsOf(source).flatMap(({ name, lines }) => (lines > 80 ? [`${source.path} ${name}: ${lines}`] : [])));

test('no class hands closures over itself to its own parts', () => {
  assert.deepEqual(closures(under(HELD.closures)), []);
  const found = planted(
    'class A {\n  readonly #b = new B(() => this.c());\n  constructor() {\n    this.d = new D({ say: (x) => this.e(x) });\n  }\n}\n',
  );
  assert.deepEqual(closures([found]), ['src/x.ts A: 2']);
});

test('a class has at most six collaborators', () => {
  assert.deepEqual(crowded(under(HELD.collaborators)), []);
  const fields = Array.from({ length: 7 }, (_, at) => `  readonly #part${at}: Part${at};`).join('\n');
  assert.deepEqual(crowded([planted(`class A {\n${fields}\n}\n`)]), ['src/x.ts A: 7']);
});

test('a class has at most six fields that change', () => {
  assert.deepEqual(changing(under(HELD.mutable)), []);
  const fields = Array.from({ length: 6 }, (_, at) => `  #count${at} = 0;`).join('\n');
  assert.deepEqual(changing([planted(`class A {\n${fields}\n  readonly #seen = new Set<string>();\n  readonly #fixed = 1;\n}\n`)]), [
    'src/x.ts A: 7',
  ]);
});

test('functions are short: the ninth decile at most 25 lines, none over 80', (t) => {
  assert.deepEqual(long(under(HELD.functions)), []);
  const decile = quantile(
    sources.flatMap((source) => functionsOf(source).map(({ lines }) => lines)),
    0.9,
  );
  t.diagnostic(`ninth decile ${decile}, all folders`);
  assert.ok(decile <= 25, `ninth decile ${decile}`);
  const body = '  run();\n'.repeat(80);
  const code = `function a(b: { c: string }): { d: string } {\n${body}}\nclass E {\n  f(): void {\n${body}  }\n}\nconst g = () => {\n${body}};\n`;
  assert.deepEqual(long([planted(code)]), ['src/x.ts a: 82', 'src/x.ts f: 82', 'src/x.ts =>: 82']);
});

// --- the conversation core and the machines are pure, with everything they import

const statement = /(?:^|[;\n}])\s*(?:import|export)\s[^'";]*?\bfrom\s*['"]([^'"]+)['"]/g;
const importsOf = (source: Source) =>
  [...source.code.matchAll(statement)].map(([, target = '']) =>
    target.startsWith('.') ? path.posix.join(path.posix.dirname(source.path), target) : target,
  );
const IMPURE =
  /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|AbortController|fetch)\s*\(|\bnew Promise\b|\bPromise\.\w+\(|\basync\s+(?:function|\(|\w+\s*(?:\(|=>))|\bDate\.now\(|\bMath\.random\(|\bprocess\.\w/;
const PURE_PACKAGES = ['zod/mini', 'diff'];

/** What a pure file must not have: imports of the machine it runs on, in itself or in what it imports, and effects of its own. */
function impurities(roots: readonly Source[], all: readonly Source[]): readonly string[] {
  const byPath = new Map(all.map((source) => [source.path, source]));
  const found = roots.flatMap(({ path: file, code }) => {
    const [effect] = IMPURE.exec(code) ?? [];
    return effect === undefined ? [] : [`${file}: ${effect}`];
  });
  const seen = new Set<string>();
  const visit = (file: string, from: string): void => {
    const source = byPath.get(file);
    if (!source) {
      if (!PURE_PACKAGES.includes(file)) found.push(`${from} imports ${file}`);
      return;
    }
    if (seen.has(file)) return;
    seen.add(file);
    for (const target of importsOf(source)) visit(target, file);
  };
  for (const { path: file } of roots) visit(file, '');
  return found;
}

const PURE = [/^src\/conversation\//, /^src\/protocols\/(?:kimi-wire|a2a|acp|ai-sdk|qwen)\/machine\.ts$/];

test('the conversation core and the machines have no clock, no promises and no I/O, with all that they import', () => {
  const roots = sources.filter(({ path: file }) => PURE.some((pattern) => pattern.test(file)));
  assert.deepEqual(impurities(roots, sources), []);
  const all = [
    planted("import type { B } from './b.ts';\n", 'src/conversation/a.ts'),
    planted("import type { C } from './c.ts';\n", 'src/conversation/b.ts'),
    planted("import { readFileSync } from 'node:fs';\n", 'src/conversation/c.ts'),
    planted('export const later = () => setTimeout(run, 1);\n', 'src/conversation/d.ts'),
  ];
  assert.deepEqual(impurities([all[0] as Source, all[3] as Source], all), [
    'src/conversation/d.ts: setTimeout(',
    'src/conversation/c.ts imports node:fs',
  ]);
});

// --- documents that comments cite

/** Cited documents that are not in the repository yet. It may only shrink. */
const MISSING: readonly string[] = [];
const citations = ({ path: file, text }: Source, isThere: (name: string) => boolean) =>
  [...text.matchAll(/\b([\w-]+\.md) §/g)].flatMap(([, name = '']) => (isThere(name) ? [] : [`${file} cites ${name}`]));
const isThere = (name: string): boolean => existsSync(name) || existsSync(path.join('docs/protocols', name));

test('a document that a comment cites is in the repository', () => {
  assert.deepEqual(
    sources.flatMap((source) => citations(source, (name) => isThere(name) || MISSING.includes(name))),
    [],
  );
  assert.deepEqual(MISSING.filter(isThere), [], 'is there now: take it from the list');
  assert.deepEqual(citations(planted('/** So says it (gone.md §2). */'), isThere), ['src/x.ts cites gone.md']);
});

test('a section of the Wire notes that a comment cites is there', () => {
  const notes = readFileSync('docs/protocols/wire.md', 'utf8');
  const sections = new Set([...notes.matchAll(/^#+ ([\d.]+?)\.? /gm)].map((match) => match[1]));
  const cited = sources.flatMap(({ text }) => [...text.matchAll(/\bwire\.md §(\d+(?:\.\d+)?)/g)].map((match) => match[1] ?? ''));
  assert.ok(cited.length > 0);
  // §9 is a numbered list: its items are cited as §9.1 and so on.
  assert.deepEqual(
    cited.filter((section) => !sections.has(section) && !(section.startsWith('9.') && sections.has('9'))),
    [],
  );
});
