import { pathOfUri, REMOTE } from '../src/base/paths.ts';
import type { Content } from '../src/session/model.ts';

/** Largest accepted picture, in bytes. */
export const LARGEST_PICTURE = 8 * 1024 * 1024;
const LARGEST_TEXT = 256 * 1024;

/** The files dropped from the editor's explorer or tabs. */
export function droppedPaths(data: DataTransfer): readonly Content[] {
  const lists = ['application/vnd.code.uri-list', 'text/uri-list'].map((type) => data.getData(type));
  const list = lists.find((text) => text !== '') ?? '';
  return list.split(/\r?\n/).flatMap((line): Content[] => {
    const path = line.startsWith('#') ? undefined : pathOf(line.trim());
    return path === undefined ? [] : [{ type: 'file', path }];
  });
}

function pathOf(uri: string): string | undefined {
  const local = uri.replace(REMOTE, 'file://');
  const path = pathOfUri(local);
  return path === local ? undefined : path;
}

/** The content of a picture, when the agent supports them, or of a small text file; undefined for other files. */
export async function contentOf(file: File, images: boolean): Promise<Content | undefined> {
  if (file.type.startsWith('image/')) {
    if (!images || file.size > LARGEST_PICTURE) return undefined;
    return { type: 'image', mime: file.type, data: base64(new Uint8Array(await file.arrayBuffer())) };
  }
  if (file.size > LARGEST_TEXT) return undefined;
  const text = await file.text();
  return text.includes('\0') ? undefined : { type: 'file', path: file.name, text };
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}
