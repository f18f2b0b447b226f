export interface FileRead {
  /** Where the path leads, with links followed. */
  readonly real?: string;
  /** With \n line ends; null when there is no file, absent when it cannot be read. */
  readonly text?: string | null;
}

/** Replaces the text `from`, which must be in the file once unless `all` is true. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
  readonly all: boolean;
}

/** The longest result, in UTF-16 units: replacing a short text with a long one everywhere may make it very large. */
const LONGEST = 64 * 1024 * 1024;

/**
 * The text after replacements, one after the other; undefined when one of them does not fit exactly. null is a file that does not exist; an empty
 * `from` writes an empty or new file.
 */
export function replaced(text: string | null, replacements: readonly Replacement[]): string | undefined {
  let now = text;
  for (const { from, to, all } of replacements) {
    if (from === '') {
      if (now !== null && now !== '') return undefined;
      now = to;
      continue;
    }
    if (now === null) return undefined;
    const pieces = now.split(from);
    if (pieces.length === 1 || (pieces.length > 2 && !all)) return undefined;
    if (now.length + (pieces.length - 1) * to.length > LONGEST) return undefined;
    now = pieces.join(to);
  }
  return now ?? undefined;
}
