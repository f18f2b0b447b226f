import { access } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Platform } from '../../base/fileName.ts';
import { guardReason } from '../../base/guardedFiles.ts';
import { isMissing, messageOf } from '../../base/log.ts';
import { mergedInto } from '../../session/merge.ts';
import { LinkError } from '../../transport/link.ts';
import { isForeign, keyOfFile, looksOutside, type PathScope, pathBelow, placeOf, platform, realPathNow } from '../paths.ts';
import type { Files } from '../ports.ts';
import { readTextFile } from '../textFile.ts';
import type { AcpFileRequest, EditedFile, FileLook, FileReadReply } from './requests.ts';
import { INTERNAL, INVALID_PARAMS } from './schema.ts';

/** Milliseconds after which a program that writes a file is through with it, or has written more. */
const WRITE_RESTS_MS = 50;
const MOST_TRIES = 10;
/** Files that are read at once: of edits, and for the agent. */
const READ_AT_ONCE = 16;
/** The most texts that are remembered after a read, and the longest one. */
const MOST_TEXTS = 200;
const LONGEST_TEXT = 1024 * 1024;

/** Files as the user has them. It remembers what the agent knows of them, so that a whole text it sends is taken as the change it means. */
export class FilePort {
  readonly #files: Files;
  readonly #system: Platform;
  /** Texts the agent has read or written, by the keys of their real files. */
  readonly #known = new Map<string, string>();
  readonly #edited = new Slots(READ_AT_ONCE);
  readonly #asked = new Slots(READ_AT_ONCE);

  constructor(files: Files, system = platform) {
    this.#files = files;
    this.#system = system;
  }

  async run(args: AcpFileRequest): Promise<unknown> {
    switch (args.do) {
      case 'text':
        return this.#edited.run(() => this.#forEdit(args));
      case 'read':
        return this.#asked.run(() => this.#read(args));
      case 'look':
        return this.#look(args);
      case 'write':
        return this.#write(args);
    }
  }

  async #forEdit({ path: given, roots }: Extract<AcpFileRequest, { do: 'text' }>): Promise<EditedFile> {
    // A relative path counts from the session's folder, as in the title of its edit.
    const file = path.isAbsolute(given) || isForeign(given, roots, this.#system) ? given : path.resolve(roots[0] ?? '', given);
    if (isForeign(file, roots, this.#system)) return { outside: true };
    const outside = await leadsOutside(file, roots);
    try {
      return { text: await this.#files.read(file), outside };
    } catch (error) {
      return isMissing(error) ? { text: null, outside } : { outside };
    }
  }

  async #read({ path: file, line, limit, roots, allowed }: Extract<AcpFileRequest, { do: 'read' }>): Promise<FileReadReply> {
    if (!allowed && isForeign(file, roots, this.#system)) return { outside: path.dirname(path.resolve(file)) };
    const place = await placed(file, roots);
    if (place === 'outside' && !allowed && (await isThere(file))) return { outside: path.dirname(path.resolve(file)) };
    const text = await this.#text(file);
    if (text === null) return { content: null };
    this.#note(keyOfFile(realPathNow(path.resolve(file))), plain(text));
    return { content: slice(text, line ?? undefined, limit ?? undefined) };
  }

  async #look({ path: file, content, roots, refused, allowed = false }: Extract<AcpFileRequest, { do: 'look' }>): Promise<FileLook> {
    const target = path.resolve(file);
    if (!allowed && isForeign(file, roots, this.#system)) return { outside: path.dirname(target) };
    const real = realPathNow(target);
    const place = await placed(file, roots, real);
    const { before, saved } = await this.#texts(target);
    const wanted = before === null ? content : content.replace(/^\uFEFF/, '');
    return {
      place,
      target,
      real,
      evident: place === 'outside' ? looksOutside(target, roots) : roots.some((root) => isBuildFile(root, target, real)),
      before,
      same: before === wanted && saved === plain(wanted),
      // A link to a refused file is the same file.
      refusedPath: refused.find((one) => this.#keyOf(one, roots) === keyOfFile(real)) ?? null,
      merged: before === null ? wanted : this.#merged(real, before, wanted, saved),
    };
  }

  /**
   * The text as the user has it, and as it is saved. They differ where the user has not saved, and for a moment where the agent writes the file itself
   * between the two looks: then both are read again until they rest.
   */
  async #texts(target: string): Promise<{ readonly before: string | null; readonly saved: string | undefined }> {
    let last: { readonly before: string | null; readonly saved: string | undefined } | undefined;
    for (let tries = 1; ; tries += 1) {
      const before = await this.#text(target);
      const saved = await onDisk(target);
      const rests = (last?.before === before && last.saved === saved) || tries === MOST_TRIES;
      if (rests || before === null || plain(before) === saved) return { before, saved };
      last = { before, saved };
      await pause(WRITE_RESTS_MS);
    }
  }

  /** The agent's change, applied to the present text; null when the user has changed the same lines. */
  #merged(real: string, present: string, wanted: string, saved: string | undefined): string | null {
    const [now, then] = [plain(present), plain(wanted)];
    // An agent that reads and writes the disk itself starts from the saved text, unless it has written already.
    const base = this.#known.get(keyOfFile(real)) ?? (saved === then ? undefined : saved);
    if (base === now || (base === undefined && (saved === undefined || saved === now || now === then))) return wanted;
    return base === undefined ? null : (mergedInto(now, base, then) ?? null);
  }

  async #write({ path: file, real, text, from, content }: Extract<AcpFileRequest, { do: 'write' }>): Promise<null> {
    try {
      await this.#files.write(file, text, from ?? undefined, real);
    } catch (error) {
      throw refused(INTERNAL, `Writing ${file} failed: ${messageOf(error)}`);
    }
    this.#note(keyOfFile(real), plain(content));
    return null;
  }

  async #text(target: string): Promise<string | null> {
    try {
      const text = await this.#files.read(target);
      if (text.slice(0, 8192).includes('\0')) throw new Error('this is not a text file');
      return text.startsWith('\uFEFF') ? text.slice(1) : text;
    } catch (error) {
      if (isMissing(error)) return null;
      throw refused(INTERNAL, `Reading ${target} failed: ${messageOf(error)}`);
    }
  }

  /** The key of the real file, as far as it may be looked at. */
  #keyOf(file: string, roots: readonly string[]): string {
    return keyOfFile(isForeign(file, roots, this.#system) ? file : realPathNow(file));
  }

  #note(file: string, text: string): void {
    this.#known.delete(file);
    if (text.length > LONGEST_TEXT) return;
    this.#known.set(file, text);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_TEXTS && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** A file of build tools by the name that is written and by no link: changed all day, so once shown is enough. */
function isBuildFile(root: string, target: string, real: string): boolean {
  const below = pathBelow(root, target);
  return below !== undefined && guardReason(below) === 'build' && below === pathBelow(realPathNow(root), real);
}

export function refused(code: number, message: string): LinkError {
  return new LinkError({ kind: 'refused', code, message });
}

/** Refuses what is no path that could be meant. `real`: where it leads, when that has been found out and is what counts. */
export async function placed(target: string, roots: readonly string[], real?: string): Promise<PathScope> {
  try {
    return await placeOf(target, roots, real);
  } catch (error) {
    throw refused(INVALID_PARAMS, messageOf(error));
  }
}

/** True when the path leads out of the folders in sight, links followed: each approval is looked at for links that do not show. */
async function leadsOutside(file: string, roots: readonly string[]): Promise<boolean> {
  if (!path.isAbsolute(file) || !looksOutside(path.resolve(file), roots)) return false;
  return (await placeOf(file, roots).catch(() => undefined)) === 'outside';
}

/** Whole lines with their ends, from a 1-based line on; past the end there is nothing. */
export function slice(text: string, line: number | undefined, limit: number | undefined): string {
  if (line === undefined && limit === undefined) return text;
  let from = 0;
  for (let skip = Math.max(0, Math.floor(line ?? 1) - 1); skip > 0; skip--) {
    const end = text.indexOf('\n', from);
    if (end < 0) return '';
    from = end + 1;
  }
  if (limit === undefined) return text.slice(from);
  let to = from;
  for (let left = Math.max(0, Math.floor(limit)); left > 0 && to < text.length; left--) {
    const end = text.indexOf('\n', to);
    to = end < 0 ? text.length : end + 1;
  }
  return text.slice(from, to);
}

function isThere(target: string): Promise<boolean> {
  return access(target).then(
    () => true,
    () => false,
  );
}

/** The text that is saved, without its mark and with plain line ends; undefined when there is none. */
function onDisk(target: string): Promise<string | undefined> {
  return readTextFile(target).then(
    (text) => plain(text.replace(/^\uFEFF/, '')),
    () => undefined,
  );
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/**
 * Runs tasks a few at a time, in the order they came, and each of the others in a later turn of the event loop: an agent can ask for thousands of
 * files at once, whose texts would fill the memory and whose ends would come in one turn.
 */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((start) => void this.#waiting.push(start));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) setImmediate(next);
      else this.#free += 1;
    }
  }
}
