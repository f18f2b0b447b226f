import { statSync } from 'node:fs';
import path from 'node:path';

/** What may follow the name of a program in its file. */
export function endingsOf(command: string, onWindows: boolean): readonly string[] {
  if (!onWindows) return [''];
  return /\.(exe|com|cmd|bat)$/i.test(command) ? [''] : ['.exe', '.com', '.cmd', '.bat'];
}

export interface ProgramSearch {
  readonly platform: NodeJS.Platform;
  readonly isFile: (file: string) => boolean;
}
const here: ProgramSearch = {
  platform: process.platform,
  isFile: (file) => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false,
};

/**
 * The program that a bare name stands for by the PATH alone. Windows looks into the working folder first, and so do node and cross-spawn there: a
 * project could bring a program of that name. A path, and any name on other systems, stays as it is. Throws with the code ENOENT.
 */
export function programOf(command: string, env: NodeJS.ProcessEnv, { platform, isFile }: ProgramSearch = here): string {
  if (platform !== 'win32' || /[\\/:]/.test(command)) return command;
  const folders = (variableOf(env, 'PATH') ?? '').split(';').map((folder) => folder.replace(/^"(.*)"$/, '$1'));
  for (const folder of folders.filter((one) => path.win32.isAbsolute(one))) {
    // Without an ending: scripts with a first line that names their program.
    for (const ending of new Set([...endingsOf(command, true), ''])) {
      const file = path.win32.join(folder, command + ending);
      if (isFile(file)) return file;
    }
  }
  throw Object.assign(new Error(`spawn ${command} ENOENT`), { code: 'ENOENT', syscall: `spawn ${command}`, path: command });
}

/** A program that comes with Windows; elsewhere the name. */
export function systemProgram(below: string, { platform }: Pick<ProgramSearch, 'platform'> = here): string {
  if (platform !== 'win32') return path.win32.basename(below, '.exe');
  return path.win32.join(variableOf(process.env, 'SystemRoot') ?? 'C:\\Windows', 'System32', below);
}

/** Names of variables have no case on Windows. */
export function variableOf(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name.toUpperCase())?.[1];
}
