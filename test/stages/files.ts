import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Files under a folder of the repository, at any depth, sorted, with forward slashes; none when the folder does not exist. */
export function filesUnder(folder: string, ending: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.posix.join(folder, name.replaceAll('\\', '/')))
    .sort();
}
