import path from 'node:path';

/** The grammars of the installed extensions, as their manifests contribute them. Manifests are untrusted: what does not fit is left out. */

/** An extension's folder and manifest. */
export interface Contribution {
  readonly folder: string;
  readonly manifest: unknown;
}
/** A grammar's file, and the scopes of other grammars into which it puts rules of its own. */
interface Grammar {
  readonly file: string;
  readonly injectTo: readonly string[];
}
export interface Grammars {
  /** The scope of the grammar for a language by its id, another name of it, or the ending of its files; undefined when there is none. */
  scopeOf(language: string): string | undefined;
  fileOf(scope: string): string | undefined;
  injectionsOf(scope: string): readonly string[];
}
type Fields = Readonly<Record<string, unknown>>;

/** Names that models give to languages, and that no extension declares. */
const ALSO: Readonly<Record<string, string>> = {
  console: 'shellscript',
  golang: 'go',
  jsonl: 'json',
  shell: 'shellscript',
  'shell-session': 'shellscript',
};

export function grammarsOf(contributions: readonly Contribution[]): Grammars {
  const scopes = new Map<string, string>();
  const files = new Map<string, Grammar>();
  const languages: Fields[] = [];
  for (const { folder, manifest } of contributions) {
    const contributes = fieldsOf(fieldsOf(manifest)?.contributes);
    languages.push(...fieldsIn(contributes?.languages));
    for (const { language, scopeName, path: file, injectTo } of fieldsIn(contributes?.grammars)) {
      if (typeof scopeName !== 'string' || typeof file !== 'string') continue;
      files.set(scopeName, { file: path.join(folder, file), injectTo: textsIn(injectTo) });
      if (typeof language === 'string') scopes.set(language, scopeName);
    }
  }
  const ids = new Map<string, string>();
  for (const { id, aliases, extensions, filenames } of languages) {
    if (typeof id !== 'string' || !scopes.has(id)) continue;
    const names = [id, ...textsIn(aliases), ...textsIn(extensions).map((ending) => ending.replace(/^\./, '')), ...textsIn(filenames)];
    for (const name of names) if (!ids.has(name.toLowerCase())) ids.set(name.toLowerCase(), id);
  }
  return {
    scopeOf: (language) => {
      const name = language.toLowerCase();
      return scopes.get(name) ?? scopes.get(ids.get(name) ?? ALSO[name] ?? '');
    },
    fileOf: (scope) => files.get(scope)?.file,
    injectionsOf: (scope) => [...files].flatMap(([name, { injectTo }]) => (injectTo.includes(scope) ? [name] : [])),
  };
}

function fieldsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf).filter((one) => one !== undefined) : [];
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one: unknown) => typeof one === 'string') : [];
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}
