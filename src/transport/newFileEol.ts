import type { Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import path from 'node:path';

/** Files looked at in one folder, bytes read of each, and folders looked at on the way up. */
const MOST_FILES = 8;
const BEGINNING = 8192;
const MOST_FOLDERS = 4;

/**
 * The line ends a new file gets: those of the files beside it, first of its own kind, else of those in the folders above up to `root`. Shell scripts
 * always have `\n` and batch files `\r\n`, because they do not run otherwise. `file` lies below `root`, with links followed. Never rejects.
 */
export async function newFileEol(file: string, root: string): Promise<'\n' | '\r\n'> {
  const kind = path.extname(file).toLowerCase();
  if (/^\.(?:sh|bash|zsh|fish|ksh)$/.test(kind)) return '\n';
  if (/^\.(?:bat|cmd)$/.test(kind)) return '\r\n';
  let folder = path.dirname(file);
  for (let up = 0; up < MOST_FOLDERS; up += 1) {
    for (const name of await neighbours(folder, kind)) {
      const eol = await eolOf(path.join(folder, name));
      if (eol !== undefined) return eol;
    }
    if (path.relative(root, folder) === '' || path.dirname(folder) === folder) break;
    folder = path.dirname(folder);
  }
  return '\n';
}

async function neighbours(folder: string, kind: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  const names = entries
    .filter((entry) => entry.isFile() && !/^\.(?:sh|bat|cmd)$/i.test(path.extname(entry.name)))
    .map(({ name }) => name)
    .sort();
  const alike = (name: string) => path.extname(name).toLowerCase() === kind;
  return [...names.filter(alike), ...names.filter((name) => !alike(name))].slice(0, MOST_FILES);
}

/** How the first line ends; undefined where the beginning holds no line end, or is no text. */
async function eolOf(file: string): Promise<'\n' | '\r\n' | undefined> {
  try {
    const handle = await open(file, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
      const text = buffer.toString('latin1', 0, bytesRead);
      const at = text.includes('\0') ? -1 : text.indexOf('\n');
      if (at < 0) return undefined;
      return text[at - 1] === '\r' ? '\r\n' : '\n';
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}
