import { spawn } from 'node:child_process';
import * as z from 'zod/mini';
import { Lines } from '../../transport/lines.ts';
import type { Hit, Hits, Search } from './search.ts';
import { ToolFailure } from './tool.ts';

const match = z.object({
  type: z.literal('match'),
  data: z.object({
    path: z.object({ text: z.string() }),
    lines: z.object({ text: z.string() }),
    line_number: z.number(),
  }),
});

/** Whether `rg` is on the PATH; looked for once. */
let missing = false;

/** The search by ripgrep; undefined when there is none on the PATH. */
export function searchRipgrep(search: Search, signal: AbortSignal): Promise<Hits | undefined> {
  if (missing) return Promise.resolve(undefined);
  const args = ['--json', '--hidden', '--glob', '!.git', '--glob', '!node_modules', '--sort', 'path', '--no-config'];
  if (search.literal) args.push('--fixed-strings');
  if (search.ignoreCase) args.push('--ignore-case');
  if (search.glob !== undefined) args.push('--glob', search.glob);
  args.push('--regexp', search.pattern, '--', search.target);
  return new Promise((resolve, reject) => {
    const child = spawn('rg', args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    const hits: Hit[] = [];
    let more = false;
    let stderr = '';
    const lines = new Lines((line) => {
      const hit = hitOf(line);
      if (!hit || more) return;
      if (hits.length < search.most) hits.push(hit);
      else {
        more = true;
        child.kill();
      }
    });
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < 2000) stderr += chunk.toString('utf8');
    });
    child.on('error', (error) => {
      if (signal.aborted) reject(error);
      else {
        missing = true;
        resolve(undefined);
      }
    });
    child.on('close', (code) => {
      if (code === 2 && hits.length === 0 && !more) reject(new ToolFailure(`The search failed: ${stderr.trim().slice(0, 500)}`));
      else resolve({ hits, more });
    });
  });
}

function hitOf(line: string): Hit | undefined {
  try {
    const parsed = match.safeParse(JSON.parse(line));
    if (!parsed.success) return undefined;
    const { path, lines, line_number } = parsed.data.data;
    return { path: path.text, line: line_number, text: lines.text };
  } catch {
    return undefined;
  }
}
