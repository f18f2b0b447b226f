import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';

/** How long a program may take to say its version, in milliseconds. */
const PATIENCE = 15_000;
const versions = new Map<string, Promise<string | undefined>>();

/** The file a command stands for: itself when it is a path, else the first folder of the PATH that has the program. */
export async function whereIs(command: string, searched: string): Promise<string | undefined> {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  if (path.isAbsolute(command)) return command;
  if (path.basename(command) !== command) return undefined;
  for (const folder of searched.split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue;
    for (const ending of endings) {
      const file = path.join(folder, command + ending);
      const there = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (there) return file;
    }
  }
  return undefined;
}

/** What a program calls its version, asked once; undefined when it does not say. Never rejects. */
export function versionOf(file: string, searched: string): Promise<string | undefined> {
  let version = versions.get(file);
  if (!version) {
    version = new Promise((resolve) => {
      const options = { timeout: PATIENCE, env: { ...process.env, PATH: searched }, shell: /\.(cmd|bat)$/i.test(file), windowsHide: true };
      execFile(file, ['--version'], options, (error, stdout) => resolve(error ? undefined : /\d+\.\d+\.\d+[\w.-]*/.exec(stdout)?.[0]));
    });
    versions.set(file, version);
  }
  return version;
}
