import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { EXTENSION } from '../../../protocols/a2a/schema.ts';
import { placeOf, type Workspace } from '../../workspace/paths.ts';

/**
 * Where a conversation works: the folder its first message names (AgentSettings, docs/protocols/a2a.md §6), which has to lie in what this agent was started for.
 * Without one, all of that. Throws a sentence for the client.
 */
export async function workspaceOf(started: Workspace, metadata: Readonly<Record<string, unknown>> | undefined): Promise<Workspace> {
  const settings = metadata?.[EXTENSION];
  if (typeof settings !== 'object' || settings === null) return started;
  const { workspace_path, workspacePath = workspace_path } = settings as Readonly<Record<string, unknown>>;
  if (typeof workspacePath !== 'string' || workspacePath === '') return started;
  if (!isAbsolute(workspacePath)) throw new Error(`The workspace path ${workspacePath} is not absolute.`);
  const { path, real, inside } = await placeOf(started, workspacePath);
  if (!inside) throw new Error(`The workspace path ${path} is outside the folders this agent was started for: ${started.roots.join(', ')}`);
  if (!statSync(real, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`The workspace path ${path} is no folder.`);
  return { cwd: path, roots: [path] };
}
