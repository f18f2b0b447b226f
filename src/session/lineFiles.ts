import type { ShellWord } from './shellWords.ts';

/** Texts of one file that are kept. */
const MOST_TEXTS = 20;

/** The files that a line fetches or writes before it runs them, by their names alone. */
export class LineFiles {
  readonly #fetched = new Set<string>();
  readonly #written = new Map<string, readonly ShellWord[]>();

  /** Running it runs unseen code. */
  fetches(path: string): void {
    this.#fetched.add(baseName(path));
  }
  isFetched({ text }: ShellWord): boolean {
    return this.#fetched.has(baseName(text));
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
