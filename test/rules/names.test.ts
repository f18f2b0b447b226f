import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skeletonOf } from './measures.ts';
import { type Source, sourcesUnder } from './sources.ts';

/* One name for one thing: a reader who meets a class knows which one it is without looking at the imports. */
const sources = sourcesUnder('src', 'webview');
const planted = (code: string, file: string): Source => ({ path: file, text: code, code });

interface Declaration {
  readonly path: string;
  readonly name: string;
  readonly isClass: boolean;
  readonly isExported: boolean;
}

function declarationsOf({ path, code }: Source): readonly Declaration[] {
  const declared = /^(?:export )?(?:abstract )?(?:class|interface|enum|type(?= \w+\s*(?:<[^=]*>\s*)?=)) (\w+)/gm;
  // Inside a function or a block, and as an expression, with its own name or that of its variable.
  const inner =
    /^[ \t]+(?:abstract )?class (\w+)|(?:[=(,:?]|\breturn)\s*class (?!extends\b)(\w+)|\b(?:const|let) (\w+)[^=\n]*=\s*class\b(?! (?!extends\b)\w)/gm;
  return [
    ...[...code.matchAll(declared)].map(([head, name = '']) => ({
      path,
      name,
      isClass: /\bclass /.test(head),
      isExported: head.startsWith('export '),
    })),
    ...[...skeletonOf(code).matchAll(inner)].map(([, nested, named, held]) => ({
      path,
      name: nested ?? named ?? held ?? '',
      isClass: true,
      isExported: false,
    })),
  ];
}

function byName(files: readonly Source[]): ReadonlyMap<string, readonly Declaration[]> {
  const found = new Map<string, Declaration[]>();
  for (const one of files.flatMap(declarationsOf)) {
    const same = found.get(one.name);
    if (same) same.push(one);
    else found.set(one.name, [one]);
  }
  return found;
}

/** Classes that share their name with a class, an interface or a type of another file. */
function sharedByClasses(files: readonly Source[]): readonly string[] {
  return [...byName(files)].flatMap(([name, found]) =>
    found.length > 1 && found.some(({ isClass }) => isClass) ? [`${name}: ${found.map(({ path }) => path).join(', ')}`] : [],
  );
}

test('no name of a class is declared twice', () => {
  assert.deepEqual(sharedByClasses(sources), []);
  const all = [
    planted('export class Chat {}\n', 'src/a.ts'),
    planted('abstract class Chat<T> {}\n', 'webview/b.ts'),
    planted('class Peer {}\n', 'src/a.ts'),
    planted('export interface Peer {\n}\n', 'src/c.ts'),
    planted('export class Only {}\n', 'src/d.ts'),
    planted("import {\n  type Only,\n} from './d.ts';\n", 'src/e.ts'),
  ];
  const inner = [
    planted('class A {}\nclass B {}\nclass C {}\nclass D {}\n', 'src/f.ts'),
    planted('function make() {\n  class A {}\n  return class B extends A {};\n}\n', 'src/g.ts'),
    planted('const x = class C {};\nconst D = class extends C {};\nconst E = class extends C {};\n', 'src/h.ts'),
  ];
  assert.deepEqual(
    sharedByClasses(inner).map((one) => one.split(':')[0]),
    ['A', 'B', 'C', 'D'],
  );
  assert.deepEqual(sharedByClasses(all), ['Chat: src/a.ts, webview/b.ts', 'Peer: src/a.ts, src/c.ts']);
});

/** The words of a specification stand in a protocol's schema as they stand there. */
const isSchema = (file: string): boolean => /^src\/protocols\/[^/]+\/schema\.ts$/.test(file) || file === 'src/protocols/ahp/state.ts';

/** Exported names that stand for something else in another file. */
function sharedByExports(files: readonly Source[]): readonly string[] {
  const all = byName(files.filter(({ path }) => !isSchema(path)));
  return [...all].flatMap(([name, found]) => {
    const exported = found.filter(({ isExported }) => isExported);
    return exported.length > 1 ? [`${name}: ${exported.map(({ path }) => path).join(', ')}`] : [];
  });
}

test('no exported type is declared twice, the words of specifications aside', () => {
  assert.deepEqual(sharedByExports(sources), []);
  const all = [
    planted('export interface Place {\n}\n', 'src/a.ts'),
    planted('export type Place = string;\n', 'webview/b.ts'),
    planted('interface Place {\n}\n', 'src/c.ts'),
    planted('export type Message = string;\n', 'src/a.ts'),
    planted('export type Message = string;\n', 'src/protocols/a2a/schema.ts'),
  ];
  assert.deepEqual(sharedByExports(all), ['Place: src/a.ts, webview/b.ts']);
});
