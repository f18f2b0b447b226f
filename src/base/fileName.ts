/** The rules by which a system reads file names. */
export type Platform = 'win32' | 'darwin' | 'posix';

/** Characters that a reader does not see and that some file systems leave out of names; controls among them. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u1680\u2800]/gu;
/** Names that Windows takes for a device in every folder, whatever follows the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])$/;

/**
 * One key for all spellings of an absolute path, to compare files by and to keep them under; never to open one. Folds case where the system does,
 * resolves `.` and `..`, and takes away what Windows ignores (trailing dots and blanks, `\\?\`, the name of the main data stream) and what macOS
 * links (`/private`, the data volume). Short names (`PROGRA~1`) stay: only the disk knows them.
 */
export function fileKey(file: string, platform: Platform): string {
  // As Unicode compares without case: letters and their marks apart, one of which may get another case.
  return platform === 'darwin' ? folded(plainKey(file).normalize('NFD'), foldOnMac).normalize('NFC') : permitKey(file, platform);
}

/**
 * As `fileKey`, for what a permission covers: on macOS `straße` and `strasse` differ, because a disk that was not formatted as APFS, or with case, keeps
 * both, and what the user allows for one must not reach the other.
 */
export function permitKey(file: string, platform: Platform): string {
  if (platform === 'win32') return windowsKey(file);
  return platform === 'darwin' ? folded(plainKey(file).normalize('NFC'), foldSimply) : posixKey(file);
}

function posixKey(file: string): string {
  return `/${resolved(file.split('/')).join('/')}`;
}

function plainKey(file: string): string {
  return withoutLinks(posixKey(file));
}

/**
 * The texts that one folder may have been kept under, without doubles: its key first, then the text as it is, and with either case of its drive's
 * letter, which editors and shells write differently.
 */
export function keptNames(folder: string, platform: Platform): readonly string[] {
  const drive = platform === 'win32' && /^[A-Za-z]:/.test(folder);
  const byDrive = drive ? [folder.charAt(0).toLowerCase(), folder.charAt(0).toUpperCase()].map((letter) => letter + folder.slice(1)) : [];
  return [...new Set([fileKey(folder, platform), folder, ...byDrive])];
}

/** True for a path that reads as one of Windows: with a drive or a share. */
export function isWindowsPath(path: string): boolean {
  return /^[A-Za-z]:[\\/]|^\\\\/.test(path);
}

/** True for two spellings of one absolute path. Compares texts first: long lists are searched by this. */
export function isSameName(one: string, other: string, platform: Platform): boolean {
  if (one === other) return true;
  // Where neither is written in a roundabout way, folding changes no length.
  if (platform !== 'darwin' && (platform === 'posix' || one.length !== other.length) && isPlain(one, platform) && isPlain(other, platform))
    return false;
  return fileKey(one, platform) === fileKey(other, platform);
}

/** True for a path in which the key leaves nothing out but case. */
function isPlain(path: string, platform: Platform): boolean {
  return platform === 'win32' ? !/\/|\\\\|[. ](?:\\|$)|.\\$|::/.test(path) : !/\/\/|\/\.{1,2}(?:\/|$)|.\/$/.test(path);
}

/** The system that a path is of, as far as its text tells: only macOS has these folders. */
export function writtenPlatform(path: string): Platform {
  if (isWindowsPath(path)) return 'win32';
  return /^\/(?:Users|Volumes|private|System\/Volumes)\//.test(path) ? 'darwin' : 'posix';
}

/**
 * The way from a folder to a file in it with forward slashes, '' for the folder itself; undefined when the file is elsewhere. Case is kept. Compares
 * as permissions do, which end at the folder.
 */
export function pathBelowFolder(folder: string, file: string, platform: Platform): string | undefined {
  const root = rootKey(folder, platform);
  const key = permitKey(file, platform);
  const prefix = root.endsWith('/') ? root : `${root}/`;
  if (key === root) return '';
  if (!key.startsWith(prefix)) return undefined;
  const depth = key.slice(prefix.length).split('/').length;
  const names = resolved(platform === 'win32' ? withoutDevicePrefix(file).split('/') : file.split('/'));
  return names.slice(-depth).join('/');
}

/** The key of the folder that was asked about last: thousands of files are compared with one. */
let lastRoot: { readonly folder: string; readonly platform: Platform; readonly key: string } | undefined;
function rootKey(folder: string, platform: Platform): string {
  if (lastRoot?.folder !== folder || lastRoot.platform !== platform) lastRoot = { folder, platform, key: permitKey(folder, platform) };
  return lastRoot.key;
}

/** True for a path in a network folder, or of a device, that none of these folders is in: it is not looked at before somebody has allowed that. */
export function isOnOtherServer(target: string, folders: readonly string[], platform: Platform): boolean {
  const share = shareOf(target, platform);
  return share !== undefined && folders.every((folder) => shareOf(folder, platform) !== share);
}

/**
 * The network folder (`//server/share`) or the device that a path of Windows is in; undefined for a path on a drive. To look at one, Windows connects
 * to the server, tells it who the user is, and may wait for half a minute.
 */
function shareOf(file: string, platform: Platform): string | undefined {
  if (platform !== 'win32' || !/^[\\/](?:[\\/]|\?\?[\\/])/.test(file)) return undefined;
  // Behind a device prefix the drive is a name that `..` takes away: \\?\C:\..\UNC\server leads to a server.
  if (/^[\\/](?:[\\/][?.]|\?\?)[\\/]/.test(file) && file.split(/[\\/]/).some((name) => name !== '.' && /^[. ]+$/.test(name))) return file;
  const key = fileKey(file, platform);
  return /^[a-z]:/.test(key) ? undefined : key.split('/', 4).join('/');
}

/** A name folded as broadly as the broadest system folds it: case, compatibility forms, invisible characters, trailing dots and blanks. */
export function foldName(name: string): string {
  const plain = name.normalize('NFKC').replace(INVISIBLE, '');
  return trimmedEnd(folded(plain, foldFully).normalize('NFKC'));
}

/**
 * True for a name that some system takes for another one than it reads: a stream (`a::$DATA`), a short name (`GIT~1`), a device (`aux.c`), dots or
 * blanks at the end, characters that do not show.
 */
export function isDeceptiveName(name: string): boolean {
  if (name === '.' || name === '..') return false;
  if (/[:\0]|~\d/.test(name) || trimmedEnd(name) !== name) return true;
  INVISIBLE.lastIndex = 0;
  if (INVISIBLE.test(name.replace(/(?<=\p{Extended_Pictographic})\ufe0f/gu, ''))) return true;
  const [beforeDot = ''] = foldName(name).split('.', 1);
  return DEVICE.test(trimmedEnd(beforeDot));
}

function windowsKey(file: string): string {
  const plain = withoutDevicePrefix(file);
  const share = plain.startsWith('//');
  // As on Windows, `..` never leaves the drive or the network folder.
  const names = resolved(plain.split('/'), share ? 2 : /^[a-z]:/i.test(plain) ? 1 : 0).map((name) =>
    trimmedEnd(name.replace(/(?<=.)::\$data$/i, '')),
  );
  return folded(`${share ? '//' : ''}${names.join('/')}`, foldOnWindows);
}

/** The path with forward slashes, and as `C:/a` or `//server/share/a` where it was written another way. */
function withoutDevicePrefix(file: string): string {
  const plain = file.replaceAll('\\', '/').replace(/^\/(?:\/[?.]|\?\?)\/(?:UNC\/)?/i, (prefix) => (/unc/i.test(prefix) ? '//' : ''));
  // As in the path of a file: address.
  return plain.replace(/^\/(?=[A-Za-z]:)/, '');
}

/** macOS has two ways to these folders, of its data volume and of `/private`; programs name a file by either. */
function withoutLinks(path: string): string {
  return path
    .replace(/^\/System\/Volumes\/Data(?=\/(?:Users|Applications|Library|Volumes|private|opt|cores|home|usr\/local)(?:\/|$))/i, '')
    .replace(/^\/private(?=\/(?:tmp|var|etc)(?:\/|$))/i, '');
}

/** The names of a path without empty ones, `.` and `..`. `..` does not remove the first `kept` of them. */
function resolved(names: readonly string[], kept = 0): readonly string[] {
  const all: string[] = [];
  for (const name of names) {
    if (name === '..') all.length -= all.length > kept ? 1 : 0;
    else if (name !== '' && name !== '.') all.push(name);
  }
  return all;
}

/** Character by character, as file systems do it. */
function folded(text: string, foldOf: (character: string) => string): string {
  // Of these letters every system folds the same; most names have no others.
  if (ONLY_ASCII.test(text)) return text.toLowerCase();
  let all = '';
  for (const character of text) all += foldOf(character);
  return all;
}

const ONLY_ASCII = /^[\0-\x7f]*$/;

/** By the full case folding of Unicode, and `ı` with `i`. Small letters come first: only `ß` has the capital SS, `ẞ` is its own. */
function foldFully(character: string): string {
  return character.toLowerCase().toUpperCase().toLowerCase();
}

/** As NTFS does it: only pairs of a small and a capital letter, so that `ı`, `ſ` and the Kelvin sign are letters of their own. */
function foldOnWindows(character: string): string {
  const lower = character.toLowerCase();
  return character.length === 1 && lower.length === 1 && lower.toUpperCase() === character ? lower : character;
}

/** As APFS does it, by the full case folding of Unicode. `ı` has no other case there. */
function foldOnMac(character: string): string {
  return character === 'ı' ? character : foldFully(character);
}

/** By the case folding of Unicode without what makes one letter two. */
function foldSimply(character: string): string {
  const upper = character.toUpperCase();
  const lower = (upper.length === character.length ? upper : character).toLowerCase();
  return lower.length === character.length && character !== 'ı' ? lower : character;
}

/** The name without dots and blanks at its end; a loop, because an expression would try every run of them. */
function trimmedEnd(name: string): string {
  let end = name.length;
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end -= 1;
  return end === 0 ? name : name.slice(0, end);
}
