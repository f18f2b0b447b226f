import * as z from 'zod/mini';
import { searchGlob } from '../../base/glob.ts';
import { shortPath } from '../workspace/paths.ts';
import { walk } from '../workspace/walk.ts';
import { permitRead } from './permit.ts';
import { defineTool, done, ToolFailure } from './tool.ts';

const MOST = 1000;

export const globTool = defineTool({
  name: 'Glob',
  description:
    'Find files by a glob pattern such as src/**/*.ts. A pattern without a slash matches names at any depth. What git ignores is left out.',
  reads: true,
  input: z.object({
    pattern: z.string().check(z.minLength(1), z.maxLength(1000), z.describe('The glob pattern.')),
    directory: z.optional(z.string().check(z.describe('Where to start. Default: the working directory.'))),
    include_dirs: z.optional(z.boolean().check(z.describe('Also match folders. Default: false.'))),
  }),
  run: async (input, scene) => {
    const place = await permitRead(scene, input.directory ?? '.');
    const matches = matcher(input.pattern);
    const found: string[] = [];
    let more = 0;
    for await (const entry of walk(place.real, scene.signal)) {
      if ((entry.directory && !input.include_dirs) || !matches(entry.relative)) continue;
      if (found.length < MOST) found.push(entry.directory ? `${entry.relative}/` : entry.relative);
      else more += 1;
    }
    const name = shortPath(scene.workspace, place.path);
    const shown = name === '.' ? found : found.map((relative) => `${name}/${relative}`);
    const rest = more > 0 ? ` The first ${MOST} are listed; use a narrower pattern.` : '';
    return done(
      shown.join('\n'),
      `${found.length + more} matches for ${input.pattern} in ${name === '.' ? 'the working directory' : name}.${rest}`,
    );
  },
});

/** Whether a relative path fits a glob; like .gitignore, a pattern without a slash fits names at any depth. */
export function matcher(pattern: string): (relative: string) => boolean {
  try {
    const matches = searchGlob(pattern.replace(/^\.\//, ''));
    return pattern.includes('/') ? matches : (relative) => matches(relative.slice(relative.lastIndexOf('/') + 1));
  } catch (error) {
    throw new ToolFailure(`Not a usable pattern: ${error instanceof Error ? error.message : String(error)}`);
  }
}
