/* Paths of the machine that a text says it is from, without node:path: state machines run where nothing of the machine is known. */

const isWindows = (path: string): boolean => /^[A-Za-z]:[\\/]|^\\\\/.test(path);

export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/') || isWindows(path);
}

/** node:path's `resolve` for two paths; `from` is absolute, and its style is that of the result. */
export function resolvePath(from: string, to: string): string {
  const windows = isWindows(from);
  const [separator, drive] = windows ? ['\\', from.slice(0, 2)] : ['/', ''];
  const isRooted = /^[\\/]/.test(windows ? to : to.slice(0, 1).replace('\\', ''));
  const whole = isAbsolutePath(to) && windows === isWindows(to) ? to : isRooted ? `${drive}${to}` : `${from}${separator}${to}`;
  const parts: string[] = [];
  for (const part of whole.split(windows ? /[\\/]/ : '/')) {
    if (part === '..') {
      if (!windows || parts.length > 1) parts.pop();
    } else if (part !== '.' && part !== '') parts.push(part);
  }
  if (!windows) return `/${parts.join('/')}`;
  return `${whole.startsWith('\\\\') ? '\\\\' : ''}${parts.join('\\')}${parts.length === 1 ? '\\' : ''}`;
}

/** The way from a folder to something in it, '' for the folder itself; undefined when the target is elsewhere. Both are absolute. */
export function pathInside(folder: string, target: string): string | undefined {
  const windows = isWindows(folder);
  const plain = (path: string) => (windows ? path.replaceAll('/', '\\').toLowerCase() : path).replace(/[\\/]+$/, '');
  const [from, to] = [plain(folder), plain(target)];
  if (to === from) return '';
  return to.startsWith(`${from}${windows ? '\\' : '/'}`) ? target.slice(from.length + 1) : undefined;
}
