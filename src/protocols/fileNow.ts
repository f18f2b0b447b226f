import { isMissing } from '../base/log.ts';
import { isForeign, platform, realPathNow } from './paths.ts';
import type { Files } from './ports.ts';
import type { FileRead } from './replacements.ts';

/** Unsaved text first. A file on another server is not read: nobody has allowed the call yet. */
export async function readText(files: Files, path: string, roots: readonly string[], system = platform): Promise<FileRead> {
  if (isForeign(path, roots, system)) return { real: path };
  const real = realPathNow(path);
  try {
    return { real, text: (await files.read(path)).replaceAll('\r\n', '\n') };
  } catch (error) {
    return isMissing(error) ? { real, text: null } : { real };
  }
}
