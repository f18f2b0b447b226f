import type { Files } from '../protocols/ports.ts';
import { readTextFile, writeTextFile } from '../protocols/textFile.ts';

/** The files port without an editor: what is on disk. */
export const diskFiles: Files = {
  read: (file) => readTextFile(file),
  write: (file, text, _from, real) => writeTextFile(file, text, real),
};
