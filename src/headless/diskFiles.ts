import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Files } from '../protocols/ports.ts';
import { readTextFile } from '../protocols/textFile.ts';

/** The files port without an editor: what is on disk. */
export const diskFiles: Files = {
  read: (file) => readTextFile(file),
  async write(file, text) {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  },
};
