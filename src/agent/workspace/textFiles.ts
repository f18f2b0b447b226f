import type { ResolvedPath } from './paths.ts';

/**
 * A text file with what must survive an edit kept apart: `text` has no byte order mark and, when every line ends in `\r\n`, only `\n`. A file
 * with mixed line ends keeps them in `text`, so that lines without an edit stay as they are.
 */
export interface TextFile {
  readonly text: string;
  readonly eol: '\n' | '\r\n';
  readonly bom: boolean;
}

/** Where the tools read and write text files. */
export interface TextFiles {
  /** Undefined when there is no such file. Throws ToolFailure when it cannot be read as text, with what to do instead. */
  read(place: ResolvedPath, name: string): Promise<TextFile | undefined>;
  /** Writes the whole text, in the manner of the file it replaces; throws when that did not happen. */
  write(place: ResolvedPath, text: string, like: Pick<TextFile, 'eol' | 'bom'>): Promise<void>;
}
