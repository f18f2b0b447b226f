import type { Files } from '../protocols/ports.ts';
import { readTextFile, writeTextFile } from '../protocols/textFile.ts';
import { inMannerOf, plain } from '../session/diffs.ts';
import { mergedInto } from '../session/merge.ts';
import type { FileEffects } from './review/changeSet.ts';

/** The files port without an editor: reads from disk. */
export const diskFiles: Files = {
  read: (file) => readTextFile(file),
  write: (file, text, _from, real) => writeTextFile(file, text, real),
};

/** The files of a review without an editor: nothing is unsaved. */
export const diskEffects: FileEffects = {
  async readText(file) {
    try {
      return await readTextFile(file);
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? null : undefined;
    }
  },
  async writeText(file, text, from, real) {
    const now = await readTextFile(file);
    const wanted = mergedInto(plain(now), plain(from), plain(text));
    if (wanted === undefined) throw new Error(`${file} was changed meanwhile`);
    await writeTextFile(file, inMannerOf(wanted, now), real);
  },
  hasUnsaved: () => false,
  folders: () => [],
};
