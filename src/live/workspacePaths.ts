import path from 'node:path';
import { isOnOtherServer } from '../base/fileName.ts';
import { guardReason } from '../base/guardedFiles.ts';
import { pathBelow, platform, realPathNow } from '../protocols/paths.ts';
import type { WorkspacePaths } from '../session/policy.ts';

/** The files of a session's folder as the rules of the user see them: with every link followed (acp.md §10.3). */
export function workspacePathsAt(cwd: string): WorkspacePaths {
  const root = realPathNow(cwd);
  return {
    platform,
    real: root,
    below: (target) => {
      if (target.includes('\0') || isOnOtherServer(target, [cwd, root], platform)) return undefined;
      const real = realPathNow(path.resolve(cwd, target));
      const below = pathBelow(root, real);
      if (below === undefined) return undefined;
      // Checks both names, because an editor reads .vscode/settings.json through any link.
      const guarded = guardReason(below) ?? guardReason(pathBelow(path.resolve(cwd), path.resolve(cwd, target)) ?? '');
      return { path: below, ...(guarded ? { guarded } : {}) };
    },
  };
}
