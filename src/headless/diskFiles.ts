import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Files } from '../protocols/ports.ts';
import { readTextFile } from '../protocols/textFile.ts';

/** The files port without an editor: what is on disk. */
export const diskFiles: Files = {
  async read(file, part) {
    const text = await readTextFile(file);
    if (part?.line === undefined && part?.limit === undefined) return text;
    const from = Math.max(0, (part.line ?? 1) - 1);
    return text
      .split('\n')
      .slice(from, part.limit === undefined ? undefined : from + part.limit)
      .join('\n');
  },
  async write(file, text) {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  },
};
