import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { isMissing } from '../base/log.ts';
import { inMannerOf } from '../session/lineEnds.ts';
import { newFileEol } from '../transport/newFileEol.ts';
import { overwriteReal, PlaceChanged } from '../transport/realFiles.ts';
import { whileHeld } from '../transport/replaceFile.ts';
import { pathBelow, realPathNow } from './paths.ts';

/** The most that is read of one file, in bytes. */
export const LARGEST_TEXT = 64 * 1024 * 1024;

// Opening a pipe to read from waits for its writer, and with it one of the few threads that all file work of the process shares.
const READING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The text of a regular file, as UTF-8. On Windows it waits a moment while another program holds the file. Throws for anything else (a pipe or a device
 * may never end), too large or in another encoding, besides the system's own errors.
 */
export function readTextFile(file: string, opening: typeof open = open, retries?: boolean): Promise<string> {
  const read = async (): Promise<string> => {
    const handle = await opening(file, READING);
    try {
      assertReadable(await handle.stat(), file);
      return decoded(await handle.readFile(), file);
    } finally {
      await handle.close();
    }
  };
  return whileHeld(file, read, retries);
}

/** The same, at once and without waiting. */
export function readTextFileSync(file: string): string {
  const descriptor = openSync(file, READING);
  try {
    assertReadable(fstatSync(descriptor), file);
    return decoded(readFileSync(descriptor), file);
  } finally {
    closeSync(descriptor);
  }
}

/** Wrong bytes are not replaced by signs: written back, they would be gone. */
function decoded(bytes: Uint8Array, file: string): string {
  if (!isUtf8(bytes)) throw new Error(`${file} is not a text in UTF-8`);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function assertReadable(found: Stats, file: string): void {
  // A folder has an error of its own.
  if (!found.isFile() && !found.isDirectory()) throw new Error(`${file} is not a regular file`);
  if (found.size > LARGEST_TEXT) throw new Error(`${file} is larger than ${LARGEST_TEXT} bytes`);
}

/**
 * Writes a file and the folders it needs. With `real` it fails when the path leads elsewhere than it did then; no link is followed that comes later.
 * With `from` it rejects with ContentChanged when the file holds another text by now.
 */
export async function writeTextFile(file: string, text: string, real?: string, from?: string): Promise<void> {
  const now = realPathNow(path.resolve(file));
  if (real !== undefined && now !== real) throw new PlaceChanged(file);
  await overwriteReal(now, text, from);
}

/**
 * Writes a text of an agent in the manner of the file it replaces: with its line ends and its byte order mark. A new file below `folder` gets the line
 * ends of the files around it where the agent wrote plain ones. Otherwise as `writeTextFile`.
 */
export async function writeInManner(file: string, text: string, real?: string, folder?: string): Promise<void> {
  const there = await readTextFile(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (there !== undefined) return writeTextFile(file, inMannerOf(text, there), real);
  await writeTextFile(file, (await isNewWithCrlf(file, text, folder)) ? text.replaceAll('\n', '\r\n') : text, real);
}

async function isNewWithCrlf(file: string, text: string, folder: string | undefined): Promise<boolean> {
  if (folder === undefined || text.includes('\r\n')) return false;
  const [target, root] = [realPathNow(path.resolve(file)), realPathNow(folder)];
  return pathBelow(root, target) !== undefined && (await newFileEol(target, root)) === '\r\n';
}
