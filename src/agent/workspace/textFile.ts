import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isMissing } from '../../base/log.ts';
import { openReal, writeReal } from '../../transport/realFiles.ts';
import { toldFailure } from '../tools/tool.ts';
import type { TextFile, TextFiles } from './textFiles.ts';

/** The files of the disk. */
export const diskFiles: TextFiles = {
  read: (place, name) => readTextFile(place.real, name),
  write: (place, text, like) => writeReal(place.real, encodeText(text, like)),
};

const LARGEST = 20 * 1024 * 1024;

/** Undefined when there is no such file. Throws ToolFailure for folders, binary and very large files, with what to do instead. */
export async function readTextFile(real: string, name: string): Promise<TextFile | undefined> {
  let bytes: Buffer;
  try {
    if (!(await isReadable(real, name))) return undefined;
    const handle = await openReal(real);
    try {
      assertReadable(await handle.stat(), name);
      bytes = await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  if (isBinary(bytes))
    throw toldFailure(`${name} is a binary file (${bytes.length} bytes).`, `${name} 是二进制文件（${bytes.length} 字节）。`);
  return decodeText(bytes);
}

/** False when nothing is there; throws ToolFailure when it is nothing to read as a text. */
export async function isReadable(real: string, name: string): Promise<boolean> {
  try {
    assertReadable(await stat(real), name);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function assertReadable(info: Stats, name: string): void {
  if (info.isDirectory()) throw toldFailure(`${name} is a directory. Use ListDirectory.`, `${name} 是文件夹。`);
  if (!info.isFile()) throw toldFailure(`${name} is not a regular file.`, `${name} 不是普通文件。`);
  const megabytes = Math.round(info.size / 1024 / 1024);
  if (info.size > LARGEST)
    throw toldFailure(
      `${name} is ${megabytes} MB, too large to read whole. Use Grep or Shell.`,
      `${name} 为 ${megabytes} MB，太大，无法整体读取。`,
    );
}

/** A NUL in the first 8 KiB, or bytes that are not UTF-8, mean binary. */
export function isBinary(bytes: Uint8Array): boolean {
  if (bytes.subarray(0, 8192).includes(0)) return true;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return false;
  } catch {
    return true;
  }
}

export function decodeText(bytes: Buffer): TextFile {
  return textFileOf(bytes.toString('utf8'));
}

export function textFileOf(whole: string): TextFile {
  const bom = whole.startsWith('\uFEFF');
  const raw = bom ? whole.slice(1) : whole;
  const crlf = raw.split('\r\n').length - 1;
  const eol = crlf > 0 && crlf === raw.split('\n').length - 1 ? '\r\n' : '\n';
  return { text: eol === '\r\n' ? raw.replaceAll('\r\n', '\n') : raw, eol, bom };
}

/** The bytes of a text, in the manner of the file it replaces. */
export function encodeText(text: string, like: Pick<TextFile, 'eol' | 'bom'>): string {
  const lines = like.eol === '\r\n' ? text.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n') : text;
  return like.bom && !lines.startsWith('\uFEFF') ? `\uFEFF${lines}` : lines;
}
