import { programOf } from '../../transport/programFile.ts';

/** A search in file contents, whoever does it. */
export interface Search {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  readonly glob: string | undefined;
  /** Absolute: a folder or a file. */
  readonly target: string;
  readonly most: number;
}
/** `line` from 1. Paths are absolute. */
export interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}
export interface Hits {
  readonly hits: readonly Hit[];
  readonly more: boolean;
}

/** Ripgrep on the PATH, never one of the working folder. */
export function ripgrep(): string | undefined {
  try {
    return programOf('rg', process.env);
  } catch {
    return undefined;
  }
}
