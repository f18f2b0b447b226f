import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import crossSpawn from 'cross-spawn';
import { mergeEnvironment } from './process.ts';
import { commandOf, endingsOf, foldersOf } from './programFile.ts';

/** How long a program may take to say its version, in milliseconds. */
const PATIENCE = 15_000;
/** Characters of its output that are looked at. */
const MOST_PRINTED = 10_000;
const versions = new Map<string, Promise<string | undefined>>();

/** The file that a command runs: itself when it is a path, else the first folder of the PATH that has the program. */
export async function whereIs(command: string, searched: string): Promise<string | undefined> {
  const endings = endingsOf(command, process.platform === 'win32');
  if (path.isAbsolute(command)) return command;
  if (path.basename(command) !== command) return undefined;
  for (const folder of foldersOf(searched)) {
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

/** The version that a program reports, asked once; undefined when it reports none. Never rejects. */
export function versionOf(file: string, searched: string): Promise<string | undefined> {
  let version = versions.get(file);
  if (!version) {
    version = new Promise((resolve) => {
      const env = mergeEnvironment({ ...process.env }, { PATH: searched }, process.platform === 'win32');
      const program = commandOf(file, ['--version'], env);
      // cross-spawn quotes the path of a .cmd file, which may have blanks.
      const child = crossSpawn(program.file, [...program.args], {
        timeout: PATIENCE,
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
        windowsHide: true,
      });
      let printed = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        if (printed.length < MOST_PRINTED) printed += chunk.toString('utf8');
      });
      child.once('error', () => resolve(undefined));
      child.once('close', (code) => resolve(code === 0 ? /\d{1,9}\.\d{1,9}\.\d{1,9}(?:[\w.-]{0,40}\w)?/.exec(printed)?.[0] : undefined));
    });
    versions.set(file, version);
  }
  return version;
}
