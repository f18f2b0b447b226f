import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isWindowsPath } from '../base/fileName.ts';
import { pathOfUri as pathOfFileUri } from '../base/paths.ts';

/** Which side of which diff of an ask or call. */
export interface ContentPlace {
  readonly sessionId: string;
  /** The ask or the call. */
  readonly owner: string;
  readonly at: number;
  readonly side: 'before' | 'after';
}

const SCHEME = 'parley-content:/';

/** The address a client reads one side of a diff by. It ends with the file's name: a client calls the diff by it (ahp.md §6). */
export function contentUri({ sessionId, owner, at, side }: ContentPlace, file: string): string {
  const name = file.split(/[\\/]/).at(-1) || 'file';
  return SCHEME + [sessionId, owner, String(at), side, name].map(encodeURIComponent).join('/');
}

export function contentPlace(uri: string): ContentPlace | undefined {
  if (!uri.startsWith(SCHEME)) return undefined;
  try {
    const [sessionId, owner, at, side] = uri.slice(SCHEME.length).split('/').map(decodeURIComponent);
    if (sessionId === undefined || owner === undefined || (side !== 'before' && side !== 'after')) return undefined;
    return { sessionId, owner, at: Number(at), side };
  } catch {
    return undefined;
  }
}

export function fileUri(file: string): string {
  return path.isAbsolute(file) ? pathToFileURL(file).href : `file:///${file.split(/[\\/]/).map(encodeURIComponent).join('/')}`;
}

/**
 * The path of a file or folder here; undefined for one that lies elsewhere. Attachments come with the address of the window's remote, whose path is
 * one of ours (ahp.md §4).
 */
export function pathOfUri(uri: string): string | undefined {
  const local = uri.replace(/^vscode-remote:\/\/[^/?#]*/i, 'file://');
  const found = pathOfFileUri(local);
  if (found === local) return undefined;
  return isWindowsPath(found) === (process.platform === 'win32') ? found : undefined;
}

export function chatUri(sessionId: string): string {
  return `ahp-chat:/${sessionId}`;
}
