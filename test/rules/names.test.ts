import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Source, sourcesUnder } from './sources.ts';

/* One name for one thing: a reader who meets a class knows which one it is without looking at the imports. */
const sources = sourcesUnder('src', 'webview');
const planted = (code: string, file: string): Source => ({ path: file, text: code, code });

interface Declaration {
  readonly path: string;
  readonly name: string;
  readonly isClass: boolean;
}

function declarationsOf({ path, code }: Source): readonly Declaration[] {
  const declared = /^(?:export )?(?:abstract )?(?:class|interface|enum|type(?= \w+\s*(?:<[^=]*>\s*)?=)) (\w+)/gm;
  return [...code.matchAll(declared)].map(([head, name = '']) => ({ path, name, isClass: /\bclass /.test(head) }));
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
  assert.deepEqual(sharedByClasses(all), ['Chat: src/a.ts, webview/b.ts', 'Peer: src/a.ts, src/c.ts']);
});
