import path from 'node:path';
import {
  type ClassDeclaration,
  type ClassExpression,
  isClassDeclaration,
  isClassExpression,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API, type Checker, type Project, type Symbol as TsSymbol } from 'typescript/unstable/sync';

export type ClassNode = ClassDeclaration | ClassExpression;
/** A class of ours with the project that knows its types. */
export interface OwnClass {
  /** Relative to the root of the project. */
  readonly file: string;
  readonly node: ClassNode;
  readonly types: Types;
}

/** What the compiler knows of the project's own declarations. */
export class Types {
  readonly checker: Checker;
  readonly #project: Project;
  readonly #isOwn: (file: string) => boolean;

  constructor(project: Project, isOwn: (file: string) => boolean) {
    this.checker = project.checker;
    this.#project = project;
    this.#isOwn = isOwn;
  }

  /** The declaration of a symbol, where it is the project's own. */
  ownDeclaration(symbol: TsSymbol | undefined): Node | undefined {
    const handle = symbol?.valueDeclaration ?? symbol?.declarations[0];
    if (!handle || !this.#isOwn(handle.path)) return undefined;
    return handle.resolve(this.#project);
  }

  /** What a name stands for, behind its import. */
  symbolAt(name: Node): TsSymbol | undefined {
    const symbol = this.checker.getSymbolAtLocation(name);
    const imported = symbol?.declarations[0]?.kind;
    const isAlias = imported !== undefined && [SyntaxKind.ImportSpecifier, SyntaxKind.ImportClause].includes(imported);
    return symbol && isAlias ? this.checker.getAliasedSymbol(symbol) : symbol;
  }
}

/** A file of ours with the project that knows its types. */
export interface OwnFile {
  readonly file: string;
  readonly source: SourceFile;
  readonly types: Types;
}

/** Every file in the given folders of the projects, measured while the compiler runs. */
export function measureFiles<T>(
  configs: readonly string[],
  folders: readonly string[],
  measure: (own: OwnFile) => readonly T[],
): readonly T[] {
  return measured(process.cwd().replaceAll('\\', '/'), undefined, configs, folders, measure);
}

export function classesIn({ file, source, types }: OwnFile): readonly OwnClass[] {
  const found: OwnClass[] = [];
  const visit = (node: Node): void => {
    if (isClassDeclaration(node) || isClassExpression(node)) found.push({ file, node, types });
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

/** One piece of code, without the libraries of the language. */
export function measurePlanted<T>(code: string, measure: (own: OwnFile) => readonly T[]): readonly T[] {
  const options = { noLib: true, target: 'es2023', module: 'preserve', strict: true };
  const files = {
    '/planted/tsconfig.json': JSON.stringify({ compilerOptions: { ...options, types: [] }, include: ['src', 'lib'] }),
    '/planted/src/x.ts': code,
    '/planted/lib/platform.d.ts': PLATFORM,
  };
  return measured('/planted', files, ['tsconfig.json'], ['src'], measure);
}
/** The little of the platform that planted code uses. */
const PLATFORM = `
interface Array<T> { push(one: T): number; map<U>(f: (one: T) => U): U[] }
interface Boolean {} interface CallableFunction { bind(self: unknown): any } interface Function {} interface IArguments {}
interface NewableFunction {} interface Number {} interface Object {} interface RegExp {} interface String {}
interface Map<K, V> { set(key: K, value: V): void } interface Set<T> { add(one: T): void } interface Promise<T> { then(f: (one: T) => void): void }
declare const Promise: new <T>(run: (done: (one: T) => void) => void) => Promise<T>; declare const Map: new <K, V>() => Map<K, V>; declare const Set: new <T>() => Set<T>;
declare function setTimeout(run: () => void, after: number): { ref(): void };
`;

function measured<T>(
  root: string,
  files: Record<string, string> | undefined,
  configs: readonly string[],
  folders: readonly string[],
  measure: (own: OwnFile) => readonly T[],
): readonly T[] {
  const api = new API({ cwd: root, ...(files ? { fs: createVirtualFileSystem(files) } : {}) });
  try {
    const snapshot = api.updateSnapshot({ openProjects: configs.map((config) => path.posix.join(root, config)) });
    const seen = new Set<string>();
    const isOwn = (file: string) => folders.some((folder) => file.toLowerCase().startsWith(`${root}/${folder}/`.toLowerCase()));
    return snapshot.getProjects().flatMap((project) => {
      const types = new Types(project, isOwn);
      const names = project.program.getSourceFileNames().filter((file) => isOwn(file) && !seen.has(file));
      return names.flatMap((file) => {
        seen.add(file);
        const source = project.program.getSourceFile(file);
        return source ? measure({ file: path.posix.relative(root, file), source, types }) : [];
      });
    });
  } finally {
    api.close();
  }
}
