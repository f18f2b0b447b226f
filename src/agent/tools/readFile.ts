import * as z from 'zod/mini';
import { shortPath } from '../workspace/paths.ts';
import { permitRead } from './permit.ts';
import { defineTool, done, ToolFailure } from './tool.ts';

const MAX_LINES = 1000;
const MAX_LINE = 2000;
const MAX_CHARS = 100_000;

export const readFileTool = defineTool({
  name: 'ReadFile',
  description: `Read a text file of the workspace with line numbers. At most ${MAX_LINES} lines at a time; use line_offset and n_lines for the rest.`,
  reads: true,
  input: z.object({
    path: z.string().check(z.describe('Path of the file, relative to the working directory or absolute.')),
    line_offset: z.optional(z.int().check(z.minimum(1), z.describe('First line to read, from 1.'))),
    n_lines: z.optional(z.int().check(z.minimum(1), z.describe('How many lines to read.'))),
  }),
  run: async (input, scene) => {
    const place = await permitRead(scene, input.path);
    const name = shortPath(scene.workspace, place.path);
    const file = await scene.files.read(place, name);
    if (!file) throw new ToolFailure(`${name} does not exist.`);
    const lines = file.text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const first = input.line_offset ?? 1;
    if (first > Math.max(lines.length, 1)) throw new ToolFailure(`${name} has only ${lines.length} lines.`);
    const width = String(Math.min(lines.length, first + MAX_LINES)).length;
    const out: string[] = [];
    let size = 0;
    for (const line of lines.slice(first - 1, first - 1 + Math.min(input.n_lines ?? MAX_LINES, MAX_LINES))) {
      const cut =
        line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}... (line of ${line.length} characters cut)` : line.replace(/\r$/, '');
      const shown = `${String(first + out.length).padStart(width)}\t${cut}`;
      size += shown.length + 1;
      if (size > MAX_CHARS && out.length > 0) break;
      out.push(shown);
    }
    const last = first + out.length - 1;
    const rest = last < lines.length ? ` The file goes on to line ${lines.length}.` : '';
    const message = lines.length === 0 ? `${name} is empty.` : `Lines ${first}-${last} of ${lines.length} of ${name}.${rest}`;
    return done(out.join('\n'), message);
  },
});
