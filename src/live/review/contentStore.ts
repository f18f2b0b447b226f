import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';
import { t } from '../../base/l10n.ts';
import { isMissing, reasonOf, systemCode } from '../../base/log.ts';
import { noHunksWords } from '../../session/fileWords.ts';
import { endsIn } from '../../session/lineEnds.ts';
import { discard, replaceFile } from '../../transport/replaceFile.ts';

const compress = promisify(deflateRaw);
const expand = promisify(inflateRaw);
/** Milliseconds for which an unused content stays: a change set may be about to use it. */
const GRACE = 60 * 60 * 1000;
/** Bytes that are compressed in less time than it takes to hand them to another thread. */
const SMALL = 16 * 1024;
/** Bytes read from a damaged or foreign object at most. */
const LARGEST = 64 * 1024 * 1024;
/** Characters of the system's error about a refused content. */
const LONGEST_REASON = 100;

/** Milliseconds between notes that the state of a change set is in use, while a turn runs. */
export const ALIVE_EVERY = 15_000;

/** Contents of files by the SHA-256 of their bytes, compressed, each once. */
export class ContentStore {
  readonly #folder: string;
  #bytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Resolves with the name of the content. Rejects when the disk refuses. */
  async put(bytes: Uint8Array): Promise<string> {
    const hash = createHash('sha256').update(bytes).digest('hex');
    const file = this.#fileOf(hash);
    if (await this.has(hash)) return hash;
    const fresh = `${file}.${crypto.randomUUID()}.new`;
    try {
      const compressed = bytes.length <= SMALL ? deflateRawSync(bytes, { level: 1 }) : await compress(bytes, { level: 1 });
      const write = () => writeFile(fresh, compressed, { mode: 0o600 });
      await write().catch(async (error: unknown) => {
        if (!isMissing(error)) throw error;
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        await write();
      });
      await replaceFile(fresh, file);
      this.#bytes += compressed.length;
    } catch (error) {
      discard(fresh);
      // Its whole path would be cut where the reason is shown.
      const shown = `…/${path.basename(path.dirname(this.#folder))}/${path.basename(this.#folder)}`;
      throw systemCode(error) === 'ENOTDIR' ? new Error(isFileOrFolderNow(shown, 'file'), { cause: error }) : error;
    }
    return hash;
  }

  async has(hash: string): Promise<boolean> {
    return (await stat(this.#fileOf(hash)).catch(() => undefined)) !== undefined;
  }

  /** undefined when the content is gone or damaged. One that is damaged makes room, so that the same content can be stored again. */
  async get(hash: string): Promise<Buffer | undefined> {
    const stored = await readFile(this.#fileOf(hash)).catch(() => undefined);
    if (!stored) return undefined;
    const bytes = await expand(stored, { maxOutputLength: LARGEST }).catch(() => undefined);
    if (bytes && createHash('sha256').update(bytes).digest('hex') === hash) return bytes;
    discard(this.#fileOf(hash));
    return undefined;
  }

  /** Bytes that all contents took on the disk when unused ones were last removed, with what was put since. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Removes unused contents. Resolves with the bytes that are left. */
  async collect(used: ReadonlySet<string>, now: number): Promise<number> {
    let left = 0;
    for (const folder of await readdir(this.#folder).catch(() => [])) {
      for (const name of await readdir(path.join(this.#folder, folder)).catch(() => [])) {
        const file = path.join(this.#folder, folder, name);
        const found = await stat(file).catch(() => undefined);
        if (!found) continue;
        const isKept = used.has(folder + name) || now - found.mtimeMs < GRACE;
        const isThere = isKept || (await rm(file, { force: true }).catch(() => 'held')) === 'held';
        if (isThere) left += found.size;
      }
    }
    this.#bytes = left;
    return left;
  }

  #fileOf(hash: string): string {
    return path.join(this.#folder, hash.slice(0, 2), hash.slice(2));
  }
}

/** True for a content that is in the store. One that is not stands for one file at one time, and equals no other unless it is a link's. */
export function isKept(content: string): boolean {
  return /^[0-9a-f]{64}$/.test(content);
}

/** The content of a symbolic link: where it leads, as it is written in it. */
export function linkContent(target: string): string {
  return `link ${target}`;
}

/** Where the link leads; undefined for the content of a file. */
export function linkTarget(content: string | null): string | undefined {
  return content?.startsWith('link ') ? content.slice('link '.length) : undefined;
}

/** A file or link can be made of it again. */
export function isRestorable(content: string): boolean {
  return isKept(content) || linkTarget(content) !== undefined;
}

/** Identity of a content that survives a move; for content that is not stored, inode, size and time of the file. */
export function movedKey(content: string): string {
  const [, written, place] = /^unkept (\S+) \S+ (\d+ \d+)(?: .*)?$/.exec(content) ?? [];
  return place === undefined ? content : `${written} ${place}`;
}

/** A content that could not be written, and the system's error. */
export function unkeptFor(error: unknown, stamp: string): string {
  return `unkept ${stamp} ${(reasonOf(error).split('\n')[0] ?? '').slice(0, LONGEST_REASON)}`;
}

/** For the user: the wrong kind of thing stands in a place that is written to. */
export function isFileOrFolderNow(name: string, what: 'file' | 'folder'): string {
  return t('{0} is a {1|file|folder} now. Move it away, then try again.', name, what === 'file' ? 1 : 2);
}

/** A content that was kept, and is not in the store any more. */
export function goneContent(hash: string): string {
  return `unkept ${hash} gone`;
}

/** Stands for the content of a file that the agent wrote before it was read; with the file's stamp if it was listed. */
export function unreadContent(stamp = 'unknown'): string {
  return `unkept ${stamp} unread`;
}

/** Returns the reason why a content could not be stored, or words that it is unknown; undefined when it was stored or never tried. */
export function whyUnkept(content: string | null): string | undefined {
  if (/^unkept \S+ gone$/.test(content ?? '')) return noHunksWords('gone');
  if (/^unkept .+ unread$/.test(content ?? '')) return t('The files before this prompt are not known.');
  return /^unkept \S+ \S+ \d+ \d+ (.+)$/.exec(content ?? '')?.[1];
}

/** The file was larger than what is kept. */
export function isTooLarge(content: string | null): boolean {
  return /^unkept \S+ \S+ \d+ \d+$/.test(content ?? '');
}

/** The text of bytes that are UTF-8 as they are, with its byte order mark; undefined for others. */
export function utf8Text(bytes: Buffer): string | undefined {
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}

/** Returns the text of a file; undefined when it is not text. `encoding`: the editor's encoding of it, by the editor's name. */
export function decoded(bytes: Uint8Array, encoding: string | undefined): string | undefined {
  const mark = [...bytes.subarray(0, 2)].join(' ');
  if (mark === '255 254') return inLabel(bytes, 'utf-16le');
  if (mark === '254 255') return inLabel(bytes, 'utf-16be');
  if (isUtf8(bytes)) return bytes.includes(0) ? undefined : new TextDecoder().decode(bytes);
  const label = encoding === undefined ? undefined : labelOf(encoding);
  const text = label === undefined ? undefined : inLabel(bytes, label);
  return text?.includes('\0') ? undefined : text;
}

/** How a text is written: its encoding, byte order mark and line ends. `encoding` as above. */
export function formOf(bytes: Uint8Array, encoding: string | undefined): string {
  const mark = [...bytes.subarray(0, 3)].join(' ');
  const wide = mark.startsWith('255 254') ? 'UTF-16 LE' : mark.startsWith('254 255') ? 'UTF-16 BE' : undefined;
  const narrow = mark === '239 187 191' ? 'UTF-8 BOM' : isUtf8(bytes) ? 'UTF-8' : (encoding ?? '');
  return [wide ?? narrow, endsIn(decoded(bytes, encoding) ?? '')].filter(Boolean).join(' ');
}

/** The editor's names of encodings are those of the standard without its dashes, for the most part. */
function labelOf(encoding: string): string {
  const others: Readonly<Record<string, string>> = { macroman: 'macintosh', shiftjis: 'shift_jis', eucjp: 'euc-jp', euckr: 'euc-kr' };
  return others[encoding] ?? encoding.replace(/^(iso8859|windows|koi8|utf)(\w+)$/, '$1-$2').replace(/^iso8859-/, 'iso-8859-');
}

function inLabel(bytes: Uint8Array, label: string): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
