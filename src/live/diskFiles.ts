import type { Files } from '../protocols/ports.ts';
import { readTextFile, writeInManner, writeTextFile } from '../protocols/textFile.ts';
import { inMannerOf, plain } from '../session/diffs.ts';
import { mergedInto } from '../session/merge.ts';
import type { FileEffects } from './review/changeSet.ts';

/** The files port of a session in a folder, without an editor. */
export function diskFilesIn(folder: string): Files {
  return {
    read: (file) => readTextFile(file),
    write: (file, text, _from, real) => writeInManner(file, text, real, folder),
  };
}

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
