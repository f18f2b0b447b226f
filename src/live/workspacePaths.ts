import path from 'node:path';
import { isGuarded, pathBelow, realPathNow } from '../protocols/paths.ts';
import type { WorkspacePaths } from '../session/policy.ts';

/** The files of a session's folder as the rules of the user see them: with every link followed (acp.md §10.3). */
export function workspacePathsAt(cwd: string): WorkspacePaths {
  return {
    below: (target) => {
      if (target.includes('\0')) return undefined;
      const root = realPathNow(cwd);
      const real = realPathNow(path.resolve(cwd, target));
      if (pathBelow(root, real) === undefined) return undefined;
      const below = path.relative(root, real);
      return { path: below.replaceAll(path.sep, '/'), guarded: isGuarded(below) };
    },
  };
}
