import { statSync } from 'node:fs';
import { readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { isOnOtherServer, type Platform } from '../../base/fileName.ts';
import { type GuardReason, guardReason } from '../../base/guardedFiles.ts';
import { systemCode } from '../../base/log.ts';
import { homeFolder } from '../../transport/environment.ts';

/** The folders the agent may work in without asking. `cwd` is the first root; paths given to tools are relative to it. */
export interface Workspace {
  readonly cwd: string;
  readonly roots: readonly string[];
  /** The system whose names these are; this one when absent. */
  readonly platform?: Platform;
}

export interface ResolvedPath {
  /** Absolute, as the user would write it. */
  readonly path: string;
  /** Absolute with every link of the existing part followed: what reads and writes use. */
  readonly real: string;
  readonly inside: boolean;
  /** On another server, of which nothing was looked at: Windows would tell it who the user is. Links are not followed then. */
  readonly unseen?: true;
  /** Why a change there is asked about each time. */
  readonly guarded?: GuardReason;
}

const platform: Platform = process.platform === 'win32' ? 'win32' : 'posix';

/**
 * Where a path given by a model leads. A link that leads out of the roots is outside, also for a file that does not exist yet: the nearest
 * existing parent decides. Throws for paths with a NUL.
 */
export async function placeOf(workspace: Workspace, given: string): Promise<ResolvedPath> {
  if (given.includes('\0')) throw new Error('a path cannot contain a NUL character');
  const expanded = /^~(?=$|[\\/])/.test(given) ? homeFolder() + given.slice(1) : given;
  const absolute = path.resolve(workspace.cwd, expanded);
  const roots = await Promise.all(workspace.roots.map((root) => realOf(path.resolve(root))));
  const unseen = [expanded, absolute].some((one) => isOnOtherServer(one, [...workspace.roots, ...roots], workspace.platform ?? platform));
  const real = unseen ? absolute : await realOf(absolute);
  const root = roots.find((one) => isWithin(one, real));
  const guarded = guardReason(root === undefined ? real : path.relative(root, real)) ?? guardReason(belowRoots(workspace, absolute));
  return { path: absolute, real, inside: root !== undefined, ...(unseen ? { unseen } : {}), ...(guarded ? { guarded } : {}) };
}

/** The way below one of the roots as it is written, '' when it is below none. */
function belowRoots({ roots }: Workspace, absolute: string): string {
  const root = roots.find((one) => isWithin(path.resolve(one), absolute));
  return root === undefined ? '' : path.relative(path.resolve(root), absolute);
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
      if (parent === at || systemCode(error) === 'ELOOP') return path.join(at, ...missing.reverse());
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

/** The place of a file the agent reads by itself, when that lies in the workspace with every link followed; undefined otherwise. */
export async function insideOnly(workspace: Workspace, file: string): Promise<ResolvedPath | undefined> {
  const place = await placeOf(workspace, file);
  return place.inside ? place : undefined;
}

export function isFolder(dir: string): boolean {
  return statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Why a client cannot have a session in this folder, with these further ones; undefined when it can. */
export function problemOfFolders(cwd: string, others: readonly string[]): string | undefined {
  const relative = [cwd, ...others].find((one) => !path.isAbsolute(one));
  if (relative !== undefined) return `The folder has to be an absolute path, not "${relative}"`;
  return isFolder(cwd) ? undefined : `${cwd} is not a folder on this machine`;
}

/** The workspace a client chooses: one folder within the roots; by default all of them. Throws a sentence for the client. */
export async function workspaceIn(started: Workspace, given: unknown): Promise<Workspace> {
  if (typeof given !== 'string' || given === '') return started;
  if (!path.isAbsolute(given)) throw new Error(`The workspace path ${given} is not absolute.`);
  const { path: cwd, real, inside } = await placeOf(started, given);
  if (!inside) throw new Error(`The workspace path ${cwd} is outside the folders this agent was started for: ${started.roots.join(', ')}`);
  if (!isFolder(real)) throw new Error(`The workspace path ${cwd} is no folder.`);
  return { cwd, roots: [cwd] };
}
