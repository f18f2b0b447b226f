import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { expressionArrowsOf, functionsOf, quantile } from './measures.ts';
import { type Source, sourcesUnder } from './sources.ts';

/*
 * Bars that keep the code followable (ARCHITECTURE.md). They hold for every file. Each bar is shown to catch what it is there for by a planted
 * violation.
 */
const sources = sourcesUnder('src', 'webview');
const planted = (code: string, file = 'src/x.ts'): Source => ({ path: file, text: code, code });

const long = (files: readonly Source[]) =>
  files.flatMap((source) =>
    [...functionsOf(source), ...expressionArrowsOf(source)].flatMap(({ name, lines }) =>
      lines > 80 ? [`${source.path} ${name}: ${lines}`] : [],
    ),
  );

const ninthDecile = (files: readonly Source[]) =>
  quantile(
    files.flatMap((source) => functionsOf(source).map(({ lines }) => lines)),
    0.9,
  );

test('functions are short: the ninth decile at most 25 lines, none over 80', (t) => {
  assert.deepEqual(long(sources), []);
  const decile = ninthDecile(sources);
  t.diagnostic(`ninth decile ${decile}, all folders`);
  assert.ok(decile <= 25, `ninth decile ${decile}`);
  const body = '  run();\n'.repeat(80);
  const code = `function a(b: { c: string }): { d: string } {\n${body}}\nclass E {\n  f(): void {\n${body}  }\n}\nconst g = () => {\n${body}};\n`;
  assert.deepEqual(long([planted(code)]), ['src/x.ts a: 82', 'src/x.ts f: 82', 'src/x.ts =>: 82']);
  const heads = ['public f(): void', '*f(): Generator<number>', 'static async *[Symbol.iterator]()', 'static'];
  const members = planted(`class E {\n${heads.map((head) => `  ${head} {\n${body}  }\n`).join('')}}\n`);
  assert.deepEqual(long([members]), ['src/x.ts f: 82', 'src/x.ts f: 82', 'src/x.ts [Symbol.iterator]: 82', 'src/x.ts static: 82']);
  const parts = '    run(),\n'.repeat(80);
  assert.deepEqual(long([planted(`const h = () =>\n  all([\n${parts}  ]);\n`)]), ['src/x.ts =>: 83']);
  const functions = (count: number, lines: number) => `function a() {\n${'  run();\n'.repeat(lines - 2)}}\n`.repeat(count);
  assert.equal(ninthDecile([planted(functions(17, 5) + functions(3, 30))]), 30);
});

// --- the conversation core and the machines are pure, with everything they import

const statement = /(?:^|[;\n}])\s*(?:import|export)\s[^'";]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/g;
const importsOf = (source: Source) =>
  [...source.code.matchAll(statement)].map((match) => {
    const target = match[1] ?? match[2] ?? '';
    return target.startsWith('.') ? path.posix.join(path.posix.dirname(source.path), target) : target;
  });
/** Functions and objects of the platform, also where one is only named: handed over, put into a list or a variable. */
const ACTS = 'setTimeout|setInterval|setImmediate|queueMicrotask|AbortController';
const HOLDERS = 'fetch|Date|Math|performance|crypto|process|globalThis';
const IMPURE = new RegExp(
  [
    `(?<![\\w$#.'"])(?:${ACTS})\\b(?!['":])`,
    `[=(,[:?]\\s*(?:${HOLDERS})\\s*[;,)\\]}]`,
    `(?<![\\w$#.])(?:${HOLDERS})\\s*(?:\\?\\.)?\\[`,
    String.raw`(?<![\w$#.]|\bnew\s+)(?:fetch|Date)\s*\(|\bnew Date\s*(?:\(\s*\)|[;,)])`,
    String.raw`\bnew Promise\b|\basync\s+(?:function|\(|\*|#?\w+\s*(?:\(|=>))|\bawait\s|\.then\(|\b(?:AbortSignal|Promise|globalThis)\b(?=\s*[.[])`,
    String.raw`\bDate\.now\b|\bperformance\.now\b|\bMath\.random\b|\bcrypto\.\w|\bprocess\.\w`,
  ].join('|'),
);
const PURE_PACKAGES = ['zod/mini', 'diff'];

/** What a pure file must not have: imports of the machine it runs on, and effects, in itself or in what it imports. */
function impurities(roots: readonly Source[], all: readonly Source[]): readonly string[] {
  const byPath = new Map(all.map((source) => [source.path, source]));
  const found: string[] = [];
  const seen = new Set<string>();
  const visit = (file: string, from: string): void => {
    const source = byPath.get(file);
    if (!source) {
      if (!PURE_PACKAGES.includes(file)) found.push(`${from} imports ${file}`);
      return;
    }
    if (seen.has(file)) return;
    seen.add(file);
    const [effect] = IMPURE.exec(source.code) ?? [];
    if (effect !== undefined) found.push(`${file}: ${effect}`);
    for (const target of importsOf(source)) visit(target, file);
  };
  for (const { path: file } of roots) visit(file, '');
  return found;
}

const PURE = [/^src\/conversation\//, /^src\/protocols\/[\w-]+\/machine\.ts$/];

/** Ways around the plain words, each with what is found of it. */
const IMPURE_FORMS: readonly (readonly [code: string, found: string])[] = [
  ['run(setTimeout)', 'setTimeout'],
  ['const clocks = [1, setInterval]', 'setInterval'],
  ["const chance = Math['random']()", 'Math['],
  ["const home = process['env']", 'process['],
  ["const id = crypto['randomUUID']()", 'crypto['],
  ['const today = new Date()', 'new Date()'],
  ['const today = new Date', 'new Date;'],
  ['const today = Date()', 'Date('],
  ['run(Date.now)', 'Date.now'],
  ['const given = [Date]', '[Date]'],
  ['run(performance)', '(performance)'],
  ['class A { static async *go() {} }', 'async *'],
];

test('the conversation core and the machines have no clock, no promises and no I/O, with all that they import', () => {
  const roots = sources.filter(({ path: file }) => PURE.some((pattern) => pattern.test(file)));
  assert.deepEqual(impurities(roots, sources), []);
  const all = [
    planted("import type { B } from './b.ts';\n", 'src/conversation/a.ts'),
    planted("import type { C } from './c.ts';\n", 'src/conversation/b.ts'),
    planted("import { readFileSync } from 'node:fs';\nimport { later } from './d.ts';\n", 'src/conversation/c.ts'),
    planted('export const later = () => setTimeout(run, 1);\n', 'src/conversation/d.ts'),
    planted('export const now = Date.now();\n', 'src/conversation/e.ts'),
    planted('export const stop = new AbortController();\n', 'src/conversation/f.ts'),
    planted('export const wait = async () => {};\n', 'src/conversation/g.ts'),
    planted('const clock = Date.now;\n', 'src/conversation/h.ts'),
    planted('const { random } = Math;\n', 'src/conversation/i.ts'),
    planted('const later = setTimeout;\n', 'src/conversation/j.ts'),
    planted('class A { async #go() {} }\n', 'src/conversation/k.ts'),
    planted("const later = globalThis['setTimeout'];\n", 'src/conversation/l.ts'),
    planted('const stop = AbortSignal.timeout(5);\n', 'src/conversation/m.ts'),
    planted('run().then(go);\n', 'src/conversation/n.ts'),
    ...IMPURE_FORMS.map(([code], at) => planted(`${code};\n`, `src/conversation/form${at}.ts`)),
  ];
  assert.deepEqual(impurities([all[0] as Source, ...all.slice(4)], all), [
    'src/conversation/c.ts imports node:fs',
    'src/conversation/d.ts: setTimeout',
    'src/conversation/e.ts: Date.now',
    'src/conversation/f.ts: AbortController',
    'src/conversation/g.ts: async (',
    'src/conversation/h.ts: Date.now',
    'src/conversation/i.ts: = Math;',
    'src/conversation/j.ts: setTimeout',
    'src/conversation/k.ts: async #go(',
    'src/conversation/l.ts: globalThis[',
    'src/conversation/m.ts: AbortSignal',
    'src/conversation/n.ts: .then(',
    ...IMPURE_FORMS.map(([, found], at) => `src/conversation/form${at}.ts: ${found}`),
  ]);
  const layers = [
    planted("import { Layer } from './layer.ts';\n", 'src/protocols/x/machine.ts'),
    planted('export const later = () => setTimeout(run, 1);\n', 'src/protocols/x/layer.ts'),
  ];
  assert.deepEqual(impurities(layers.slice(0, 1), layers), ['src/protocols/x/layer.ts: setTimeout']);
});

test('the machines are compiled without the types of node and of the browser', () => {
  const config = JSON.parse(readFileSync('build/machines/tsconfig.json', 'utf8')) as {
    readonly compilerOptions: { readonly types: readonly string[]; readonly lib: readonly string[] };
    readonly include: readonly string[];
  };
  assert.deepEqual(config.compilerOptions, { types: [], lib: ['es2023'] });
  assert.deepEqual(config.include, ['platform.d.ts', '../../src/protocols/*/machine.ts']);
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: Readonly<Record<string, string>> };
  assert.match(scripts.typecheck ?? '', /-p build\/machines\b/);
});

// --- how far a reader has to go

/** Files that put the parts of a program together, or hold a table of what it can do. */
const ROOTS = [
  'src/extension.ts',
  'src/headless.ts',
  'src/serve.ts',
  'src/agent/main.ts',
  'src/agent/toolbox.ts',
  'src/editor/chatAnswers.ts',
  'src/editor/commands.ts',
  'src/editor/program.ts',
  'webview/main.ts',
  'webview/bundles/',
];
/** Files with exactly one importer, in percent of all. */
const ONE_IMPORTER_PERCENT = 25;

const ON_DEMAND = /\bimport\(['"][^'"]+['"]\)/g;
const targetsOf = (source: Source): ReadonlySet<string> => new Set(importsOf(source));
const farReaching = (files: readonly Source[]) =>
  files.flatMap((source) => {
    const count = targetsOf(source).size;
    const isRoot = ROOTS.some((root) => source.path.startsWith(root));
    return isRoot || count <= 15 ? [] : [`${source.path}: ${count}`];
  });
/** Files that exactly one other file imports. What is loaded on demand has to be a file of its own and is not counted. */
function importedOnce(files: readonly Source[]): readonly string[] {
  const counts = new Map<string, number>();
  const onDemand = new Set<string>();
  for (const source of files) {
    const eager = new Set(importsOf({ ...source, code: source.code.replace(ON_DEMAND, '') }));
    for (const target of eager) counts.set(target, (counts.get(target) ?? 0) + 1);
    for (const target of importsOf(source)) if (!eager.has(target)) onDemand.add(target);
  }
  return files.flatMap(({ path: file }) => (counts.get(file) === 1 && !onDemand.has(file) ? [file] : []));
}

test('a file imports at most fifteen others, unless it puts a program together', () => {
  assert.deepEqual(farReaching(sources), []);
  const code = Array.from({ length: 16 }, (_, at) => `import { a${at} } from './a${at}.ts';\n`).join('');
  assert.deepEqual(farReaching([planted(code)]), ['src/x.ts: 16']);
  assert.deepEqual(farReaching([planted(code, 'src/extension.ts')]), []);
});

test('a reader follows a thing in few files: not too many have one importer', (t) => {
  const share = (100 * importedOnce(sources).length) / sources.length;
  t.diagnostic(`${share.toFixed(1)} % of ${sources.length} files have one importer`);
  assert.ok(share <= ONE_IMPORTER_PERCENT, `${share.toFixed(1)} % of the files have one importer`);
  const all = [
    planted("import { b } from './b.ts';\nimport { c } from './c.ts';\n", 'src/a.ts'),
    planted("import { c } from './c.ts';\n", 'src/b.ts'),
    planted("const late = () => import('./d.ts');\n", 'src/c.ts'),
    planted("import { e } from './e.ts';\nimport { f } from './f.ts';\n", 'src/d.ts'),
    planted("const late = () => import('./f.ts');\n", 'src/e.ts'),
    planted('', 'src/f.ts'),
  ];
  assert.deepEqual(importedOnce(all), ['src/b.ts', 'src/e.ts']);
});

test('a whole protocol fits in 150 lines', () => {
  const lines = readFileSync('test/conversation/lineProtocol.ts', 'utf8').trimEnd().split('\n');
  assert.ok(lines.length < 150, `${lines.length} lines`);
});

// --- documents that comments cite

/** Cited documents that are not in the repository yet. It may only shrink. */
const MISSING: readonly string[] = [];
const citations = ({ path: file, text }: Source, isThere: (name: string) => boolean) =>
  [...text.matchAll(/\b([\w/-]+\.md)(?= §)|(?<![\w/])docs\/[\w/-]+\.md\b/g)].flatMap(([name]) =>
    isThere(name) ? [] : [`${file} cites ${name}`],
  );
/** Notes of a protocol are cited by their name alone. */
const placeOf = (name: string): string | undefined => [name, path.join('docs/protocols', name)].find((file) => existsSync(file));
const isThere = (name: string): boolean => placeOf(name) !== undefined;

test('a document that a comment cites is in the repository', () => {
  assert.deepEqual(
    sources.flatMap((source) => citations(source, (name) => isThere(name) || MISSING.includes(name))),
    [],
  );
  assert.deepEqual(MISSING.filter(isThere), [], 'is there now: take it from the list');
  const gone = citations(planted('/** So says it (gone.md §2, docs/lost.md). */'), isThere);
  assert.deepEqual(gone, ['src/x.ts cites gone.md', 'src/x.ts cites docs/lost.md']);
});

/** The sections of a document, by their numbers. Below a section its items are cited, as §9.1: the section has to be there. */
const sectionsOf = (file: string): ReadonlySet<string> =>
  new Set([...readFileSync(file, 'utf8').matchAll(/^#+ §?(\d+)\b/gm)].map((match) => match[1] ?? ''));
function wrongSections(files: readonly Source[]): readonly string[] {
  const known = new Map<string, ReadonlySet<string>>();
  return files.flatMap(({ path: file, text }) =>
    [...text.matchAll(/\b([\w/-]+\.md) §(\d+)/g)].flatMap(([cited, name = '', section = '']) => {
      const place = placeOf(name);
      if (place === undefined) return [];
      const sections = known.get(place) ?? sectionsOf(place);
      known.set(place, sections);
      return sections.has(section) ? [] : [`${file} cites ${cited}`];
    }),
  );
}

test('a section that a comment cites is there', () => {
  assert.deepEqual(wrongSections(sources), []);
  const wrong = wrongSections([planted('/** So says it (qwen.md §99.9, ARCHITECTURE.md §98, docs/changes.md §1). */')]);
  assert.deepEqual(wrong, ['src/x.ts cites qwen.md §99', 'src/x.ts cites ARCHITECTURE.md §98', 'src/x.ts cites docs/changes.md §1']);
});

/** Sections without a document: a reader cannot look them up. */
const bareSections = ({ path: file, text }: Source) =>
  [...text.replaceAll(/(?:\b[\w/-]+\.md|\bRFC \d+)(?:(?:,| and| to)? §[\d.]+)+/g, '').matchAll(/§[\d.]+/g)].map(
    ([section]) => `${file} ${section}`,
  );

test('a section is cited with its document', () => {
  assert.deepEqual(sources.flatMap(bareSections), []);
  const cited = '/** As it says (docs/protocols/qwen.md §3.3, §4.8; RFC 6455 §7.4), and (§5). */';
  assert.deepEqual(bareSections(planted(cited)), ['src/x.ts §5']);
});
