import { lstat, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { codeOf, insideOnly, shortPath, type Workspace } from '../workspace/paths.ts';
import { ignoredIn } from '../workspace/walk.ts';
import { permitRead } from './permit.ts';
import { defineTool, done, ToolFailure } from './tool.ts';

const MOST = 500;

export const listDirectoryTool = defineTool({
  name: 'ListDirectory',
  description:
    'List the entries of one folder: folders end in /, files come with their size in bytes. What git ignores is left out unless asked for.',
  reads: true,
  input: z.object({
    path: z.optional(
      z.string().check(z.describe('The folder, relative to the working directory or absolute. Default: the working directory.')),
    ),
    include_ignored: z.optional(z.boolean().check(z.describe('Also list what git ignores.'))),
  }),
  run: async (input, scene) => {
    const place = await permitRead(scene, input.path ?? '.');
    const name = shortPath(scene.workspace, place.path);
    const hidden = input.include_ignored ? () => false : ignoredIn(place.real);
    let entries: readonly { readonly name: string; readonly directory: boolean; readonly size: number }[];
    try {
      const found = await readdir(place.real, { withFileTypes: true });
      entries = await Promise.all(found.map((entry) => describe(scene.workspace, place.real, entry.name)));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw new ToolFailure(`${name} does not exist.`);
      if (codeOf(error) === 'ENOTDIR') throw new ToolFailure(`${name} is a file. Use ReadFile.`);
      throw error;
    }
    const visible = entries.filter((entry) => !hidden(entry.name, entry.directory));
    visible.sort((a, b) => Number(b.directory) - Number(a.directory) || (a.name < b.name ? -1 : 1));
    const lines = visible.slice(0, MOST).map((entry) => (entry.directory ? `${entry.name}/` : `${entry.name}  ${entry.size}`));
    const left = entries.length - visible.length;
    const cut = visible.length > MOST ? ` The first ${MOST} are listed.` : '';
    return done(
      lines.join('\n'),
      `${visible.length} entries in ${name === '.' ? 'the working directory' : name}${left > 0 ? ` (${left} ignored)` : ''}.${cut}`,
    );
  },
});

/** Of a link that leads out of the workspace only the link itself is told. */
async function describe(workspace: Workspace, folder: string, name: string): Promise<{ name: string; directory: boolean; size: number }> {
  const file = path.join(folder, name);
  try {
    const own = await lstat(file);
    const info = own.isSymbolicLink() && (await insideOnly(workspace, file)) ? await stat(file) : own;
    return { name, directory: info.isDirectory(), size: info.size };
  } catch {
    return { name, directory: false, size: 0 };
  }
}
