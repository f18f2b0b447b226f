import { decodedUri, pathOfUri } from '../src/base/paths.ts';

/** Where a link in an agent's text may lead. Anything else stays text. */
export type Target =
  | { readonly kind: 'web'; readonly uri: string }
  | { readonly kind: 'file'; readonly path: string; readonly line?: number; readonly column?: number };

const LONGEST = 4096;

/** http(s), mailto and paths of files are links; every other scheme, fragments and empty addresses are not. */
export function targetOf(href: string): Target | undefined {
  const address = href.trim();
  if (address === '' || address.length > LONGEST || address.startsWith('#') || address.startsWith('//')) return undefined;
  if (/^(?:https?:\/\/|mailto:)/i.test(address)) return { kind: 'web', uri: address };
  if (/^file:/i.test(address)) {
    const [uri = '', fragment] = address.split('#', 2);
    const path = pathOfUri(uri);
    return path === uri ? undefined : fileTarget(fragment === undefined ? path : `${path}#${fragment}`);
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) && !/^[a-z]:(?:[\\/]|%5c)/i.test(address) && !/^[^/\\:]*\.\w+:\d+(?::\d+)?$/.test(address))
    return undefined;
  // The longest form of a Windows path.
  return fileTarget((decodedUri(address) ?? address).replace(/^\\\\\?\\(?=[a-z]:)/i, ''));
}

/** `src/a.ts`, `src/a.ts:12`, `src/a.ts:12:5`, `a.ts(12,5)`, `a.ts#L12`, `a.ts#L12-L20`; absolute or relative to the workspace. */
function fileTarget(address: string): Target | undefined {
  const found = /^(.+?)(?:#L?(\d+)(?:[-:,].*)?|:(\d+)(?::(\d+))?(?:[:-]\d+)*|(?<=\.\w{1,8})\((\d+)(?:,(\d+))?(?:,\d+)*\))?$/.exec(address);
  const path = found?.[1]?.split('?')[0];
  if (!path || /\p{Cc}/u.test(path)) return undefined;
  const line = Number(found?.[2] ?? found?.[3] ?? found?.[5] ?? 0);
  const column = Number(found?.[4] ?? found?.[6] ?? 0);
  return { kind: 'file', path, ...(line > 0 ? { line, ...(column > 0 ? { column } : {}) } : {}) };
}

/** The part after a path: a line, a column, a range. */
const PLACE = String.raw`:\d+(?:[:-]\d+)*|#L\d+(?:-L?\d+)?|\(\d+(?:,\d+)*\)`;
const NAME = String.raw`[\p{L}\p{M}\p{N}_@.+-]`;
const IN_FOLDER = new RegExp(
  String.raw`^(?:[a-z]:[\\/](?:${NAME}+[\\/])*|(?:~?\.{0,2}/|\.{1,2}\\)?(?:${NAME}+[\\/])+)${NAME}*\.\w{1,8}(?:${PLACE})?$`,
  'iu',
);
const WITH_LINE = new RegExp(String.raw`^${NAME}+\.[a-z]\w{0,7}(?:${PLACE})$`, 'iu');

/**
 * The target of inline code that looks like a path: it is the address of a file, has a folder and an extension, or an extension and a line. No network
 * folders: a look there tells their server who the user is.
 */
export function pathInCode(text: string): Target | undefined {
  if (text.length > 200) return undefined;
  const target = /^file:/i.test(text) ? targetOf(text) : IN_FOLDER.test(text) || WITH_LINE.test(text) ? fileTarget(text) : undefined;
  return target?.kind === 'file' && !/^[\\/]{2}/.test(target.path) ? target : undefined;
}

/** The absolute path that the host expects; a relative one is joined to the session's folder. */
export function absolute(path: string, cwd: string): string {
  if (/^(?:[a-z]:)?[\\/]/i.test(path)) return path;
  const separator = cwd.includes('\\') && !cwd.includes('/') ? '\\' : '/';
  const tail = path.replace(/^\.[\\/]/, '');
  return cwd === '' ? tail : `${cwd.replace(/[\\/]$/, '')}${separator}${tail}`;
}
