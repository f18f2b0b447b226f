import * as fs from 'node:fs';
import path from 'node:path';

/** The file endings that may follow the name of a program. */
export function endingsOf(command: string, onWindows: boolean): readonly string[] {
  if (!onWindows) return [''];
  return /\.(exe|com|cmd|bat)$/i.test(command) ? [''] : ['.exe', '.com', '.cmd', '.bat'];
}

export interface ProgramSearch {
  readonly platform: NodeJS.Platform;
  readonly isFile: (file: string) => boolean;
  /** Undefined where it cannot be read. */
  readonly textOf: (file: string) => string | undefined;
}
const here: ProgramSearch = {
  platform: process.platform,
  isFile: (file) => isProgramFile(file),
  textOf: (file) => {
    try {
      return fs.readFileSync(file, 'utf8');
    } catch {
      return undefined;
    }
  },
};

/**
 * False for what cannot be looked at: the search goes on in the next folder. A program of the Microsoft Store is a link that only Windows itself can
 * follow.
 */
export function isProgramFile(file: string, look: Pick<typeof fs, 'statSync' | 'lstatSync'> = fs): boolean {
  try {
    return look.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    try {
      const itself = look.lstatSync(file);
      return itself.isFile() || itself.isSymbolicLink();
    } catch {
      return false;
    }
  }
}

/** The folders of a PATH; those that count from the working folder are left out. Windows allows quotes around each. */
export function foldersOf(searched: string, platform: NodeJS.Platform = process.platform): readonly string[] {
  if (platform !== 'win32') return searched.split(':').filter((folder) => path.posix.isAbsolute(folder));
  const folders = searched.split(';').map((folder) => folder.replace(/^"(.*)"$/, '$1'));
  return folders.filter((folder) => path.win32.isAbsolute(folder));
}

/**
 * The program that a bare name stands for by the PATH alone. Windows looks into the working folder first, and so do node and cross-spawn there: a
 * project could bring a program of that name. A path, and any name on other systems, stays as it is. Throws with the code ENOENT.
 */
export function programOf(
  command: string,
  env: NodeJS.ProcessEnv,
  { platform, isFile }: Pick<ProgramSearch, 'platform' | 'isFile'> = here,
): string {
  if (platform !== 'win32' || /[\\/:]/.test(command)) return command;
  for (const folder of foldersOf(variableOf(env, 'PATH') ?? '', platform)) {
    // Without an ending: scripts with a first line that names their program.
    for (const ending of new Set([...endingsOf(command, true), ''])) {
      const file = path.win32.join(folder, command + ending);
      if (isFile(file)) return file;
    }
  }
  throw Object.assign(new Error(`spawn ${command} ENOENT`), { code: 'ENOENT', syscall: `spawn ${command}`, path: command });
}

/** The lines of the batch file that npm makes for a script of node, and the one that runs it. */
const SHIM_LINE =
  /^(?:@ECHO off|GOTO start|:find_dp0|SET dp0=%~dp0|EXIT \/b|:start|SETLOCAL|CALL :find_dp0|IF EXIST "%dp0%\\node\.exe" \(|SET "_prog=%dp0%\\node\.exe"|\) ELSE \(|SET "_prog=node"|SET PATHEXT=%PATHEXT:;\.JS;=;%|\))?$/i;
const SHIM_RUN = /^endLocal & goto #_undefined_# 2>NUL \|\| title %COMSPEC% & "%_prog%" +((?:--[\w=.-]+ +)*)"%dp0%\\([^"%]+)" +%\*$/i;
const LONGEST_SHIM = 4096;

/** The script that a batch file of npm runs, below its folder, and node's own flags; undefined when the file does anything else besides. */
function shimOf(text: string): { readonly script: string; readonly flags: readonly string[] } | undefined {
  if (text.length > LONGEST_SHIM) return undefined;
  const others = text.split(/\r?\n/).filter((line) => !SHIM_LINE.test(line.trim()));
  const [, flags = '', script] = SHIM_RUN.exec(others[0]?.trim() ?? '') ?? [];
  return others.length !== 1 || script === undefined ? undefined : { script, flags: flags.split(/ +/).filter(Boolean) };
}

/**
 * The program to start for a command, by `programOf`; where that is a batch file that npm made for a script, node with the script. Then no
 * cmd.exe would be in between: it would refuse network folders, read the arguments, and leave the script running when this process is killed. Throws ENOENT.
 */
export function commandOf(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  search: ProgramSearch = here,
): { readonly file: string; readonly args: readonly string[] } {
  const named = programOf(command, env, search);
  if (search.platform !== 'win32' || !path.win32.isAbsolute(named)) return { file: named, args };
  const file = named + (endingsOf(named, true).find((ending) => search.isFile(named + ending)) ?? '');
  const plain = { file, args };
  const shim = /\.cmd$/i.test(file) ? shimOf(search.textOf(file) ?? '') : undefined;
  if (shim === undefined) return plain;
  const folder = path.win32.dirname(file);
  const beside = path.win32.join(folder, 'node.exe');
  try {
    const node = search.isFile(beside) ? beside : programOf('node.exe', env, search);
    return { file: node, args: [...shim.flags, path.win32.join(folder, shim.script), ...args] };
  } catch {
    return plain;
  }
}

/**
 * The folder to start a program in, or a line for the shell (`file` undefined). Throws for a network folder where cmd.exe would run it: it cannot, and
 * takes the Windows folder in its place.
 */
export function workingFolder(file: string | undefined, cwd: string, platform: NodeJS.Platform = process.platform): string {
  const folder = plainFolder(cwd, platform);
  if (platform !== 'win32' || !/^[\\/]{2}(?![?.][\\/](?!UNC[\\/]))/i.test(folder) || (file !== undefined && /\.(?:exe|com)$/i.test(file)))
    return folder;
  throw new Error(`cmd.exe does not run in the network folder ${cwd}. Give the folder a drive letter (net use).`);
}

/** The folder without `\\?\` before its drive, which cmd.exe takes for a network folder. */
export function plainFolder(cwd: string, platform: NodeJS.Platform = process.platform): string {
  return platform === 'win32' ? cwd.replace(/^[\\/](?:[\\/][?.]|\?\?)[\\/](?=[A-Za-z]:[\\/])/, '') : cwd;
}

/**
 * A line for the shell of the system. Programs print in the code page of their console, by default that of the country: cmd.exe sets UTF-8 first. Not for
 * another shell in its place (`COMSPEC`).
 */
export function lineInUtf8(line: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  if (platform !== 'win32' || !/(?:^|[\\/])cmd(?:\.exe)?$/i.test(variableOf(env, 'COMSPEC') ?? 'cmd.exe')) return line;
  return `"${systemProgram('chcp.com', { platform })}" 65001 >nul 2>nul & ${line}`;
}

/** A program that comes with Windows; elsewhere the name. */
export function systemProgram(below: string, { platform }: Pick<ProgramSearch, 'platform'> = here): string {
  if (platform !== 'win32') return path.win32.basename(below, '.exe');
  return path.win32.join(variableOf(process.env, 'SystemRoot') ?? 'C:\\Windows', 'System32', below);
}

/** Names of variables have no case on Windows. */
export function variableOf(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name.toUpperCase())?.[1];
}
