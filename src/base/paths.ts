import { fileKey, isWindowsPath, pathBelowFolder, permitKey, writtenPlatform } from './fileName.ts';

/* Paths as text, for code that must not depend on the machine it runs on. A path that begins with a drive or a share is a Windows path. */

export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/') || isWindowsPath(path);
}

/** Like `path.resolve` of two arguments, the first of them absolute. */
export function resolvePath(from: string, to: string): string {
  if (isWindowsPath(from)) return resolveWindows(from, asWindowsPath(from, to));
  if (isWindowsPath(to)) return resolveWindows(from, to);
  return `/${normalize((to.startsWith('/') ? to : `${from}/${to}`).split('/')).join('/')}`;
}
/** Paths with a drive or a share, which only Windows knows: `//server/share`, `/c:/a` of an address, `c:a` in the current folder of a drive. */
function asWindowsPath(from: string, to: string): string {
  if (/^\/\/[^/]/.test(to)) return to.replaceAll('/', '\\');
  if (/^\/[A-Za-z]:\//.test(to)) return to.slice(1);
  const [drive] = /^[A-Za-z]:(?![\\/])/.exec(to) ?? [];
  if (drive === undefined) return to;
  const rest = to.slice(drive.length);
  return drive.toLowerCase() === from.slice(0, 2).toLowerCase() ? rest : `${drive}\\${rest}`;
}
function resolveWindows(from: string, to: string): string {
  const root = /^[A-Za-z]:|^[\\/]{2}[^\\/]+[\\/][^\\/]+/.exec(isWindowsPath(to) ? to : from)?.[0] ?? '';
  const rest = isWindowsPath(to) ? to.slice(root.length) : /^[\\/]/.test(to) ? to : `${from.slice(root.length)}\\${to}`;
  return `${root.replaceAll('/', '\\')}\\${normalize(rest.split(/[\\/]/)).join('\\')}`;
}
function normalize(parts: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === '..') kept.pop();
    else if (part !== '.' && part !== '') kept.push(part);
  }
  return kept;
}

/**
 * The way from a folder to something in it, '' for the folder itself; undefined when the target is elsewhere. The folder is absolute, a relative
 * target counts from it. Windows paths get backslashes.
 */
export function pathInside(folder: string, target: string): string | undefined {
  const platform = writtenPlatform(folder);
  const below = pathBelowFolder(folder, resolvePath(folder, target), platform);
  return platform === 'win32' ? below?.replaceAll('/', '\\') : below;
}
/** Begins the address of a file in a remote window (WSL, SSH, a container, a served one), whose path is one of that side. */
export const REMOTE = /^vscode-remote:\/\/[^/?#]*/i;

/** The path of a `file:` URI, or the text itself when it is not such a URI. Drive letters and hosts make Windows paths. */
export function pathOfUri(uri: string): string {
  const [, server = '', encoded] = /^file:(?:\/\/([^/?#]*))?(\/[^?#]*)/i.exec(uri) ?? [];
  if (encoded === undefined || /%2f/i.test(encoded)) return uri;
  const path = decodedUri(encoded);
  // The editor writes \\wsl$ as wsl%24.
  const host = decodedUri(server);
  if (path === undefined || host === undefined || /[\\/]/.test(host)) return uri;
  if (/^\/[A-Za-z]:([\\/]|$)/.test(path)) return path.slice(1).replaceAll('/', '\\');
  // Many programs write two slashes in place of three.
  if (/^[A-Za-z]:$/.test(host)) return `${host}${path.replaceAll('/', '\\')}`;
  return host === '' || host === 'localhost' ? path : `\\\\${host}${path.replaceAll('/', '\\')}`;
}

/** The path that an agent means, also where it wrote the address of a file: `file:///c%3A/a`, `/c:/a`. */
export function namedPath(text: string): string {
  const path = /^file:/i.test(text) ? pathOfUri(text) : text;
  return /^\/[A-Za-z]:\//.test(path) ? path.slice(1).replaceAll('/', '\\') : path;
}

/** The key of a path whose system is unknown. For lists and for grouping, not for decisions. */
export function writtenKey(text: string): string {
  const path = namedPath(text);
  const platform = writtenPlatform(path);
  return platform === 'posix' ? path : fileKey(path, platform);
}

/** As `writtenKey`, for what a permission covers. */
export function writtenPermitKey(text: string): string {
  const path = namedPath(text);
  const platform = writtenPlatform(path);
  return platform === 'posix' ? path : permitKey(path, platform);
}

/** The text without percent-encoding; undefined where that spells no text. */
export function decodedUri(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The `file:` URI of an absolute path; `untitled:`, as the editor has it, for the name of a text that is no file. */
export function uriOfPath(given: string): string {
  if (!isAbsolutePath(given)) return `untitled:${encodeURIComponent(given)}`;
  const path = given.replace(/^\\\\\?\\(?:(UNC)(?=\\)|(?=[A-Za-z]:))/i, (_, unc) => (unc ? '\\' : ''));
  const encoded = (text: string) => encodeURI(text.replaceAll('\\', '/')).replaceAll('?', '%3F').replaceAll('#', '%23');
  if (path.startsWith('\\\\')) return `file:${encoded(path)}`;
  return isWindowsPath(path)
    ? `file:///${path.slice(0, 2)}${encoded(path.slice(2))}`
    : `file://${encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23')}`;
}
