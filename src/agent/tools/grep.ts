import * as z from 'zod/mini';
import { shortPath } from '../workspace/paths.ts';
import { permitRead } from './permit.ts';
import type { Search } from './search.ts';
import { searchBuiltIn } from './searchBuiltIn.ts';
import { searchRipgrep } from './searchRipgrep.ts';
import { defineTool, done } from './tool.ts';

const MAX_TEXT = 300;

export const grepTool = defineTool({
  name: 'Grep',
  description:
    'Search file contents with a regular expression (RE2 syntax: no look-around, no back references) or literal text. What git ignores and binary files are left out. Gives path:line:text.',
  reads: true,
  input: z.object({
    pattern: z
      .string()
      .check(z.minLength(1), z.maxLength(2000), z.describe('Regular expression, or the text itself when literal is true.')),
    path: z.optional(z.string().check(z.describe('File or folder to search. Default: the working directory.'))),
    glob: z.optional(z.string().check(z.describe('Only files that match this glob, for example *.ts.'))),
    ignore_case: z.optional(z.boolean()),
    literal: z.optional(z.boolean().check(z.describe('Take the pattern as plain text.'))),
    max_results: z.optional(z.int().check(z.minimum(1), z.maximum(1000), z.describe('Default: 200.'))),
  }),
  run: async (input, scene) => {
    const place = await permitRead(scene, input.path ?? '.');
    const search: Search = {
      pattern: input.pattern,
      literal: input.literal ?? false,
      ignoreCase: input.ignore_case ?? false,
      glob: input.glob,
      target: place.real,
      most: input.max_results ?? 200,
    };
    const { hits, more } = (await searchRipgrep(search, scene.signal)) ?? (await searchBuiltIn(search, scene.signal));
    // What was found under the real path is shown under the path that was asked for.
    const named = (path: string): string => shortPath(scene.workspace, place.path + path.slice(place.real.length));
    const lines = hits.map((hit) => `${named(hit.path)}:${hit.line}:${cut(hit.text)}`);
    const files = new Set(hits.map((hit) => hit.path)).size;
    const rest = more ? ` There are more; the first ${search.most} are listed.` : '';
    return done(lines.join('\n'), hits.length === 0 ? 'No matches.' : `${hits.length} matches in ${files} files.${rest}`);
  },
});

function cut(text: string): string {
  const flat = text.replace(/[\r\n]+$/, '');
  return flat.length > MAX_TEXT ? `${flat.slice(0, MAX_TEXT)}...` : flat;
}
