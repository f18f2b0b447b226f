import type { ShellWord } from './shellWords.ts';

/** Texts of one file that are kept. */
const MOST_TEXTS = 20;

/** The files that a line fetches or writes before it runs them, by their names alone. */
export class LineFiles {
  readonly #fetched = new Set<string>();
  #unpacks = false;
  readonly #written = new Map<string, readonly ShellWord[]>();

  /** Running it runs unseen code. */
  fetches(path: string): void {
    this.#fetched.add(baseName(path));
  }
  isFetched({ text }: ShellWord): boolean {
    return this.#fetched.has(baseName(text));
  }
  /** Of what an archive or a server brings no name is known. */
  unpacks(): void {
    this.#unpacks = true;
  }
  /** True for a path with a folder that the line fetches, or may unpack; `folders` are those into which it went. */
  isBelowFetched(path: string, folders: readonly string[]): boolean {
    if (this.#fetched.size === 0 && !this.#unpacks) return false;
    const names = [...folders, path].flatMap((one) => one.split(/[\\/]/));
    return names.some((name) => this.#fetched.has(name)) || (this.#unpacks && /^(?:\.[\\/])?[^\\/.~$]/.test(path));
  }

  /** Adds to the texts of a file: running it runs these. */
  writes({ text, expands }: ShellWord, texts: readonly ShellWord[]): void {
    const name = baseName(text);
    if (!expands) this.#written.set(name, [...(this.#written.get(name) ?? []), ...texts].slice(0, MOST_TEXTS));
  }
  textsOf({ text }: ShellWord): readonly ShellWord[] {
    return this.#written.get(baseName(text)) ?? [];
  }
}

/** The last name of a path, with separators of either kind. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
