import path from 'node:path';
import { isOnOtherServer } from '../base/fileName.ts';
import { guardReason } from '../base/guardedFiles.ts';
import { isMissing } from '../base/log.ts';
import { isForeign, pathBelow, platform, realPathNow } from '../protocols/paths.ts';
import type { Files } from '../protocols/ports.ts';
import { readTextFile, writeInManner, writeTextFile } from '../protocols/textFile.ts';
import { isPublic, judgedCommand } from '../session/commandDangers.ts';
import { doneSides, pendingSides } from '../session/diffs.ts';
import { mergedWithEnds } from '../session/merge.ts';
import type { Approval, ApprovalDetail, CallId, Turn } from '../session/model.ts';
import type { WorkspacePaths } from '../session/policy.ts';
import { byPath, callsOf, diffsOf, type FileDiffs, isChange } from '../session/select.ts';
import { ContentChanged } from '../transport/realFiles.ts';
import type { FileEffects } from './review/changeSet.ts';

/** Retries while another program keeps writing the file. */
const MOST_TRIES = 5;

/** The files port of a session in a folder, without an editor. */
export function diskFilesIn(folder: string): Files {
  return {
    read: (file) => readTextFile(file),
    write: (file, text, _from, real) => writeInManner(file, text, real, folder),
  };
}

/** The files of a review without an editor: nothing is unsaved. */
export const diskEffects: FileEffects = {
  async readText(file) {
    try {
      return await readTextFile(file);
    } catch (error) {
      return isMissing(error) ? null : undefined;
    }
  },
  async writeText(file, text, from, real) {
    for (let tries = 1; ; tries += 1) {
      const now = await readTextFile(file);
      const wanted = mergedWithEnds(now, from, text);
      if (wanted === undefined) throw new Error(`${file} was changed meanwhile`);
      try {
        return await writeTextFile(file, wanted, real, now);
      } catch (error) {
        if (!(error instanceof ContentChanged) || tries === MOST_TRIES) throw error;
      }
    }
  },
  hasUnsaved: () => false,
  folders: () => [],
};

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

/** Files of one approval whose links are followed: more are marked for being many. */
const MOST_FILES = 200;

/** The approval, marked where one of its files or folders leads out of the session's folder by a link, which its words do not show. */
export function withLinksFollowed(ask: Approval, cwd: string): Approval {
  if (ask.outside) return ask;
  const { below } = workspacePathsAt(cwd);
  const leadsOut = (file: string) => below(file) === undefined;
  const isOutside = (detail: ApprovalDetail): boolean => {
    if (detail.type === 'edit') return detail.diffs.slice(0, MOST_FILES).some((diff) => leadsOut(diff.path));
    if (detail.type !== 'command') return false;
    if (detail.cwd !== undefined && leadsOut(detail.cwd)) return true;
    const { read, written } = judgedCommand(detail, cwd).reach;
    return (
      written.some(leadsOut) ||
      read.some((file) => !INSTALLED.test(file) && leadsOut(file) && !isPublic(realPathNow(path.resolve(cwd, file))))
    );
  };
  const isLedOut = [ask.detail, ...(ask.beside ?? [])].some(isOutside) || (ask.paths ?? []).slice(0, MOST_FILES).some(leadsOut);
  return isLedOut ? { ...ask, outside: true } : ask;
}
/** Packages are often links to a place that many folders share. */
const INSTALLED = /(?:^|[\\/])(?:node_modules|\.venv|venv)(?:[\\/]|$)/;

/** Returns the calls of a turn whose outcome the agent has not reported and whose changes are all on disk. Never rejects. */
export async function appliedOnDisk(turn: Turn, cwd: string): Promise<readonly CallId[]> {
  const unreported = callsOf(turn).filter((call) => call.status === 'ended' && call.output.some((one) => one.kind === 'diff'));
  const found = await Promise.all(
    unreported.map(async (call) => {
      const files = byPath(diffsOf(call).filter(isChange));
      // The agent may not have asked about what it reports.
      if (files.some((file) => isForeign(file.path, [cwd]))) return [];
      const made = await Promise.all(files.map(isMade));
      return made.length > 0 && made.every(Boolean) ? [call.id] : [];
    }),
  );
  return found.flat();
}

/** True only when a whole side matches, or the new excerpt is present and the old one is gone. */
async function isMade({ path, diffs }: FileDiffs): Promise<boolean> {
  const present = await diskEffects.readText(path);
  if (!doneSides(diffs, present).ok) return false;
  const pieces = diffs.filter((diff) => diff.excerpt);
  if (pieces.length === 0) return true;
  const grown = pieces.every(({ before, after }) => after?.includes(before ?? ''));
  return pieces.every(({ after }) => after !== null && after !== '') && (grown || !pendingSides(diffs, present).ok);
}
