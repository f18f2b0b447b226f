import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { type Source, sourcesUnder } from './sources.ts';

/** House measures, of which CONTRIBUTING.md names those that a protocol meets. */
const sources = sourcesUnder('src', 'webview');
const tests = sourcesUnder('test');

const offenders = (files: readonly Source[], pattern: RegExp): readonly string[] =>
  files.flatMap((source) =>
    source.code.split('\n').flatMap((line, at) => (pattern.test(line) ? [`${source.path}:${at + 1} ${line.trim()}`] : [])),
  );

const ANY = /(?::|\bas|[<,])\s*any\b(?=\s*[;,)>\]=|&{[])/;

test('no any, no suppressed type errors, no enums or namespaces, no default exports', () => {
  const all = [...sources, ...tests].filter((source) => source.path !== 'test/rules/sizes.test.ts');
  assert.deepEqual(offenders(all, ANY), []);
  const code = 'const a: any = 1;\nconst b = a as any;\nconst c: Map<string, any> = d;\nfunction e(f: any[]) {}\nconst any = 1;\n';
  assert.deepEqual(
    offenders([{ path: 'src/x.ts', text: code, code }], ANY).map((found) => found.slice(0, 10)),
    ['src/x.ts:1', 'src/x.ts:2', 'src/x.ts:3', 'src/x.ts:4'],
  );
  assert.deepEqual(offenders(all, /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s|^\s*(?:export\s+)?namespace\s/), []);
  assert.deepEqual(offenders(all, /^\s*export\s+default\b/), []);
  const suppressed = /@ts-(?:ignore|expect-error|nocheck)/;
  assert.deepEqual(
    all.filter((source) => suppressed.test(source.text)).map((source) => source.path),
    [],
  );
});

test('nothing is exported a second time', () => {
  assert.deepEqual(offenders(sources, /^\s*export\s+(?:type\s+)?(?:\*|\{[^}]*\})\s*(?:as\s+\w+\s*)?from\b/), []);
});

test('names say what a thing is', () => {
  const vague = /(?:Manager|Helper|Util|Utils|Common|Misc)\b/i;
  assert.deepEqual(
    sources.map((source) => path.basename(source.path, '.ts')).filter((name) => vague.test(name)),
    [],
  );
  assert.deepEqual(offenders(sources, /\b(?:class|interface)\s+\w*(?:Manager|Helper|Utils?)\b|\binterface\s+I[A-Z]\w*[a-z]/), []);
});

/** Lines of a file. */
const linesOf = ({ text }: Source): number => text.split('\n').length - 1;
const longMachines = (files: readonly Source[]) =>
  files.flatMap((source) =>
    source.path.startsWith('src/protocols/') && linesOf(source) > 900 ? [`${source.path}: ${linesOf(source)}`] : [],
  );

test('a machine, and each of its layers, has at most 900 lines', () => {
  assert.deepEqual(longMachines(sources), []);
  const text = 'step();\n'.repeat(901);
  assert.deepEqual(longMachines([{ path: 'src/protocols/x/machine.ts', text, code: text }]), ['src/protocols/x/machine.ts: 901']);
});

test('no folder of src holds a single file', () => {
  const folders = new Map<string, number>();
  for (const { path: file } of sources) {
    const folder = path.posix.dirname(file);
    if (folder.startsWith('src/')) folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  const hasFolders = (folder: string): boolean => [...folders.keys()].some((other) => other.startsWith(`${folder}/`));
  assert.deepEqual(
    [...folders].filter(([folder, files]) => files === 1 && !hasFolders(folder)).map(([folder]) => folder),
    [],
  );
});

test('vscode stays in few files', (t) => {
  const inside = sources.filter((source) => source.path.startsWith('src/'));
  const with_ = inside.filter((source) => /from ['"]vscode['"]/.test(source.code));
  t.diagnostic(`${with_.length} of ${inside.length} files of src import vscode`);
  assert.ok(with_.length <= inside.length * 0.3, `${with_.length} of ${inside.length} files`);
});

test('nobody writes to the console', () => {
  assert.deepEqual(offenders(sources, /\bconsole\.\w+\(/), []);
});
