import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { foldersOf, systemProgram, variableOf } from '../../transport/programFile.ts';
import { argumentsFor, type ShellKind } from '../../transport/shellLine.ts';

/** The shell that runs command lines, and its description for the model. */
export interface ShellProgram {
  readonly file: string;
  readonly kind: ShellKind;
  /** For the model: name and syntax. */
  readonly description: string;
}
export interface ShellSearch {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly exists: (file: string) => boolean;
}

/**
 * On Windows PowerShell 7, else Git Bash, else Windows PowerShell, which knows no `&&` and reduces exit codes to 0 and 1. Elsewhere the user's
 * shell when it is a Bourne shell, else /bin/sh.
 */
export function findShell({ platform, env, exists }: ShellSearch): ShellProgram {
  if (platform !== 'win32') {
    const shell = env.SHELL;
    const file = shell !== undefined && /\/(ba|z|da|k)?sh$/.test(shell) ? shell : '/bin/sh';
    return { file, kind: 'posix', description: file };
  }
  const variable = (name: string) => variableOf(env, name);
  const folders = foldersOf(variable('PATH') ?? '', 'win32');
  const programs = [variable('PROGRAMFILES'), variable('PROGRAMW6432')].filter((folder) => folder !== undefined);
  const pwsh = [
    ...folders.map((folder) => path.win32.join(folder, 'pwsh.exe')),
    ...programs.map((folder) => path.win32.join(folder, 'PowerShell', '7', 'pwsh.exe')),
  ].find(exists);
  if (pwsh !== undefined) return { file: pwsh, kind: 'pwsh', description: 'PowerShell 7 (pwsh); && and || work' };
  const [local, user] = [variable('LOCALAPPDATA'), variable('USERPROFILE')];
  const homes = [
    ...programs.map((folder) => path.win32.join(folder, 'Git')),
    ...(local === undefined ? [] : [path.win32.join(local, 'Programs', 'Git')]),
    ...(user === undefined ? [] : [path.win32.join(user, 'scoop', 'apps', 'git', 'current')]),
  ];
  // Not bash.exe of the PATH: in System32 that is WSL, which sees other paths.
  const ofGit = folders.filter((folder) => exists(path.win32.join(folder, 'git.exe')));
  // In cmd or bin of its folder, or in mingw64\bin.
  const besideGit = ofGit.flatMap((folder) => [path.win32.dirname(folder), path.win32.dirname(path.win32.dirname(folder))]);
  const bash = [...homes, ...besideGit].map((home) => path.win32.join(home, 'bin', 'bash.exe')).find(exists);
  if (bash !== undefined) return { file: bash, kind: 'gitBash', description: 'Git Bash; POSIX syntax, Windows programs' };
  const system = path.win32.join(variable('SYSTEMROOT') ?? 'C:\\Windows', 'System32');
  const file = path.win32.join(system, 'WindowsPowerShell', 'v1.0', 'powershell.exe');
  return { file, kind: 'powershell', description: 'Windows PowerShell 5.1; no && or ||, use ; and if ($?)' };
}

/** The arguments that make the shell run one command line. */
export function shellArguments({ kind }: Pick<ShellProgram, 'kind'>, command: string): string[] {
  return argumentsFor(kind, command, systemProgram('chcp.com'));
}

let found: ShellProgram | undefined;

/** The shell of this computer, searched once. */
export function shellProgram(): ShellProgram {
  found ??= findShell({ platform: process.platform, env: process.env, exists: isExecutable });
  return found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
