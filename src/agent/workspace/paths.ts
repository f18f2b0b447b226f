import { readlink, realpath } from 'node:fs/promises';
import path from 'node:path';

/** The folders the agent may work in without asking. `cwd` is the first root; paths given to tools are relative to it. */
export interface Workspace {
  readonly cwd: string;
  readonly roots: readonly string[];
}

export interface Place {
  /** Absolute, as the user would write it. */
  readonly path: string;
  /** Absolute with every link of the existing part followed: what reads and writes use. */
  readonly real: string;
  readonly inside: boolean;
}

/**
 * Where a path given by a model leads. A link that leads out of the roots is outside, also for a file that does not exist yet: the nearest
 * existing parent decides. Throws for paths with a NUL.
 */
export async function placeOf(workspace: Workspace, given: string): Promise<Place> {
  if (given.includes('\0')) throw new Error('a path cannot contain a NUL character');
  const home = process.env.HOME ?? process.env.USERPROFILE;
  const expanded = home !== undefined && /^~(?=$|[\\/])/.test(given) ? home + given.slice(1) : given;
  const absolute = path.resolve(workspace.cwd, expanded);
  const real = await realOf(absolute);
  const roots = await Promise.all(workspace.roots.map((root) => realOf(path.resolve(root))));
  return { path: absolute, real, inside: roots.some((root) => isWithin(root, real)) };
}

/** True for the root itself and everything below it. */
export function isWithin(root: string, target: string): boolean {
  const relative = path.relative(root, target);
  return relative === '' || (relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}

/** A path for people: relative with forward slashes where it lies below cwd. */
export function shortPath(workspace: Pick<Workspace, 'cwd'>, absolute: string): string {
  if (!isWithin(workspace.cwd, absolute)) return absolute;
  const relative = path.relative(workspace.cwd, absolute);
  return relative === '' ? '.' : relative.split(path.sep).join('/');
}

async function realOf(absolute: string): Promise<string> {
  const missing: string[] = [];
  let at = absolute;
  for (let hops = 0; ; ) {
    try {
      return path.join(await realpath(at), ...missing.reverse());
    } catch (error) {
      const dangling = await linkTarget(at);
      if (dangling !== undefined && hops < 40) {
        hops += 1;
        at = dangling;
        continue;
      }
      const parent = path.dirname(at);
      if (parent === at || codeOf(error) === 'ELOOP') return path.join(at, ...missing.reverse());
      missing.push(path.basename(at));
      at = parent;
    }
  }
}

/** A link whose target does not exist: writing through it would make the target. */
async function linkTarget(at: string): Promise<string | undefined> {
  try {
    return path.resolve(path.dirname(at), await readlink(at));
  } catch {
    return undefined;
  }
}

/** The code of a system error (`ENOENT`), when it is one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
