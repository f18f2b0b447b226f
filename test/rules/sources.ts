import { readFileSync } from 'node:fs';
import { filesUnder } from '../stages/files.ts';

/** One source file: path relative to the repository, its text, and its text without comments. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly code: string;
}

export function sourcesUnder(...folders: readonly string[]): readonly Source[] {
  return folders
    .flatMap((folder) => filesUnder(folder, '.ts'))
    .map((path) => {
      const text = readFileSync(path, 'utf8');
      return { path, text, code: withoutComments(text) };
    });
}

/** Strings, templates, patterns and comments. A pattern is told from a division by what stands before it. */
export const LITERALS =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=[=(,:;!&|?{}[]\s*|\breturn\s+|=>\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g;

/** Blanks comments; strings and patterns are stepped over whole, so that an address in one does not look like a comment. */
function withoutComments(text: string): string {
  return text.replace(LITERALS, (found) => (/^\/[/*]/.test(found) ? found.replaceAll(/[^\n]/g, ' ') : found));
}
